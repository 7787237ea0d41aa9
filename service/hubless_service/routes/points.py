"""Stored targets: counted, by their ids, and page by page."""

from functools import partial

from fastapi import APIRouter, Request, Response

from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.http import answers, bodies, selections
from hubless_service.http.schemas import Count, CountRequest, Page, Point, Points, PointsRequest, ScrollRequest
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching import lookups
from hubless_service.state import state_of

router = APIRouter(route_class=DirectRoute, tags=["collections"])
PROBLEMS = (
    "malformed_body",
    "collection_not_found",
    "request_timeout",
    "body_too_large",
    "unsupported_media_type",
    "invalid_input",
    "unknown_field",
    *openapi.SEARCHED,
)


@router.post(
    "/v1/collections/{collection}/count",
    summary="How many targets a collection has, or meet a filter",
    responses=openapi.answers(Count, {"count": 5214, "collection": "stdlib", "version": examples.VERSION}, *PROBLEMS),
    openapi_extra=openapi.body(CountRequest, {"all": {}, "some": {"filter": examples.FILTER}}, required=False),
)
async def count(request: Request, collection: str) -> Response:
    """A request without a body counts all."""
    state = state_of(request)
    counted = state.engine.collection(collection, access_of(request))
    wanted = None
    if body := await bodies.read(request, state.settings):
        bodies.media_type(request, bodies.JSON)
        wanted = selections.counted(request, body, counted, state.settings)
    if wanted is None:
        return answers.answer(lookups.count(counted))
    trace = trace_of(request)
    return answers.answer(await state.engine.run(trace, partial(lookups.count_matches, counted, wanted, trace)))


@router.post(
    "/v1/collections/{collection}/points",
    summary="Several targets by their ids",
    responses=openapi.answers(Points, examples.POINTS, *PROBLEMS),
    openapi_extra=openapi.body(PointsRequest, {"two": {"ids": ["str.split", "str.spilt"], "with": ["payload.module"]}}),
)
async def get_points(request: Request, collection: str) -> Response:
    """In the order of the ids; those that no target bears are listed apart."""
    state = state_of(request)
    holder = state.engine.collection(collection, access_of(request))
    bodies.media_type(request, bodies.JSON)
    body = await bodies.read(request, state.settings)
    ids, extras = selections.several(request, body, holder, state.settings)
    return answers.answer(await state.engine.run(trace_of(request), partial(lookups.several, holder, ids, extras)))


@router.post(
    "/v1/collections/{collection}/scroll",
    summary="All targets, or those that meet a filter, page by page",
    responses=openapi.answers(Page, examples.PAGE, *PROBLEMS, "cursor_expired"),
    openapi_extra=openapi.body(ScrollRequest, examples.SCROLLS, required=False),
)
async def scroll(request: Request, collection: str) -> Response:
    """Pass the `cursor` of each answer to the next request, until it is null. A new version begins a new scroll."""
    state = state_of(request)
    holder = state.engine.collection(collection, access_of(request))
    body = await bodies.read(request, state.settings)
    if body:
        bodies.media_type(request, bodies.JSON)
    wanted = selections.page(request, body or b"{}", holder, state.settings)
    trace = trace_of(request)
    return answers.answer(await state.engine.run(trace, partial(lookups.page, holder, wanted, trace)))


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
        "parameters": [
            openapi.url_parameter(
                "with",
                {"type": "string", "example": "vector"},
                "vector, to see it too; payload.<column>, for some columns only. Separated by commas.",
            )
        ]
    },
)
async def get_point(request: Request, collection: str, id: str) -> Response:
    """Its offset and, where the collection has one, its payload."""
    state = state_of(request)
    holder = state.engine.collection(collection, access_of(request))
    extras = selections.one(request, holder)
    return answers.answer(await state.engine.run(trace_of(request), partial(lookups.one, holder, id, extras)))
