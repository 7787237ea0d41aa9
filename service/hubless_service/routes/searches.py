"""Queries: one, or a batch."""

from functools import partial

from fastapi import APIRouter, Request, Response

from hubless_service import openapi
from hubless_service.access.authentication import access_of
from hubless_service.app_state import AppState, state_of
from hubless_service.http import bodies, heavy, responses
from hubless_service.http.answers import BatchAnswer, QueryAnswer
from hubless_service.http.hits import hits_of, weight_of
from hubless_service.http.queries import read_batch, read_query
from hubless_service.http.requests import BatchRequest, BinaryRequest, QueryRequest
from hubless_service.http.trace import trace_of
from hubless_service.http.values import Subject
from hubless_service.routes import examples
from hubless_service.routes.direct import DirectRoute

PATH = "/v1/collections/{collection}/query"
_TIME = b"timeout_ms"
_UNDERSCORE = b"_"  # to look for one letter takes a tenth of the time, and nearly no body has any

router = APIRouter(route_class=DirectRoute, tags=["query"])
_PROBLEMS = (
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
    PATH,
    summary="The targets nearest to a vector, a text or another target, hubness taken out",
    responses=openapi.answers(QueryAnswer, examples.QUERY_ANSWER, *_PROBLEMS),
    openapi_extra=openapi.body(QueryRequest, binary="dim · 4 bytes, little-endian float32.", url=BinaryRequest),
)
async def query(request: Request, collection: str) -> Response:
    """A JSON body has a vector, a text or an id. A binary body is the vector; the other fields stand in the URL.

    In each hit score = similarity − strength · offset.
    """
    state, trace = state_of(request), trace_of(request)
    asked = state.shelf.collection(collection, access_of(request))
    kind, body = await _receive(request, state)
    with trace.stage("parse"):
        reading = partial(read_query, request, kind, body, Subject(asked, state.settings))
        wanted = await heavy.run(len(body), reading)
    asked = await state.engine.reach(trace, asked, wanted.min_seq)
    (found,) = await state.engine.search(request, asked, [wanted])

    def answer() -> QueryAnswer:
        return {**hits_of(found), "collection": asked.name, "version": asked.version}

    with trace.stage("serialise"):
        return await responses.send_heavy(weight_of([found]), answer)


@router.post(
    "/v1/collections/{collection}/query/batch",
    summary="Several queries at once",
    responses=openapi.answers(BatchAnswer, examples.BATCH_ANSWER, *_PROBLEMS),
    openapi_extra=openapi.body(
        BatchRequest,
        binary="m · dim · 4 bytes, little-endian float32, one query after the other.",
        url=BinaryRequest,
    ),
)
async def query_batch(request: Request, collection: str) -> Response:
    """Answers are in the order of the queries. If one query is wrong, the whole batch is refused."""
    state, trace = state_of(request), trace_of(request)
    asked = state.shelf.collection(collection, access_of(request))
    kind, body = await _receive(request, state, batch=True)
    with trace.stage("parse"):
        wanted = await heavy.run(len(body), partial(read_batch, request, kind, body, Subject(asked, state.settings)))
    asked = await state.engine.reach(trace, asked, max(query.min_seq for query in wanted))
    found = await state.engine.search(request, asked, wanted)

    def answer() -> BatchAnswer:
        return {"results": [hits_of(one) for one in found], "collection": asked.name, "version": asked.version}

    with trace.stage("serialise"):
        return await responses.send_heavy(weight_of(found), answer)


def names_time(body: bytes) -> bool:
    """Whether a JSON body may say how long its request may take."""
    return _UNDERSCORE in body and _TIME in body


async def _receive(request: Request, state: AppState, *, batch: bool = False) -> tuple[str, bytes]:
    """The type of a body, and the body. Refuses as early as possible what would have to wait too long."""
    kind = bodies.media_type(request, bodies.JSON, bodies.BINARY)
    state.engine.check_room()
    if kind == bodies.BINARY and _TIME not in request.scope["query_string"]:
        state.engine.check_wait(trace_of(request))
    body = await bodies.receive(request, state.settings, batch=batch)
    if kind == bodies.JSON and not names_time(body):
        state.engine.check_wait(trace_of(request))
    return kind, body
