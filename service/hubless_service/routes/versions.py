"""The versions of a collection: all that are stored, and which one is served."""

import asyncio
import logging
from typing import Literal

from fastapi import APIRouter, Request, Response

import hubless
from hubless_service import openapi
from hubless_service.access.authentication import access_of, check_admin
from hubless_service.access.keys import Access
from hubless_service.app_state import AppState, state_of
from hubless_service.http import responses
from hubless_service.http.answers import VersionsAnswer, VersionState
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.slots import Slot, as_problem

log = logging.getLogger("hubless.administration")
router = APIRouter(route_class=DirectRoute, tags=["versions"])


@router.get(
    "/v1/collections/{collection}/versions",
    summary="All versions of a collection",
    responses=openapi.answers(VersionsAnswer, examples.VERSIONS_ANSWER, "collection_not_found", *openapi.UNSERVED),
)
async def list_versions(request: Request, collection: str) -> Response:
    """Works for a collection that cannot be served too, and gives the reason."""
    return responses.send(await _versions(state_of(request), collection, access_of(request)))


@router.post(
    "/v1/collections/{collection}/versions/{version}/activate",
    summary="Serve another version",
    responses=openapi.answers(
        VersionsAnswer,
        examples.VERSIONS_ANSWER,
        "forbidden",
        "collection_not_found",
        "version_not_found",
        *openapi.UNSERVED,
    ),
)
async def activate(request: Request, collection: str, version: str) -> Response:
    """Compares the files of the version with its manifest, which may take a while, and makes it current.

    The server then opens and proves it beside the version that it serves, as after a build. It serves or refuses it.
    GET .../versions says how far that is.
    """
    state = state_of(request)
    access = check_admin(request, state.settings.origins)
    name, _ = state.shelf.slot(collection, access)
    await asyncio.to_thread(state.engine.catalog.rollback, name, version)
    log.info('collection "%s": version %s was activated, id=%s', name, version, trace_of(request).request_id)
    await asyncio.to_thread(state.engine.look_now)
    return responses.send(await _versions(state, name, access))


async def _versions(state: AppState, collection: str, access: Access) -> VersionsAnswer:
    name, slot = state.shelf.slot(collection, access)
    found = await asyncio.to_thread(state.engine.catalog.versions, name)
    return {"versions": [_state(info, slot) for info in found], "collection": name}


def _state(info: hubless.VersionInfo, slot: Slot) -> VersionState:
    state: Literal["served", "refused", "damaged", "stored"] = "stored"
    detail = None
    if slot.collection and slot.collection.version == info.id:
        state = "served"
    elif slot.failure and slot.tried == info.id:
        state, detail = "refused", as_problem(slot.failure).detail
    elif info.problem:
        # without the path: clients do not see where things lie on the server
        state, detail = "damaged", info.problem.rpartition(f"{info.id}/")[2]
    return {
        "version": info.id,
        "created": info.manifest.created if info.manifest else None,
        "count": info.manifest.count if info.manifest else None,
        "current": info.current,
        "state": state,
        "detail": detail,
    }
