"""Writing points: put, patched, deleted."""

from collections.abc import Sequence
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response

import hubless
from hubless.errors import InputError
from hubless_service import openapi
from hubless_service.access.authentication import check_write
from hubless_service.app_state import state_of
from hubless_service.http import bodies, heavy, responses
from hubless_service.http.answers import DeleteAnswer, PutAnswer
from hubless_service.http.arrow import ARROW, read_table
from hubless_service.http.requests import (
    ArrowPointsRequest,
    DeletePointsRequest,
    PatchPointsRequest,
    PutPointsRequest,
    RequestModel,
    WriteOptions,
    read,
)
from hubless_service.http.values import Subject
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.edits import (
    check_writable,
    expecting,
    plan_delete,
    plan_patch,
    plan_put,
    plan_table,
    texts_of,
)
from hubless_service.searching.writer import Plan

router = APIRouter(route_class=DirectRoute, tags=["points"])
_PROBLEMS = (
    "malformed_body",
    "forbidden",
    "collection_not_found",
    "request_timeout",
    "body_too_large",
    "unsupported_media_type",
    "invalid_input",
    "unknown_field",
    "log_damaged",
    *openapi.SEARCHED,
)
_VECTORS = (
    "dimension_mismatch",
    "not_finite",
    "zero_vector",
    "no_encoder",
    "unknown_words",
    "text_refused",
    "encoder_failed",
    "encoder_timeout",
)
_HEADER = b"if-match"
R = TypeVar("R", bound=RequestModel)


def _with_if_match(operation: dict[str, Any]) -> dict[str, Any]:
    meaning = "The seq that the one target of the request must still have, or * for any."
    return operation | {"parameters": [*operation.get("parameters", ()), openapi.header_parameter("If-Match", meaning)]}


@router.put(
    "/v1/collections/{collection}/points",
    summary="Store targets, or replace those of the same ids",
    responses=openapi.answers(
        PutAnswer,
        examples.PUT_ANSWER,
        *_PROBLEMS,
        *_VECTORS,
        "point_not_found",
        "point_exists",
        "precondition_failed",
        "merge_needed",
    ),
    openapi_extra=_with_if_match(
        openapi.body(
            PutPointsRequest,
            arrow="A stream with the columns `id` and `vector`, fixed_size_list<float32>; all others are payload.",
            url=ArrowPointsRequest,
        )
    ),
)
async def put_points(request: Request, collection: str) -> Response:
    """All or none. When this is answered they are on the disk, and the next query finds them, hubness taken out."""
    state = state_of(request)
    holder = _holder(request, collection)
    if bodies.media_type(request, bodies.JSON, ARROW) == ARROW:
        return await _put_table(request, holder)
    wanted, size = await _read(request, holder, PutPointsRequest)
    encoded = await state.engine.encode(request, holder, texts_of(wanted), lambda place: f"points[{place}].")
    plan = await heavy.run(size, lambda: plan_put(wanted, holder, encoded))
    plan = _if_match(request, plan, [point.id for point in wanted.points])
    return await _write(request, holder, len(wanted.points), plan, wanted)


@router.patch(
    "/v1/collections/{collection}/points",
    summary="Change the payload of targets",
    responses=openapi.answers(
        PutAnswer, examples.PUT_ANSWER, *_PROBLEMS, "point_not_found", "precondition_failed", "merge_needed"
    ),
    openapi_extra=_with_if_match(openapi.body(PatchPointsRequest)),
)
async def patch_points(request: Request, collection: str) -> Response:
    """All or none. Columns that are not given stay, null empties one."""
    holder = _json_holder(request, collection)
    wanted, size = await _read(request, holder, PatchPointsRequest)
    plan = await heavy.run(size, lambda: plan_patch(wanted, holder))
    plan = _if_match(request, plan, [point.id for point in wanted.points])
    return await _write(request, holder, len(wanted.points), plan, wanted)


@router.post(
    "/v1/collections/{collection}/points/delete",
    summary="Delete targets by their ids, or those that meet a filter",
    responses=openapi.answers(DeleteAnswer, examples.DELETE_ANSWER, *_PROBLEMS, "precondition_failed"),
    openapi_extra=_with_if_match(openapi.body(DeletePointsRequest)),
)
async def delete_points(request: Request, collection: str) -> Response:
    """When this is answered no query finds them any more."""
    holder = _json_holder(request, collection)
    wanted, _ = await _read(request, holder, DeletePointsRequest)
    plan = _if_match(request, plan_delete(wanted, holder), wanted.ids or ())
    return await _write(request, holder, 0, plan, wanted)


async def _put_table(request: Request, holder: hubless.Collection) -> Response:
    """Store the points of an Arrow stream."""
    settings = state_of(request).settings
    check_writable(holder)
    body = await bodies.receive(request, settings, batch=True)
    wanted = read(ArrowPointsRequest, bodies.url_fields(request), Subject(holder, settings))
    table = await heavy.run(len(body), lambda: read_table(body))
    if not 1 <= len(table) <= settings.max_write_points:
        raise InputError("body", f"1 to {settings.max_write_points} points", str(len(table)))
    plan = await heavy.run(len(body), lambda: plan_table(table, wanted.mode, holder))
    plan = _if_match(request, plan, table["id"].to_pylist())
    return await _write(request, holder, len(table), plan, wanted)


def _holder(request: Request, name: str) -> hubless.Collection:
    """The collection that a request wants to write to."""
    state = state_of(request)
    return state.shelf.collection(name, check_write(request, state.settings.origins))


def _json_holder(request: Request, name: str) -> hubless.Collection:
    holder = _holder(request, name)
    bodies.media_type(request, bodies.JSON)
    return holder


async def _read(request: Request, holder: hubless.Collection, model: type[R]) -> tuple[R, int]:
    """What a request wants to write, and how many bytes say so."""
    settings = state_of(request).settings
    check_writable(holder)
    body = await bodies.receive(request, settings, batch=True)
    bodies.refuse_url_fields(request)
    subject = Subject(holder, settings)
    return await heavy.run(len(body), lambda: read(model, bodies.parse(body), subject)), len(body)


def _if_match(request: Request, plan: Plan, ids: Sequence[str | int]) -> Plan:
    """The plan, refused when its turn comes if the one target that it is about has changed."""
    if not (header := bodies.header(request, _HEADER)):
        return plan
    if len(ids) != 1:
        raise InputError("If-Match", "a request about one target", f"{len(ids)} ids")
    return expecting(plan, ids[0], header)


async def _write(
    request: Request, holder: hubless.Collection, points: int, plan: Plan, wanted: WriteOptions
) -> Response:
    durable = wanted.durability != "memory"
    document = await state_of(request).engine.write(request, holder.name, points, plan, durable=durable)
    return responses.send({**document, "collection": holder.name, "version": holder.version})
