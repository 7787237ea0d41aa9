"""Writing points: put, patched, deleted."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import APIRouter, Request, Response

import hubless
from hubless_service import openapi
from hubless_service.access.authentication import check_write
from hubless_service.http import bodies, heavy, responses
from hubless_service.http.answers import DeleteAnswer, PutAnswer
from hubless_service.http.fields import Subject
from hubless_service.http.requests import (
    DeletePointsRequest,
    PatchPointsRequest,
    PutPointsRequest,
    RequestModel,
    read,
)
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.searching.edits import check_writable, plan_delete, plan_patch, plan_put
from hubless_service.searching.writing import Plan
from hubless_service.state import state_of

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
_VECTORS = ("dimension_mismatch", "not_finite", "zero_vector")
R = TypeVar("R", bound=RequestModel)


@router.put(
    "/v1/collections/{collection}/points",
    summary="Store targets, or replace those of the same ids",
    responses=openapi.answers(
        PutAnswer, examples.PUT_ANSWER, *_PROBLEMS, *_VECTORS, "point_not_found", "point_exists", "merge_needed"
    ),
    openapi_extra=openapi.body(PutPointsRequest),
)
async def put_points(request: Request, collection: str) -> Response:
    """All or none. When this is answered they are on the disk, and the next query finds them, hubness taken out."""
    return await _write(request, collection, PutPointsRequest, plan_put, lambda wanted: len(wanted.points))


@router.patch(
    "/v1/collections/{collection}/points",
    summary="Change the payload of targets",
    responses=openapi.answers(PutAnswer, examples.PUT_ANSWER, *_PROBLEMS, "point_not_found", "merge_needed"),
    openapi_extra=openapi.body(PatchPointsRequest),
)
async def patch_points(request: Request, collection: str) -> Response:
    """All or none. Columns that are not given stay, null empties one."""
    return await _write(request, collection, PatchPointsRequest, plan_patch, lambda wanted: len(wanted.points))


@router.post(
    "/v1/collections/{collection}/points/delete",
    summary="Delete targets by their ids, or those that meet a filter",
    responses=openapi.answers(DeleteAnswer, examples.DELETE_ANSWER, *_PROBLEMS),
    openapi_extra=openapi.body(DeletePointsRequest),
)
async def delete_points(request: Request, collection: str) -> Response:
    """When this is answered no query finds them any more."""
    return await _write(request, collection, DeletePointsRequest, plan_delete, lambda wanted: 0)


async def _write(
    request: Request,
    name: str,
    model: type[R],
    plan: Callable[[R, hubless.Collection], Plan],
    points: Callable[[R], int],
) -> Response:
    state = state_of(request)
    access = check_write(request, state.settings.origins)
    holder = state.shelf.collection(name, access)
    bodies.media_type(request, bodies.JSON)
    check_writable(holder)
    body = await bodies.receive(request, state.settings, batch=True)
    bodies.refuse_url_fields(request)

    def parsed() -> tuple[Plan, int]:
        wanted = read(model, bodies.parse(body), Subject(holder, state.settings))
        return plan(wanted, holder), points(wanted)

    planned, count = await heavy.run(len(body), parsed)
    document = await state.engine.write(request, holder.name, count, planned)
    return responses.send({**document, "collection": holder.name, "version": holder.version})
