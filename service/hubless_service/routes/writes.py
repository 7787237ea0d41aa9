"""Writing points: put, patched, deleted."""

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
from hubless_service.searching.edits import check_writable, plan_delete, plan_patch, plan_put, texts_of
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
    state = state_of(request)
    holder, wanted, size = await _read(request, collection, PutPointsRequest)
    encoded = await state.engine.encode(request, holder, texts_of(wanted), lambda place: f"points[{place}].")
    plan = await heavy.run(size, lambda: plan_put(wanted, holder, encoded))
    return await _write(request, holder, len(wanted.points), plan)


@router.patch(
    "/v1/collections/{collection}/points",
    summary="Change the payload of targets",
    responses=openapi.answers(PutAnswer, examples.PUT_ANSWER, *_PROBLEMS, "point_not_found", "merge_needed"),
    openapi_extra=openapi.body(PatchPointsRequest),
)
async def patch_points(request: Request, collection: str) -> Response:
    """All or none. Columns that are not given stay, null empties one."""
    holder, wanted, size = await _read(request, collection, PatchPointsRequest)
    plan = await heavy.run(size, lambda: plan_patch(wanted, holder))
    return await _write(request, holder, len(wanted.points), plan)


@router.post(
    "/v1/collections/{collection}/points/delete",
    summary="Delete targets by their ids, or those that meet a filter",
    responses=openapi.answers(DeleteAnswer, examples.DELETE_ANSWER, *_PROBLEMS),
    openapi_extra=openapi.body(DeletePointsRequest),
)
async def delete_points(request: Request, collection: str) -> Response:
    """When this is answered no query finds them any more."""
    holder, wanted, _ = await _read(request, collection, DeletePointsRequest)
    return await _write(request, holder, 0, plan_delete(wanted, holder))


async def _read(request: Request, name: str, model: type[R]) -> tuple[hubless.Collection, R, int]:
    """The collection that a request wants to write to, what it wants, and how many bytes say so."""
    state = state_of(request)
    access = check_write(request, state.settings.origins)
    holder = state.shelf.collection(name, access)
    bodies.media_type(request, bodies.JSON)
    check_writable(holder)
    body = await bodies.receive(request, state.settings, batch=True)
    bodies.refuse_url_fields(request)
    subject = Subject(holder, state.settings)
    return holder, await heavy.run(len(body), lambda: read(model, bodies.parse(body), subject)), len(body)


async def _write(request: Request, holder: hubless.Collection, points: int, plan: Plan) -> Response:
    document = await state_of(request).engine.write(request, holder.name, points, plan)
    return responses.send({**document, "collection": holder.name, "version": holder.version})
