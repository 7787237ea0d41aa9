"""Queries: one, or a batch."""

from collections.abc import Callable, Iterable
from inspect import signature
from math import inf
from time import perf_counter
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Response

import hubless
from hubless.errors import InputError
from hubless_service import openapi
from hubless_service.http.answers import BatchAnswer, QueryAnswer
from hubless_service.http.exchange import Exchange
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import (
    Asked,
    BatchRequest,
    BinaryRequest,
    LikeTarget,
    Picture,
    Query,
    QueryRequest,
    RequestModel,
)
from hubless_service.http.responses import hits_of, send_heavy, served, weight_of
from hubless_service.http.values import NO_EXTRAS, Subject
from hubless_service.routes.route import Call, Held, routes_of
from hubless_service.settings import Settings

PATH = "/v1/collections/{collection}/query"
query_routes = routes_of("query")
_PROBLEMS = (*openapi.QUERIES, *openapi.SEARCHED, "point_not_found")
_TIME = b"timeout_ms"
_BYTES_A_HIT, _BYTES_A_NUMBER = 2_000, 40
"""Memory that an answer takes while it is made, about: a hit with its payload, and a number of a vector in JSON."""
_LIGHT = 2**23
"""Bytes that are not looked for."""
_CANDIDATES = 10
"""Targets that are ranked for a hit where hits are chosen among them, about."""

_ASKED: dict[str, Callable[[Any], Asked]] = {
    "vector": np.asarray,
    "text": str,
    "image": Picture,
    "id": LikeTarget,
}
"""The fields of which a query has one, and what is asked by it."""
_OPTIONS = {
    name: (field, parameter.default)
    for name, parameter in signature(hubless.Collection.query).parameters.items()
    if (field := {"parameters": "params"}.get(name, name)) in {*QueryRequest.model_fields} - {*_ASKED, "limit"}
}
"""Options of `Collection.query` that a request may have: the field, and the default, which is not passed on."""


async def _room(call: Call) -> None:
    """Refuse before the body is read what would find no room to wait, or wait for too long."""
    trace, check, now = call.trace, call.engine.check_room, perf_counter()
    try:
        check(now, trace.late, call.settings.default_timeout_ms / 1000)
    except HttpProblem:
        if isinstance(trace, Exchange) and not trace.more_body and not trace.mentions(_TIME):
            raise
        check(now, trace.late, inf)  # it may name its time itself


@query_routes.at(
    "POST",
    PATH,
    "The targets nearest to a vector, a text, a picture or another target, hubness taken out",
    QueryAnswer,
    *_PROBLEMS,
    **openapi.other_bodies(BinaryRequest, "dim · 4 bytes, little-endian float32; other fields stand in the URL."),
)
async def query(call: Call, room: Annotated[None, Depends(_room)], held: Held, body: QueryRequest) -> Response:
    """Send JSON, or the bytes of one vector with the other fields in the URL.

    In each hit score = similarity − strength · offset.
    """
    wanted = query_of(body, call.settings)
    found = await call.engine.search(call.trace, held, [wanted])

    def answer() -> QueryAnswer:
        return {**hits_of(found[0]), **served(held)}

    return await send_heavy(weight_of(found), answer, call.trace)


@query_routes.at(
    "POST",
    f"{PATH}/batch",
    "Several queries at once",
    BatchAnswer,
    *_PROBLEMS,
    **openapi.other_bodies(
        BinaryRequest,
        "m · dim · 4 bytes, little-endian float32, one query after the other; other fields stand in the URL.",
    ),
)
async def query_batch(call: Call, room: Annotated[None, Depends(_room)], held: Held, body: BatchRequest) -> Response:
    """Answers are in the order of the queries. If one query is wrong, the whole batch is refused."""
    wanted = _queries_of(body, Subject(held, call.settings))
    found = await call.engine.search(call.trace, held, wanted)

    def answer() -> BatchAnswer:
        return {"results": [hits_of(one) for one in found], **served(held)}

    return await send_heavy(weight_of(found), answer, call.trace)


def query_of(sent: QueryRequest, settings: Settings, where: str = "") -> Query:
    """Return the query of a request, or of a part of one, which `where` names.

    Raises `InputError` if it asks for nothing, or by two fields, or its options do not go together.
    """
    asked = what_is_asked(sent, where)
    limit = settings.usual_limit if sent.limit is None else sent.limit
    deepest = max(settings.max_depth - limit, 0)
    if sent.skip and sent.skip > deepest:
        raise InputError(f"{where}skip", f"a whole number from 0 to {deepest} beside this limit", sent.skip)
    if sent.diversity and sent.score_threshold is not None:
        raise InputError(f"{where}score_threshold", "none beside diversity, which orders hits anew", "one")
    options: dict[str, Any] = {"limit": limit}
    given = sent.model_fields_set  # to look there takes a fifth of a look at a field
    for option, (field, default) in _OPTIONS.items():
        if field in given and (chosen := getattr(sent, field)) not in (None, default):
            options[option] = chosen
    return Query(
        where=where,
        asked=asked,
        options=options,
        extras=sent.with_ or NO_EXTRAS,
        score_threshold=sent.score_threshold,
        timeout_ms=sent.timeout_ms or settings.default_timeout_ms,
    )


def what_is_asked(sent: RequestModel, where: str, forms: Iterable[str] = _ASKED) -> Asked:
    """Return what the one of its fields that a query has asks for. Raises `InputError` if it has not one of them."""
    given = {name: value for name in forms if (value := getattr(sent, name, None)) is not None}
    if len(given) != 1:
        names = [name for name in forms if name in type(sent).model_fields]
        expected = f"one of {', '.join(names[:-1])} and {names[-1]}"
        raise InputError(f"{where}vector", expected, " and ".join(given) or "none of them")
    [(name, value)] = given.items()
    return _ASKED[name](value)


def _queries_of(sent: BatchRequest, subject: Subject) -> list[Query]:
    """Return the queries of a batch."""
    settings = subject.settings
    queries = [query_of(query, settings, f"queries[{i}].") for i, query in enumerate(sent.queries)]
    chosen = {"group_by", "diversity"}
    hits = 0
    for query in queries:
        options = query.options
        depth = options["limit"] + options.get("skip", 0)
        hits += depth if chosen.isdisjoint(options) else depth * _CANDIDATES
    if hits > settings.max_batch_hits:
        expected = f"limits and skips that add up to at most {settings.max_batch_hits}"
        raise InputError(sent.field, expected, hits)
    numbers = sum(query.options["limit"] for query in queries if query.extras.vector) * subject.collection.dim
    if numbers > settings.max_batch_numbers:
        expected = f"hits with vectors of at most {settings.max_batch_numbers} numbers in all"
        raise InputError(sent.field, expected, numbers)
    size = hits * _BYTES_A_HIT + numbers * _BYTES_A_NUMBER
    if size > _LIGHT:  # code in C++ that finds too little memory may end the process, and this raises `MemoryError`
        np.empty(size, np.uint8)  # untouched, and given back at once
    return queries
