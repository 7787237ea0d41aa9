"""Asking: one query, or a batch."""

from fastapi import APIRouter, Request, Response

from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.http import answers, bodies, queries
from hubless_service.http.schemas import BatchAnswer, BatchRequest, QueryAnswer, QueryRequest
from hubless_service.http.trace import trace_of
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute
from hubless_service.state import State, state_of

_TIME = b"timeout_ms"

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
    "/v1/collections/{collection}/query",
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
    "/v1/collections/{collection}/query/batch",
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
