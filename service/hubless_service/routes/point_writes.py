"""Writing points: put, patched, deleted."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from fastapi import Depends, Header, Query, Response

import hubless
from hubless.errors import InputError
from hubless_service import openapi
from hubless_service.http import heavy, responses
from hubless_service.http.answers import DeleteAnswer, PutAnswer
from hubless_service.http.requests import (
    DeletePointsRequest,
    PatchPointsRequest,
    PutOptions,
    PutPointsRequest,
    WriteOptions,
)
from hubless_service.routes.route import Call, UrlOf, Writable
from hubless_service.routes.route import router as make_router
from hubless_service.searching.edits import (
    check_writable,
    delete_one,
    expecting,
    plan_delete,
    plan_patch,
    plan_put,
    plan_table,
    texts_of,
)
from hubless_service.searching.writer import Plan

router = make_router("points")
_PATH = "/v1/collections/{collection}/points"
_USUAL = (*openapi.FIELDS, *openapi.SEARCHED, "forbidden", "collection_not_found", "precondition_failed", "log_damaged")
_PROBLEMS = (*openapi.BODY, *_USUAL)
IfMatch = Annotated[
    str | None, Header(description="The seq that the one target of the request must still have, or * for any.")
]


def _url(url: Annotated[PutOptions, Query()]) -> None:
    """Document the fields that stand in the URL beside an Arrow body."""


@router.put(
    _PATH,
    dependencies=[Depends(_url)],
    openapi_extra=openapi.binary_body(
        arrow="A stream with the columns `id` and `vector`, fixed_size_list<float32>; all others are payload. "
        "Other fields stand in the URL."
    ),
    **openapi.about(
        "Store targets, or replace those of the same ids",
        PutAnswer,
        *_PROBLEMS,
        *openapi.VECTORS,
        *openapi.TEXTS,
        "point_not_found",
        "point_exists",
        "merge_needed",
    ),
)
async def put_points(call: Call, held: Writable, body: PutPointsRequest, if_match: IfMatch = None) -> Response:
    """All or none. When this is answered they are on the disk, and the next query finds them, hubness taken out."""
    check_writable(held)
    if (table := body.table) is not None:
        plan = await heavy.run(table.nbytes, lambda: plan_table(table, body.mode, held))
        return await _write(call, held, body, plan, table["id"].to_pylist(), if_match)
    encoded = await call.service.engine.encode(call, held, texts_of(body), lambda place: f"points[{place}].")
    plan = await heavy.run(held.dim * len(body.points), lambda: plan_put(body, held, encoded))
    return await _write(call, held, body, plan, [point.id for point in body.points], if_match)


@router.patch(
    _PATH, **openapi.about("Change the payload of targets", PutAnswer, *_PROBLEMS, "point_not_found", "merge_needed")
)
async def patch_points(call: Call, held: Writable, body: PatchPointsRequest, if_match: IfMatch = None) -> Response:
    """All or none. Columns that are not given stay, null empties one."""
    check_writable(held)
    return await _write(call, held, body, plan_patch(body, held), [point.id for point in body.points], if_match)


@router.post(
    f"{_PATH}/delete",
    **openapi.about("Delete targets by their ids, or those that meet a filter", DeleteAnswer, *_PROBLEMS),
)
async def delete_points(call: Call, held: Writable, body: DeletePointsRequest, if_match: IfMatch = None) -> Response:
    """When this is answered no query finds them any more."""
    check_writable(held)
    return await _write(call, held, body, plan_delete(body, held), body.ids or (), if_match, adds=False)


@router.delete(
    f"{_PATH}/{{id:path}}", **openapi.about("Delete one target by its id", DeleteAnswer, *_USUAL, "point_not_found")
)
async def delete_point(
    call: Call, held: Writable, id: str, url: UrlOf[WriteOptions], if_match: IfMatch = None
) -> Response:
    """When this is answered no query finds it any more. 404 if no target has the id."""
    check_writable(held)
    wanted = held.parts.ids.parse(id)
    return await _write(call, held, url, partial(delete_one, wanted), [wanted], if_match, adds=False)


async def _write(
    call: Call,
    held: hubless.Collection,
    wanted: WriteOptions,
    plan: Plan,
    ids: Sequence[str | int],
    if_match: str | None,
    *,
    adds: bool = True,
) -> Response:
    """Write, unless the one target of the request is not as the header says when the turn of the plan comes."""
    if if_match:
        if len(ids) != 1:
            raise InputError("If-Match", "a request about one target", f"{len(ids)} ids")
        plan = expecting(plan, ids[0], if_match)
    durable = wanted.durability != "memory"
    document = await call.service.engine.write(call, held.name, len(ids) if adds else 0, plan, durable=durable)
    return responses.send({**document, "collection": held.name, "version": held.version})
