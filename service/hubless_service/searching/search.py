"""From queries to hits: queries that agree on how to search are asked together, also those of several requests."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import faiss
import numpy as np
import orjson
from fastapi import Request

import hubless
from hubless.arrays import F32, I64
from hubless.errors import InputError, PointNotFound
from hubless.knn import openmp_threads
from hubless.matches import Matches
from hubless_service.http.clients import watched
from hubless_service.http.extras import add_extras
from hubless_service.http.queries import Query, Stored
from hubless_service.http.trace import Trace, trace_of
from hubless_service.searching.batching import Answer, Batcher
from hubless_service.searching.filtering import matches_of

Found = dict[str, Any]
"""The hits of a query, and for a gated correction whether it was switched on."""
Line = tuple[hubless.Results, int]
"""Where the results of one query stand."""

Observe = Callable[[hubless.Collection, F32, Sequence[tuple[I64, int]], dict[str, Any]], None]
"""Takes query vectors, for each of them an array of rows found and its line there, and the options of the search."""


class Part(NamedTuple):
    """Those queries of a request that agree on how to search."""

    queries: Sequence[Query]
    trace: Trace
    matches: Matches | None
    """What meets their filter, if that was known when they came."""


async def search(
    request: Request,
    batcher: Batcher,
    collection: hubless.Collection,
    queries: Sequence[Query],
    deadline: float,
    observe: Observe,
) -> list[Found]:
    """Answer queries in their order, all or none.

    Parameters
    ----------
    queries : with vectors or stored targets all
    deadline : on the clock of `perf_counter`
    observe : told in the search thread what was found

    Raises
    ------
    Problem
        `too_many_requests`, `deadline_exceeded`.
    InputError
        what the library has against a text, a strength or a parameter, in the words of the request.
    """
    trace = trace_of(request)
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, query in enumerate(queries):
        alike.setdefault(_key(collection, query), []).append(i)
    work = partial(answer, collection, observe)
    futures = []
    answers: list[Found] = [{}] * len(queries)
    try:
        for key, positions in alike.items():
            filter = queries[positions[0]].filter
            matches = None if filter is None else collection.known_matches(filter)
            part = Part([queries[i] for i in positions], trace, matches)
            # that the last one of its kind was cheap says nothing of one whose filter has to be evaluated
            here = filter is None or matches is not None
            whole = here and collection.takes_all_cores(matches)
            how = partial(_on_threads, batcher.threads, work) if whole else work
            futures.append(batcher.submit(trace, deadline, how, part, key, len(positions), here=here, whole=whole))
        for positions, future in zip(alike.values(), futures, strict=True):
            async with watched(request, future):
                found = await future
            for i, one in zip(positions, found, strict=True):
                answers[i] = one
    finally:
        for future in futures:
            future.cancel()  # what is left when one has failed
    return answers


def _on_threads(threads: int, work: Answer, parts: Sequence[Part]) -> Sequence[Any]:
    """Work on as many threads as search, or on more if each search is to use more."""
    with openmp_threads(max(threads, faiss.omp_get_max_threads())):
        return work(parts)


def answer(collection: hubless.Collection, observe: Observe, parts: Sequence[Part]) -> list[list[Found] | Exception]:
    """Ask a collection once for all parts, which agree on how; what is wrong with one fails it alone."""
    queries = [query for part in parts for query in part.queries]
    matches = next((part.matches for part in parts if part.matches), None)
    if matches is None and (filter := queries[0].filter) is not None:
        matches = matches_of(collection, filter, [part.trace for part in parts])
    started = perf_counter()
    by_id = isinstance(queries[0].asked, Stored)
    vectors = None if by_id else np.stack([query.asked for query in queries])
    found = _ask(collection, queries, vectors, matches)
    seconds = perf_counter() - started
    rescoring = sum({id(line[0]): line[0].ranked.rescoring for line in found if isinstance(line, tuple)}.values())
    lines = iter(found)
    outcomes: list[list[Found] | Exception] = []
    for part in parts:
        part.trace.add("search", seconds - rescoring)
        if rescoring:
            part.trace.add("rescore", rescoring)
        own = [next(lines) for _ in part.queries]
        with part.trace.stage("payload"):
            outcomes.append(_all_hits(collection, part.queries, own))
    # what is more like a target is no query of people, and what comes further down is not what they see first
    if vectors is not None and not queries[0].skip:
        _tell(observe, collection, queries, vectors, found)
    return outcomes


def _tell(
    observe: Observe,
    collection: hubless.Collection,
    queries: Sequence[Query],
    vectors: F32,
    found: Sequence[Line | Exception],
) -> None:
    lines = [(line[0].rows, line[1]) for line in found if not isinstance(line, Exception)]
    if len(lines) < len(found):
        vectors = vectors[[not isinstance(line, Exception) for line in found]]
    if lines:
        observe(collection, vectors, lines, _options(queries[0]))


def _options(query: Query) -> dict[str, Any]:
    """What the collection is asked with, beside the vectors; equal for queries of equal keys."""
    return {
        "limit": query.limit,
        "strength": query.strength,
        "parameters": query.parameters,
        "filter": query.filter,
    }


def _more(queries: Sequence[Query]) -> dict[str, Any]:
    """What the collection is asked with in some queries only."""
    ids = [query.asked.id for query in queries if isinstance(query.asked, Stored)]
    more = {"ids": ids, "skip": queries[0].skip, "explain": queries[0].explain}
    return {name: value for name, value in more.items() if value}


def _key(collection: hubless.Collection, query: Query) -> tuple[object, ...]:
    """Equal for queries that one call can answer."""
    parameters = orjson.dumps(query.parameters, option=orjson.OPT_SORT_KEYS) if query.parameters else None
    # with a filter, whether the target itself is among what matches decides how many hits there are
    by_id = isinstance(query.asked, Stored) and (query.asked if query.filter else True)
    return collection, query.limit, query.skip, query.strength, parameters, query.filter, query.explain, by_id


def _ask(
    collection: hubless.Collection, queries: Sequence[Query], vectors: F32 | None, matches: Matches | None
) -> list[Line | Exception]:
    """The line of results of each query, or why it has none; halved until it is known whose fault an error is."""
    first, several = queries[0], len(queries)
    try:
        results = collection.query(vectors, **_options(first) | {"filter": matches}, **_more(queries))
    except Exception as error:
        if several == 1:
            return [_in_words_of(first, error)]
        half = several // 2
        first_half, second_half = (None, None) if vectors is None else (vectors[:half], vectors[half:])
        before = _ask(collection, queries[:half], first_half, matches)
        return before + _ask(collection, queries[half:], second_half, matches)
    return [(results, row) for row in range(several)]


def _all_hits(
    collection: hubless.Collection, queries: Sequence[Query], lines: Sequence[Line | Exception]
) -> list[Found] | Exception:
    """The hits of all queries, or the first reason why one has none."""
    try:
        found = []
        for query, line in zip(queries, lines, strict=True):
            if isinstance(line, Exception):
                return line
            found.append(_found(collection, query, *line))
    except Exception as error:
        return error
    return found


def _found(collection: hubless.Collection, query: Query, results: hubless.Results, row: int) -> Found:
    hits = _hits(collection, query, results, row)
    if results.corrected is None:
        return {"hits": hits}
    return {"hits": hits, "corrected": bool(results.corrected[row])}


def _hits(collection: hubless.Collection, query: Query, results: hubless.Results, row: int) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = [
        {"id": id_, "score": score, "similarity": similarity, "offset": offset}
        for id_, score, similarity, offset in zip(
            results.ids[row],
            results.scores[row].tolist(),
            results.similarities[row].tolist(),
            results.offsets[row].tolist(),
            strict=True,
        )
    ]
    if results.explanations:
        for hit, explanation in zip(hits, results.explanations[row], strict=True):
            hit["explanation"] = explanation
    if query.score_threshold is not None:
        # the hits come best first, so that those which are left are the first rows
        hits = [hit for hit in hits if hit["score"] >= query.score_threshold]
    rows = results.rows[row, : len(hits)]
    add_extras(collection, hits, rows, query.extras)
    return hits


def _in_words_of(query: Query, error: Exception) -> Exception:
    if isinstance(error, InputError):
        return _renamed(error, f"{query.where}{error.parameter}")
    return PointNotFound(f"{query.where}id: {error}") if isinstance(error, PointNotFound) else error


def _renamed(error: InputError, parameter: str) -> InputError:
    return type(error)(parameter, error.expected, error.received)
