"""Points: counted, read by their ids, page by page, and written."""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Annotated

import numpy as np
from fastapi import Header, Response

import hubless
from hubless.errors import InputError
from hubless_service import openapi
from hubless_service.http import heavy
from hubless_service.http.answers import (
    CountAnswer,
    DeleteAnswer,
    PointAnswer,
    PointsAnswer,
    PutAnswer,
    ScrollAnswer,
    StoredTarget,
)
from hubless_service.http.cursors import read_cursor, write_cursor
from hubless_service.http.requests import (
    CountRequest,
    DeletePointsRequest,
    PatchPointsRequest,
    PointRequest,
    PointsRequest,
    PutOptions,
    PutPointsRequest,
    QueryForms,
    ScrollRequest,
    WriteOptions,
)
from hubless_service.http.responses import send, send_heavy, served, stored_targets
from hubless_service.http.values import NO_EXTRAS, Extras
from hubless_service.routes.route import Call, Held, UrlOf, Writable, routes_of
from hubless_service.routes.searches import what_is_asked
from hubless_service.searching import edits
from hubless_service.searching.search import find_targets, matches_of, scroll_targets
from hubless_service.searching.writer import WritePlan

point_routes = routes_of("collections")
write_routes = routes_of("points")
_COLLECTION = "/v1/collections/{collection}"
_POINTS = f"{_COLLECTION}/points"
_ID = attrgetter("id")
_ALL = CountRequest()
_FIRST_PAGE = ScrollRequest()

_OF_WRITES = (*openapi.SEARCHED, "log_damaged")
PointIfMatch = Annotated[
    str | None, Header(description="The seq that the one target of the request must still have, or * for any.")
]


@point_routes.at(
    "POST",
    f"{_COLLECTION}/count",
    "How many targets a collection has, or meet a filter",
    CountAnswer,
    *openapi.SEARCHED,
)
async def count(call: Call, held: Held, body: CountRequest = _ALL) -> Response:
    """A request without a body counts all."""
    counted = held.count
    if filter := body.filter:
        counted = (await call.run(held, matches_of, held, filter, [call.trace])).count
    return send({"count": counted, **served(held)})


@point_routes.at("POST", _POINTS, "Several targets by their ids", PointsAnswer, *openapi.SEARCHED)
async def get_points(call: Call, held: Held, body: PointsRequest) -> Response:
    """In the order of the ids; those that no target bears are listed apart."""
    found, missing = await call.run(held, find_targets, held, body.ids, body.with_ or _usual(held))

    def answer() -> PointsAnswer:
        return {"points": found.written, "missing": missing, **served(held)}

    return await send_heavy(found.weight, answer)


@point_routes.at(
    "POST",
    f"{_COLLECTION}/scroll",
    "All targets, or those that meet a filter, page by page",
    ScrollAnswer,
    *openapi.SEARCHED,
    "cursor_expired",
)
async def scroll(call: Call, held: Held, body: ScrollRequest = _FIRST_PAGE) -> Response:
    """Pass the `cursor` of each answer to the next request, until it is null. A new version begins a new scroll."""
    cursor = read_cursor(body.cursor, body.filter)
    if body.cursor is None or cursor.reached > held.seq:
        held = await call.engine.freshness.latest(call.trace, held.name)
    limit = call.settings.usual_limit if body.limit is None else body.limit
    extras = body.with_ or _usual(held)
    found, following = await call.run(
        held, scroll_targets, held, cursor.row(held), limit, body.filter, extras, call.trace
    )
    page = None if following is None else write_cursor(held, following, body.filter)

    def answer() -> ScrollAnswer:
        return {"points": found.written, "cursor": page, **served(held)}

    return await send_heavy(found.weight, answer)


@point_routes.at(
    "GET",
    f"{_POINTS}/{{id:path}}",
    "One target by its id",
    PointAnswer,
    *openapi.SEARCHED,
    "point_not_found",
    also=openapi.ETAG,
)
async def get_point(call: Call, held: Held, id: str, url: UrlOf[PointRequest]) -> Response:
    """Its offset and, where the collection has one, its payload."""
    extras = (url.with_ or NO_EXTRAS)._replace(payload=_usual(held).payload)

    def read() -> StoredTarget:
        return stored_targets(held, np.array([held.row(held.parts.ids.parse(id))]), extras).written[0]

    target = await call.run(held, read)
    answer: PointAnswer = {**target, **served(held)}
    return send(answer, (b"etag", b'"%d"' % target["seq"]))


