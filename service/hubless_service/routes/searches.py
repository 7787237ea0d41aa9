"""Queries: one, or a batch."""

from typing import Annotated, cast

from fastapi import Depends, Query, Response

from hubless_service import openapi
from hubless_service.http import responses
from hubless_service.http.answers import BatchAnswer, QueryAnswer
from hubless_service.http.queries import queries_of, query_of
from hubless_service.http.requests import BatchRequest, BinaryRequest, QueryRequest
from hubless_service.http.responses import hits_of, weight_of
from hubless_service.http.values import Subject
from hubless_service.routes.route import Call, DirectRoute, Held
from hubless_service.routes.route import router as make_router

PATH = "/v1/collections/{collection}/query"
router = make_router("query")
_PROBLEMS = (
    *openapi.BODY,
    *openapi.FIELDS,
    *openapi.VECTORS,
    *openapi.TEXTS,
    *openapi.SEARCHED,
    "collection_not_found",
    "point_not_found",
)


async def _room(call: Call) -> None:
    """Refuse before the body is read what would find no room to wait."""
    call.service.engine.check_room()


def _url(url: Annotated[BinaryRequest, Query()]) -> None:
    """Document the fields that stand in the URL beside a binary body."""


@router.post(
    PATH,
    dependencies=[Depends(_url)],
    **openapi.about(
        "The targets nearest to a vector, a text or another target, hubness taken out", QueryAnswer, *_PROBLEMS
    ),
    openapi_extra=openapi.binary_body("dim · 4 bytes, little-endian float32; other fields stand in the URL."),
)
async def query(call: Call, held: Held, room: Annotated[None, Depends(_room)], body: QueryRequest) -> Response:
    """Send JSON, or the bytes of one vector with the other fields in the URL.

    In each hit score = similarity − strength · offset.
    """
    engine, wanted = call.service.engine, query_of(body, call.service.settings)
    if wanted.min_seq:
        held = await engine.reach(call.trace, held, wanted.min_seq)
    found = await engine.search(call, held, [wanted])

    def answer() -> QueryAnswer:
        manifest = held.parts.manifest
        return {**hits_of(found[0]), "collection": manifest.collection, "version": manifest.version}

    return await responses.send_heavy(weight_of(found), answer, call.trace)


@router.post(
    f"{PATH}/batch",
    dependencies=[Depends(_url)],
    **openapi.about("Several queries at once", BatchAnswer, *_PROBLEMS),
    openapi_extra=openapi.binary_body(
        "m · dim · 4 bytes, little-endian float32, one query after the other; other fields stand in the URL."
    ),
)
async def query_batch(call: Call, held: Held, room: Annotated[None, Depends(_room)], body: BatchRequest) -> Response:
    """Answers are in the order of the queries. If one query is wrong, the whole batch is refused."""
    engine, wanted = call.service.engine, queries_of(body, Subject(held, call.service.settings))
    held = await engine.reach(call.trace, held, max(query.min_seq for query in wanted))
    found = await engine.search(call, held, wanted)

    def answer() -> BatchAnswer:
        return {"results": [hits_of(one) for one in found], "collection": held.name, "version": held.version}

    return await responses.send_heavy(weight_of(found), answer, call.trace)


ROUTE = cast(DirectRoute, next(route for route in router.routes if getattr(route, "path", "") == PATH))
"""The route of single queries."""
