"""What is served: collections, their size, and single targets."""

from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

import hubless
from hubless_service import answers, bodies, openapi, queries
from hubless_service.authentication import access_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.schemas import CollectionInfo, Collections, Count, CountRequest, LiveHubness, Point, fields_of
from hubless_service.state import state_of
from hubless_service.trace import trace_of

router = APIRouter(route_class=DirectRoute, tags=["collections"])
_SHOWN = fields_of(CollectionInfo)


@router.get(
    "/v1/collections",
    summary="All collections that are served",
    responses=openapi.answers(Collections, {"collections": [examples.COLLECTION]}, *openapi.UNSERVED),
)
async def list_collections(request: Request) -> Response:
    """Those that cannot be served are in /readyz."""
    served = state_of(request).engine.collections(access_of(request))
    return answers.answer({"collections": [_info(collection) for collection in served]})


@router.get(
    "/v1/collections/{collection}",
    summary="One collection",
    responses=openapi.answers(CollectionInfo, examples.COLLECTION, "collection_not_found", *openapi.UNSERVED),
)
async def get_collection(request: Request, collection: str) -> Response:
    """Its size, its correction, and how well that was measured to work."""
    return answers.answer(_info(state_of(request).engine.collection(collection, access_of(request))))


@router.get(
    "/v1/collections/{collection}/hubness",
    summary="How hubby the answers are that a collection gives",
    responses=openapi.answers(LiveHubness, examples.HUBNESS, "collection_not_found", *openapi.SEARCHED),
)
async def get_hubness(request: Request, collection: str) -> Response:
    """Of the queries that it answered lately; they begin anew with each version."""
    state = state_of(request)
    asked = state.engine.collection(collection, access_of(request))
    document = await state.engine.run(trace_of(request), partial(state.engine.live.describe, asked))
    return answers.answer({**document, "collection": asked.name, "version": asked.version})


@router.post(
    "/v1/collections/{collection}/count",
    summary="How many targets a collection has",
    responses=openapi.answers(
        Count,
        {"count": 5214, "collection": "stdlib", "version": examples.VERSION},
        "malformed_body",
        "collection_not_found",
        "request_timeout",
        "body_too_large",
        "unsupported_media_type",
        "invalid_input",
        "unknown_field",
        "unsupported",
        *openapi.UNSERVED,
    ),
    openapi_extra=openapi.body(CountRequest, {"all": {}}, required=False),
)
async def count(request: Request, collection: str) -> Response:
    """A request without a body counts all."""
    state = state_of(request)
    counted = state.engine.collection(collection, access_of(request))
    if body := await bodies.read(request, state.settings):
        bodies.media_type(request, bodies.JSON)
        queries.check_count(body)
    return answers.answer({"count": counted.count, "collection": counted.name, "version": counted.version})


@router.get(
    "/v1/collections/{collection}/points/{id:path}",
    summary="One target by its id",
    responses=openapi.answers(
        Point,
        examples.POINT,
        "collection_not_found",
        "point_not_found",
        "invalid_input",
        "unknown_field",
        *openapi.SEARCHED,
    ),
    openapi_extra={
        "parameters": [openapi.url_parameter("with", {"type": "string", "example": "vector"}, "vector, to see it too.")]
    },
)
async def get_point(request: Request, collection: str, id: str) -> Response:
    """Its offset and, where the collection has one, its payload."""
    state = state_of(request)
    holder = state.engine.collection(collection, access_of(request))
    wanted = queries.url_extras(request)
    document = await state.engine.run(trace_of(request), partial(_point, holder, id, "vector" in wanted))
    return answers.answer(document)


def _info(collection: hubless.Collection) -> dict[str, Any]:
    manifest = collection.manifest.model_dump(mode="json")
    return {
        "name": collection.name,
        **{name: value for name, value in manifest.items() if name in _SHOWN},
        "text": collection.has_encoder,
    }


def _point(collection: hubless.Collection, text: str, vector: bool) -> dict[str, Any]:
    point = collection.point(collection.parse_id(text), vector=vector)
    document: dict[str, Any] = {"id": point.id, "offset": point.offset}
    if point.payload is not None:
        document["payload"] = point.payload
    if vector:
        document["vector"] = point.vector
    return {**document, "collection": collection.name, "version": collection.version}
