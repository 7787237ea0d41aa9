"""Asking: one query, or a batch."""

import re

from fastapi import APIRouter, Request, Response
from starlette.types import Scope

from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.http import answers, bodies, queries
from hubless_service.http.problems import Problem, respond
from hubless_service.http.schemas import BatchAnswer, BatchRequest, QueryAnswer, QueryRequest
from hubless_service.http.trace import ARRIVED, Trace, trace_of
from hubless_service.observing.middleware import headers, request_id
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.state import State, state_of

_TIME = b"timeout_ms"
_ONE, _SEVERAL = "/v1/collections/{collection}/query", "/v1/collections/{collection}/query/batch"
_ROUTES = {route: re.compile(route.replace("{collection}", "[^/]+").encode()) for route in (_ONE, _SEVERAL)}

router = APIRouter(route_class=DirectRoute, tags=["query"])
PROBLEMS = (
    "malformed_body",
    "collection_not_found",
    "point_not_found",
    "request_timeout",
    "body_too_large",
    "unsupported_media_type",
    "invalid_input",
    "unknown_field",
    "dimension_mismatch",
    "not_finite",
    "zero_vector",
    "no_encoder",
    "unknown_words",
    "text_refused",
    "encoder_failed",
    "encoder_timeout",
    *openapi.SEARCHED,
)


@router.post(
    _ONE,
    summary="The targets nearest to a vector, a text or another target, hubness taken out",
    responses=openapi.answers(QueryAnswer, examples.QUERY_ANSWER, *PROBLEMS),
    openapi_extra=openapi.body(QueryRequest, examples.QUERIES, binary="dim · 4 bytes, little-endian float32."),
)
async def query(request: Request, collection: str) -> Response:
    """A JSON body names a vector, a text or an id; a binary body is the vector, and the other fields stand in the URL.

    In each hit score = similarity − strength · offset.
    """
    state, trace = state_of(request), trace_of(request)
    asked = state.engine.collection(collection, access_of(request))
    kind, body = await _read(request, state)
    with trace.stage("parse"):
        wanted = [queries.one(request, kind, body, asked, state.settings)]
    (found,) = await state.engine.search(request, asked, wanted)
    with trace.stage("serialise"):
        return answers.answer(found | {"collection": asked.name, "version": asked.version})


@router.post(
    _SEVERAL,
    summary="Several queries at once",
    responses=openapi.answers(BatchAnswer, examples.BATCH_ANSWER, *PROBLEMS),
    openapi_extra=openapi.body(
        BatchRequest, examples.BATCHES, binary="m · dim · 4 bytes, little-endian float32, one query after the other."
    ),
)
async def query_batch(request: Request, collection: str) -> Response:
    """Answers come in the order of the queries. If one query is wrong, the whole batch is refused."""
    state, trace = state_of(request), trace_of(request)
    asked = state.engine.collection(collection, access_of(request))
    kind, body = await _read(request, state)
    with trace.stage("parse"):
        wanted = queries.several(request, kind, body, asked, state.settings)
    results = await state.engine.search(request, asked, wanted)
    with trace.stage("serialise"):
        return answers.answer({"results": results, "collection": asked.name, "version": asked.version})


def refuse(state: State, scope: Scope, body: bytes) -> Response | None:
    """The answer to a query that has just been read, if there is no room for it: at the least cost there is.

    None if it is to be tried, also where that takes a closer look: what it names, and who asks, is not looked at.

    Parameters
    ----------
    scope : with `method`, `raw_path`, `query_string`, `headers` and when it arrived
    """
    trace = Trace("", scope[ARRIVED])
    try:
        state.engine.check_room()
        state.engine.check_wait(trace)
    except Problem as problem:
        route = next((route for route, path in _ROUTES.items() if path.fullmatch(scope["raw_path"])), None)
        if route is None or _TIME in scope["query_string"] or _TIME in body or _asked_by_a_page(state, scope):
            return None
        trace.request_id = request_id(scope)
        refusal = respond(problem, trace)
        refusal.raw_headers.extend(headers(trace))
        state.records.note(scope, route, refusal.status_code, trace)
        return refusal
    return None


def _asked_by_a_page(state: State, scope: Scope) -> bool:
    """Whether a browser shows the answer only with headers about its origin."""
    return bool(state.settings.origins) and any(name == b"origin" for name, _ in scope["headers"])


async def _read(request: Request, state: State) -> tuple[str, bytes]:
    """The type of a body and what is in it; refused where there is no room as soon as can be, to be done with soon."""
    kind = bodies.media_type(request, bodies.JSON, bodies.BINARY)
    state.engine.check_room()
    if kind == bodies.BINARY and _TIME not in request.scope["query_string"]:
        state.engine.check_wait(trace_of(request))
    body = await bodies.read(request, state.settings)
    if kind == bodies.JSON and _TIME not in body:
        state.engine.check_wait(trace_of(request))
    return kind, body
