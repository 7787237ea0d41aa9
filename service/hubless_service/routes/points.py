"""Stored targets: counted, by their ids, and page by page."""

from dataclasses import replace
from functools import partial

from fastapi import Response

import hubless
from hubless_service import openapi
from hubless_service.http import responses
from hubless_service.http.answers import CountAnswer, PointAnswer, PointsAnswer, ScrollAnswer
from hubless_service.http.cursors import read_cursor, write_cursor
from hubless_service.http.requests import CountRequest, PointRequest, PointsRequest, ScrollRequest
from hubless_service.http.responses import targets_of, weight_of_targets
from hubless_service.http.values import NO_EXTRAS, Extras
from hubless_service.routes.route import Call, Held, UrlOf
from hubless_service.routes.route import router as make_router
from hubless_service.searching.search import count_matches, find_target, find_targets, scroll_targets

router = make_router("collections")
_PROBLEMS = (*openapi.BODY, *openapi.FIELDS, *openapi.SEARCHED, "collection_not_found")
_ALL, _FIRST_PAGE = CountRequest(), ScrollRequest()


@router.post(
    "/v1/collections/{collection}/count",
    **openapi.about("How many targets a collection has, or meet a filter", CountAnswer, *_PROBLEMS),
)
async def count(call: Call, held: Held, body: CountRequest = _ALL) -> Response:
    """A request without a body counts all."""
    engine, trace = call.service.engine, call.trace
    held = await engine.reach(trace, held, body.min_seq)
    if body.filter is None:
        counted = held.count
    else:
        counted = await engine.run(trace, partial(count_matches, held, body.filter, trace), held)
    return responses.send({"count": counted, "collection": held.name, "version": held.version})


@router.post(
    "/v1/collections/{collection}/points", **openapi.about("Several targets by their ids", PointsAnswer, *_PROBLEMS)
)
async def get_points(call: Call, held: Held, body: PointsRequest) -> Response:
    """In the order of the ids; those that no target bears are listed apart."""
    engine = call.service.engine
    held = await engine.reach(call.trace, held, body.min_seq)
    work = partial(find_targets, held, body.ids, body.with_ or _usual(held))
    found, missing = await engine.run(call.trace, work, held)

    def answer() -> PointsAnswer:
        return {"points": targets_of(found), "missing": missing, "collection": held.name, "version": held.version}

    return await responses.send_heavy(weight_of_targets(found), answer)


@router.post(
    "/v1/collections/{collection}/scroll",
    **openapi.about(
        "All targets, or those that meet a filter, page by page", ScrollAnswer, *_PROBLEMS, "cursor_expired"
    ),
)
async def scroll(call: Call, held: Held, body: ScrollRequest = _FIRST_PAGE) -> Response:
    """Pass the `cursor` of each answer to the next request, until it is null. A new version begins a new scroll."""
    engine, trace = call.service.engine, call.trace
    held = await engine.reach(trace, held, body.min_seq)
    cursor = read_cursor(body.cursor, body.filter)
    if body.cursor is None or cursor.reached > held.seq:
        held = await engine.latest(trace, held)
    limit = call.service.settings.default_limit if body.limit is None else body.limit
    extras = body.with_ or _usual(held)
    work = partial(scroll_targets, held, cursor.row(held), limit, body.filter, extras, trace)
    found, following = await engine.run(trace, work, held)
    page = None if following is None else write_cursor(held, following, body.filter)

    def answer() -> ScrollAnswer:
        return {"points": targets_of(found), "cursor": page, "collection": held.name, "version": held.version}

    return await responses.send_heavy(weight_of_targets(found), answer)


@router.get(
    "/v1/collections/{collection}/points/{id:path}",
    **openapi.about(
        "One target by its id",
        PointAnswer,
        *openapi.FIELDS,
        *openapi.SEARCHED,
        "collection_not_found",
        "point_not_found",
        also=openapi.ETAG,
    ),
)
async def get_point(call: Call, held: Held, id: str, url: UrlOf[PointRequest]) -> Response:
    """Its offset and, where the collection has one, its payload."""
    engine = call.service.engine
    held = await engine.reach(call.trace, held, url.min_seq)
    extras = replace(url.with_ or NO_EXTRAS, payload=_usual(held).payload)
    found = await engine.run(call.trace, partial(find_target, held, id, extras), held)
    (target,) = targets_of(found)
    answer: PointAnswer = {**target, "collection": held.name, "version": held.version}
    return responses.send(answer, {"ETag": f'"{target["seq"]}"'})


def _usual(collection: hubless.Collection) -> Extras:
    """Return what targets are sent with if the request does not say: the payload, where there is one."""
    return Extras(payload=collection.parts.payload_kind is not None)
