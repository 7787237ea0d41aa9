"""Stored targets: counted, by their ids, and page by page."""

from dataclasses import replace
from functools import partial

from fastapi import APIRouter, Request, Response

import hubless
from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.app_state import state_of
from hubless_service.http import bodies, heavy, responses
from hubless_service.http.answers import CountAnswer, PointAnswer, PointsAnswer, ScrollAnswer
from hubless_service.http.cursors import read_cursor, write_cursor
from hubless_service.http.hits import targets_of, weight_of_targets
from hubless_service.http.requests import CountRequest, PointRequest, PointsRequest, ScrollRequest, read
from hubless_service.http.trace import trace_of
from hubless_service.http.values import NO_EXTRAS, Extras, Subject
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching import lookups

router = APIRouter(route_class=DirectRoute, tags=["collections"])
_PROBLEMS = (
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
    responses=openapi.answers(CountAnswer, examples.COUNT_ANSWER, *_PROBLEMS),
    openapi_extra=openapi.body(CountRequest, required=False),
)
async def count(request: Request, collection: str) -> Response:
    """A request without a body counts all."""
    state, trace = state_of(request), trace_of(request)
    holder = state.shelf.collection(collection, access_of(request))
    filter = seq = None
    if body := await bodies.receive(request, state.settings):
        bodies.media_type(request, bodies.JSON)
        bodies.refuse_url_fields(request)
        subject = Subject(holder, state.settings)
        wanted = await heavy.run(len(body), lambda: read(CountRequest, bodies.parse(body), subject))
        filter, seq = wanted.filter, wanted.min_seq
    holder = await state.engine.reach(trace, holder, seq)
    if filter is None:
        counted = holder.count
    else:
        counted = await state.engine.run(trace, partial(lookups.count_matches, holder, filter, trace), holder)
    answer: CountAnswer = {"count": counted, "collection": holder.name, "version": holder.version}
    return responses.send(answer)


@router.post(
    "/v1/collections/{collection}/points",
    summary="Several targets by their ids",
    responses=openapi.answers(PointsAnswer, examples.POINTS_ANSWER, *_PROBLEMS),
    openapi_extra=openapi.body(PointsRequest),
)
async def get_points(request: Request, collection: str) -> Response:
    """In the order of the ids; those that no target bears are listed apart."""
    state = state_of(request)
    holder = state.shelf.collection(collection, access_of(request))
    bodies.media_type(request, bodies.JSON)
    body = await bodies.receive(request, state.settings)
    bodies.refuse_url_fields(request)
    subject = Subject(holder, state.settings)
    wanted = await heavy.run(len(body), lambda: read(PointsRequest, bodies.parse(body), subject))
    holder = await state.engine.reach(trace_of(request), holder, wanted.min_seq)
    extras = _usual(holder) if wanted.with_ is None else wanted.with_
    work = partial(lookups.find_targets, holder, wanted.ids, extras)
    found, missing = await state.engine.run(trace_of(request), work, holder)

    def answer() -> PointsAnswer:
        points = targets_of(found)
        return {"points": points, "missing": missing, "collection": holder.name, "version": holder.version}

    return await responses.send_heavy(weight_of_targets(found), answer)


@router.post(
    "/v1/collections/{collection}/scroll",
    summary="All targets, or those that meet a filter, page by page",
    responses=openapi.answers(ScrollAnswer, examples.SCROLL_ANSWER, *_PROBLEMS, "cursor_expired"),
    openapi_extra=openapi.body(ScrollRequest, required=False),
)
async def scroll(request: Request, collection: str) -> Response:
    """Pass the `cursor` of each answer to the next request, until it is null. A new version begins a new scroll."""
    state, trace = state_of(request), trace_of(request)
    holder = state.shelf.collection(collection, access_of(request))
    if body := await bodies.receive(request, state.settings):
        bodies.media_type(request, bodies.JSON)
    bodies.refuse_url_fields(request)
    subject = Subject(holder, state.settings)
    wanted = await heavy.run(len(body), lambda: read(ScrollRequest, bodies.parse(body or b"{}"), subject))
    holder = await state.engine.reach(trace, holder, wanted.min_seq)
    cursor = read_cursor(wanted.cursor, wanted.filter)
    if wanted.cursor is None or cursor.reached > holder.seq:
        holder = await state.engine.latest(trace, holder)
    start = cursor.row(holder)
    limit = state.settings.default_limit if wanted.limit is None else wanted.limit
    extras = _usual(holder) if wanted.with_ is None else wanted.with_
    work = partial(lookups.scroll_targets, holder, start, limit, wanted.filter, extras, trace)
    found, following = await state.engine.run(trace, work, holder)
    next_page = None if following is None else write_cursor(holder, following, wanted.filter)

    def answer() -> ScrollAnswer:
        points = targets_of(found)
        return {"points": points, "cursor": next_page, "collection": holder.name, "version": holder.version}

    return await responses.send_heavy(weight_of_targets(found), answer)


@router.get(
    "/v1/collections/{collection}/points/{id:path}",
    summary="One target by its id",
    responses=openapi.answers(
        PointAnswer,
        examples.POINT_ANSWER,
        "collection_not_found",
        "point_not_found",
        "invalid_input",
        "unknown_field",
        *openapi.SEARCHED,
        headers={"ETag": {"schema": {"type": "string"}, "description": "Its seq, for If-Match."}},
    ),
    openapi_extra={"parameters": openapi.url_parameters(PointRequest)},
)
async def get_point(request: Request, collection: str, id: str) -> Response:
    """Its offset and, where the collection has one, its payload."""
    state = state_of(request)
    holder = state.shelf.collection(collection, access_of(request))
    wanted = read(PointRequest, bodies.url_fields(request), Subject(holder, state.settings))
    holder = await state.engine.reach(trace_of(request), holder, wanted.min_seq)
    extras = replace(wanted.with_ or NO_EXTRAS, payload=_usual(holder).payload)
    found = await state.engine.run(trace_of(request), partial(lookups.find_target, holder, id, extras), holder)
    (target,) = targets_of(found)
    answer: PointAnswer = {**target, "collection": holder.name, "version": holder.version}
    return responses.send(answer, {"ETag": f'"{target["seq"]}"'})


def _usual(collection: hubless.Collection) -> Extras:
    """What targets are sent with if the request does not say: the payload, where there is one."""
    return Extras(payload=collection.payload_kind is not None)
