"""From queries to hits: texts are encoded together, and queries that agree on how to search are asked together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

import hubless
from hubless.arrays import F32
from hubless.errors import InputError, NotFinite
from hubless_service.queries import Query
from hubless_service.trace import Trace

Hits = list[dict[str, Any]]


def search(collection: hubless.Collection, queries: Sequence[Query], trace: Trace) -> list[Hits]:
    """Answer queries in their order, all or none.

    Raises
    ------
    InputError
        what the library has against a text, a strength or a parameter, in the words of the request.
    """
    vectors = {i: query.asked for i, query in enumerate(queries) if not isinstance(query.asked, str)}
    texts = {i: query.asked for i, query in enumerate(queries) if isinstance(query.asked, str)}
    if texts:
        with trace.stage("encode"):
            vectors |= _encode(collection, queries, texts)
    answers: list[Hits] = [[]] * len(queries)
    for positions in _alike(queries):
        with trace.stage("search"):
            alike = [queries[i] for i in positions]
            results = _ask(collection, alike, np.stack([vectors[i] for i in positions]))
        with trace.stage("payload"):
            for row, i in enumerate(positions):
                answers[i] = _hits(collection, queries[i], results, row)
    return answers


def _alike(queries: Sequence[Query]) -> list[list[int]]:
    """Positions of queries that one call can answer, as their limit, strength and parameters are equal."""
    if len(queries) == 1:
        return [[0]]
    groups: dict[tuple[int, float, bytes], list[int]] = {}
    for i, query in enumerate(queries):
        parameters = orjson.dumps(query.parameters, option=orjson.OPT_SORT_KEYS)
        groups.setdefault((query.limit, query.strength, parameters), []).append(i)
    return list(groups.values())


def _encode(collection: hubless.Collection, queries: Sequence[Query], texts: dict[int, str]) -> dict[int, F32]:
    try:
        return dict(zip(texts, collection.encode(list(texts.values())), strict=True))
    except InputError as error:
        for i, text in texts.items() if len(texts) > 1 else ():  # one by one, to tell which of them it is
            _encode(collection, queries, {i: text})
        raise _renamed(error, f"{queries[min(texts)].where}text") from error


def _ask(collection: hubless.Collection, queries: Sequence[Query], vectors: F32) -> hubless.Results:
    first = queries[0]
    try:
        results = collection.query(vectors, limit=first.limit, strength=first.strength, parameters=first.parameters)
    except InputError as error:
        raise _renamed(error, f"{first.where}{error.parameter}") from error
    # without a cosine's bounds, products of finite vectors can leave float32, and JSON has no infinity
    if not (finite := np.isfinite(results.scores).all(axis=1)).all():
        where = queries[int(np.argmin(finite))].where
        raise NotFinite(f"{where}vector", "numbers whose products with the targets fit float32", "larger ones")
    return results


def _hits(collection: hubless.Collection, query: Query, results: hubless.Results, row: int) -> Hits:
    hits = [
        {"id": id_, "score": score, "similarity": similarity, "offset": offset}
        for id_, score, similarity, offset in zip(
            results.ids[row],
            results.scores[row].tolist(),
            results.similarities[row].tolist(),
            results.offsets[row].tolist(),
            strict=True,
        )
    ]
    if query.score_threshold is not None:
        # the hits come best first, so that those which are left are the first rows
        hits = [hit for hit in hits if hit["score"] >= query.score_threshold]
    rows = results.rows[row, : len(hits)]
    if query.with_payload:
        for hit, payload in zip(hits, collection.payload(rows.tolist()), strict=True):
            hit["payload"] = payload
    if query.with_vector and hits:
        for hit, vector in zip(hits, collection.vectors(rows), strict=True):
            hit["vector"] = vector
    return hits


def _renamed(error: InputError, parameter: str) -> InputError:
    return type(error)(parameter, error.expected, error.received)