def _usual(collection: hubless.Collection) -> Extras:
    """Return what targets are sent with if the request does not say: the payload, where there is one."""
    return Extras(payload=collection.parts.payload_kind is not None)


@write_routes.at(
    "PUT",
    _POINTS,
    "Store targets, or replace those of the same ids",
    PutAnswer,
    *_OF_WRITES,
    *openapi.QUERIES,
    "point_not_found",
    "point_exists",
    "merge_needed",
    **openapi.other_bodies(
        PutOptions,
        arrow="A stream with the columns `id` and `vector`, fixed_size_list<float32>; all others are payload. "
        "Other fields stand in the URL.",
    ),
)
async def put_points(call: Call, held: Writable, body: PutPointsRequest, if_match: PointIfMatch = None) -> Response:
    """All or none. When this is answered they are on the disk, and the next query finds them, hubness taken out."""
    if (table := body.table) is not None:
        plan = await heavy.run(table.nbytes, lambda: edits.plan_table(table, body.mode, held))
        return await _write(call, held, body, plan, table["id"].to_pylist(), if_match)
    asked = {
        place: what_is_asked(point, f"points[{place}].", QueryForms.model_fields)
        for place, point in enumerate(body.points)
        if point.text is not None or point.image is not None
    }
    encoded = await call.engine.encoding.vectors(
        call.trace, held, asked, lambda place: f"points[{place}].", call.deadline
    )
    ids = list(map(_ID, body.points))
    plan = await heavy.run(held.parts.manifest.dim * len(ids), partial(edits.plan_put, body, ids, held, encoded))
    return await _write(call, held, body, plan, ids, if_match)


@write_routes.at(
    "PATCH", _POINTS, "Change the payload of targets", PutAnswer, *_OF_WRITES, "point_not_found", "merge_needed"
)
async def patch_points(call: Call, held: Writable, body: PatchPointsRequest, if_match: PointIfMatch = None) -> Response:
    """All or none. Columns that are not given stay, null empties one."""
    ids = list(map(_ID, body.points))
    return await _write(call, held, body, edits.plan_patch(body, ids, held), ids, if_match)


@write_routes.at(
    "POST", f"{_POINTS}/delete", "Delete targets by their ids, or those that meet a filter", DeleteAnswer, *_OF_WRITES
)
async def delete_points(
    call: Call, held: Writable, body: DeletePointsRequest, if_match: PointIfMatch = None
) -> Response:
    """When this is answered no query finds them any more."""
    return await _write(call, held, body, edits.plan_delete(body, held), body.ids or (), if_match, adds=False)


@write_routes.at(
    "DELETE", f"{_POINTS}/{{id:path}}", "Delete one target by its id", DeleteAnswer, *_OF_WRITES, "point_not_found"
)
async def delete_point(
    call: Call, held: Writable, id: str, url: UrlOf[WriteOptions], if_match: PointIfMatch = None
) -> Response:
    """When this is answered no query finds it any more. 404 if no target has the id."""
    wanted = held.parts.ids.parse(id)
    return await _write(call, held, url, partial(edits.delete_one, wanted), [wanted], if_match, adds=False)


async def _write(
    call: Call,
    held: hubless.Collection,
    wanted: WriteOptions,
    plan: WritePlan,
    ids: Sequence[str | int],
    if_match: str | None,
    *,
    adds: bool = True,
) -> Response:
    """Write, unless the one target of the request is not as the header says when the turn of the plan comes."""
    if if_match:
        if len(ids) != 1:
            raise InputError("If-Match", "a request about one target", f"{len(ids)} ids")
        plan = edits.expecting(plan, ids[0], if_match)
    durable = wanted.durability != "memory"
    document = await call.engine.writer.write(
        call.trace, held.name, len(ids) if adds else 0, plan, call.deadline, durable=durable
    )
    return send({**document, **served(held)})
