"""Creating empty collections, and deleting collections."""

import asyncio
import logging
from functools import partial
from typing import Any, cast

from fastapi import APIRouter, Request, Response

from hubless.builder.lifecycle import create
from hubless.builder.pipeline.engines import delete
from hubless.builder.recipe import Metric
from hubless.errors import InputError
from hubless.store.catalog import check_name
from hubless_service import openapi
from hubless_service.access.authentication import check_admin, check_write
from hubless_service.access.keys import Access
from hubless_service.app_state import state_of
from hubless_service.http import bodies, responses
from hubless_service.http.answers import CollectionAnswer, DeletedCollectionAnswer
from hubless_service.http.bodies import JSON
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import CreateCollectionRequest, DeleteCollectionRequest, read
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.catalogs import describe
from hubless_service.routes.direct import DirectRoute

log = logging.getLogger("hubless.catalog")
router = APIRouter(route_class=DirectRoute, tags=["collections"])
_ANSWERS = openapi.answers(
    CollectionAnswer,
    examples.COLLECTION_ANSWER,
    "malformed_body",
    "forbidden",
    "collection_exists",
    "request_timeout",
    "body_too_large",
    "unsupported_media_type",
    "invalid_input",
    "unknown_field",
    *openapi.UNSERVED,
)


@router.put(
    "/v1/collections/{collection}",
    summary="Create an empty collection",
    responses={**_ANSWERS, 201: _ANSWERS[200] | {"description": "It was created."}},
    openapi_extra=openapi.body(CreateCollectionRequest),
)
async def create_collection(request: Request, collection: str) -> Response:
    """It can be written to at once. Until a query bank is given its offsets are 0.

    If it is there with these settings, the answer is 200, and nothing changes.
    """
    state = state_of(request)
    access = check_write(request, state.settings.origins)
    bodies.media_type(request, JSON)
    body = await bodies.receive(request, state.settings)
    bodies.refuse_url_fields(request)
    wanted = read(CreateCollectionRequest, bodies.parse(body))
    check_name(collection)
    _check_seen(access, collection)
    if collection in await asyncio.to_thread(state.engine.catalog.aliases):
        raise InputError("collection", "a name that is no alias", repr(collection))
    settings: dict[str, Any] = {"dim": wanted.dim, "id_type": wanted.id_type, "payload_schema": wanted.payload_schema}
    making = partial(create, state.engine.catalog.path, collection, metric=cast(Metric, wanted.metric), **settings)
    created = await asyncio.to_thread(making)
    if created:
        log.info('collection "%s" was created, id=%s', collection, trace_of(request).request_id)
        state.shelf.drop(collection)  # one of that name that was deleted through another worker
        await asyncio.to_thread(state.engine.look_now)
    await state.engine.appears(collection)
    document = describe(state, state.shelf.collection(collection, access))
    return responses.send(document, status=201 if created else 200)


@router.delete(
    "/v1/collections/{collection}",
    summary="Delete a collection, with all its versions and writes",
    responses=openapi.answers(
        DeletedCollectionAnswer,
        examples.DELETED_COLLECTION_ANSWER,
        "forbidden",
        "collection_not_found",
        "collection_aliased",
        "invalid_input",
        "unknown_field",
        *openapi.UNSERVED,
    ),
    openapi_extra={"parameters": openapi.url_parameters(DeleteCollectionRequest)},
)
async def delete_collection(request: Request, collection: str) -> Response:
    """Nothing of it can be had back. Needs its own name, not an alias, and a key of role admin.

    Refused while aliases stand for it, unless they are to go, too.
    """
    state = state_of(request)
    access = check_admin(request, state.settings.origins)
    wanted = read(DeleteCollectionRequest, bodies.url_fields(request))
    state.shelf.slot(collection, access)
    await asyncio.to_thread(partial(delete, state.engine.catalog, collection, aliases=wanted.aliases or False))
    log.info('collection "%s" was deleted, id=%s', collection, trace_of(request).request_id)
    state.shelf.drop(collection)
    await asyncio.to_thread(state.engine.look_now)
    answer: DeletedCollectionAnswer = {"collection": collection, "deleted": True}
    return responses.send(answer)


def _check_seen(access: Access, collection: str) -> None:
    if not access.sees(collection):
        raise HttpProblem("forbidden", "The key is for other collections.")
