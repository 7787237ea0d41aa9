"""The versions of a collection: which are there, and which one is served."""

import asyncio
import logging
from typing import Any

from fastapi import APIRouter, Request, Response

import hubless
from hubless_service import openapi
from hubless_service.access.authentication import access_of, check_admin
from hubless_service.access.keys import Access
from hubless_service.http import answers
from hubless_service.http.schemas import Versions
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.entries import Entry, as_problem
from hubless_service.state import State, state_of

log = logging.getLogger("hubless.administration")
router = APIRouter(route_class=DirectRoute, tags=["versions"])


@router.get(
    "/v1/collections/{collection}/versions",
    summary="All versions of a collection",
    responses=openapi.answers(Versions, examples.VERSIONS, "collection_not_found", *openapi.UNSERVED),
)
async def list_versions(request: Request, collection: str) -> Response:
    """Also of a collection that cannot be served, and with the reason."""
    return answers.answer(await _versions(state_of(request), collection, access_of(request)))


@router.post(
    "/v1/collections/{collection}/versions/{version}/activate",
    summary="Serve another version",
    responses=openapi.answers(
        Versions, examples.VERSIONS, "forbidden", "collection_not_found", "version_not_found", *openapi.UNSERVED
    ),
)
async def activate(request: Request, collection: str, version: str) -> Response:
    """Its files are compared with its manifest first, which may take a while; then it is current.

    From there all goes as after a build: it is opened and proved beside the one that is served, and takes its place, or
    is refused. GET .../versions tells how far that is.
    """
    state = state_of(request)
    access = check_admin(request, state.settings.origins)
    name, _ = state.engine.entry(collection, access)
    await asyncio.to_thread(state.engine.catalog.rollback, name, version)
    log.info('collection "%s": version %s was activated, id=%s', name, version, trace_of(request).request_id)
    await asyncio.to_thread(state.engine.look_now)
    return answers.answer(await _versions(state, name, access))


async def _versions(state: State, collection: str, access: Access) -> dict[str, Any]:
    name, entry = state.engine.entry(collection, access)
    found = await asyncio.to_thread(state.engine.catalog.versions, name)
    return {"versions": [_state(info, entry) for info in found], "collection": name}


def _state(info: hubless.VersionInfo, entry: Entry) -> dict[str, Any]:
    state, detail = "stored", None
    if entry.collection and entry.collection.version == info.id:
        state = "served"
    elif entry.failure and entry.tried == info.id:
        state, detail = "refused", as_problem(entry.failure).detail
    elif info.problem:
        # without the path: where things lie on the server is nobody's business
        state, detail = "damaged", info.problem.rpartition(f"{info.id}/")[2]
    return {
        "version": info.id,
        "created": info.manifest and info.manifest.created,
        "count": info.manifest and info.manifest.count,
        "current": info.current,
        "state": state,
        "detail": detail,
    }
