"""Searching the queries of a request: those that agree on how go to the search threads as one group."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import faiss
import numpy as np
import orjson
from fastapi import Request

import hubless
from hubless.errors import EngineError, InputError, PointNotFound
from hubless.knn import openmp_threads
from hubless.search.matches import Matches
from hubless.vectors.arrays import F32, I64
from hubless_service.http.hits import NOTHING_BESIDE, FoundHits, read_beside
from hubless_service.http.queries import LikeTarget, Query
from hubless_service.http.trace import Trace, trace_of, unless_gone
from hubless_service.http.values import NO_EXTRAS
from hubless_service.searching.lookups import matches_of
from hubless_service.searching.work_queue import Answer, WorkQueue

Observe = Callable[[hubless.Collection, F32, Sequence[tuple[I64, int]], dict[str, Any]], None]
"""Takes query vectors, for each of them an array of rows found and its line there, and the options of the search."""


class QueryGroup(NamedTuple):
    """The queries of a request that agree on how to search, and the targets of their filter, if known beforehand."""

    queries: Sequence[Query]
    trace: Trace
    matches: Matches | None


class ResultLine(NamedTuple):
    """The place of the results of one query."""

    results: hubless.Results
    row: int


async def search(
    request: Request,
    queue: WorkQueue,
    collection: hubless.Collection,
    queries: Sequence[Query],
    deadline: float,
    observe: Observe,
) -> list[FoundHits]:
    """Answer queries in their order, all or none.

    Parameters
    ----------
    queries : of vectors and stored targets; texts are encoded already
    deadline : on the clock of `perf_counter`
    observe : told in the search thread what was found

    Raises
    ------
    HttpProblem
        `too_many_requests`, `deadline_exceeded`.
    InputError
        what the library has against a query, in the words of the request.
    """
    trace = trace_of(request)
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, query in enumerate(queries):
        alike.setdefault(_key(collection, query), []).append(i)
    futures: list[asyncio.Future[Any]] = []
    answers: dict[int, FoundHits] = {}
    try:
        futures.extend(
            _submit(queue, trace, collection, [queries[i] for i in positions], deadline, observe)
            for positions in alike.values()
        )
        for positions, future in zip(alike.values(), futures, strict=True):
            answers.update(zip(positions, await unless_gone(request, future), strict=True))
    finally:
        for future in futures:
            future.cancel()  # if one has failed, nobody waits for the others
    return [answers[i] for i in range(len(queries))]


def _submit(
    queue: WorkQueue,
    trace: Trace,
    collection: hubless.Collection,
    queries: Sequence[Query],
    deadline: float,
    observe: Observe,
) -> "asyncio.Future[Any]":
    """Queue queries of one key. Return a future of the hits of each."""
    first = queries[0]
    matches = None if first.filter is None else collection.known_matches(first.filter)
    # that the last search of this key was cheap says nothing if the filter has to be evaluated
    inline = (first.filter is None or matches is not None) and not collection.parts.remote
    exact = first.parameters is not None and first.parameters.get("exact") is True
    exclusive = inline and collection.parts.targets.is_shared(matches, exact=exact)
    answer: Answer = partial(answer_groups, collection, observe)
    if exclusive:
        answer = partial(_on_threads, queue.threads, answer)
    group, key = QueryGroup(queries, trace, matches), _key(collection, first)
    return queue.submit(trace, deadline, answer, group, key, size=len(queries), inline=inline, exclusive=exclusive)


def _on_threads(threads: int, answer: Answer, groups: Sequence[QueryGroup]) -> Sequence[Any]:
    """Work on as many threads as search, or on more if each search is to use more."""
    with openmp_threads(max(threads, faiss.omp_get_max_threads())):
        return answer(groups)


def _key(collection: hubless.Collection, query: Query) -> tuple[object, ...]:
    """Return a key that is equal for queries that one call can answer."""
    parameters = orjson.dumps(query.parameters, option=orjson.OPT_SORT_KEYS) if query.parameters else None
    # with a filter, the number of hits depends on whether the target itself matches
    by_id = isinstance(query.asked, LikeTarget) and (query.asked if query.filter else True)
    return (
        collection,
        query.limit,
        query.skip,
        query.strength,
        parameters,
        query.filter,
        query.explain,
        by_id,
        query.group_by,
        query.diversity,
        query.min_confidence,
        query.min_presence,
    )


def answer_groups(
    collection: hubless.Collection, observe: Observe, groups: Sequence[QueryGroup]
) -> list[list[FoundHits] | Exception]:
    """Ask for all groups at once; they agree on how. If one query is wrong, only its own group fails."""
    queries = [query for group in groups for query in group.queries]
    traces = [group.trace for group in groups]
    matches = next((group.matches for group in groups if group.matches), None)
    if matches is None and (filter := queries[0].filter) is not None:
        matches = matches_of(collection, filter, traces)
    started = perf_counter()
    by_id = isinstance(queries[0].asked, LikeTarget)
    vectors = None if by_id else np.concatenate([query.asked for query in queries])
    lines = _lines(collection, queries, vectors, matches)
    _note_times(traces, perf_counter() - started, lines)
    rest = iter(lines)
    outcomes: list[list[FoundHits] | Exception] = []
    for group in groups:
        began = perf_counter()
        outcomes.append(_found(collection, group.queries, list(islice(rest, len(group.queries)))))
        group.trace.add("payload", perf_counter() - began)
    # find-similar queries and later pages do not come from what users ask for, and chosen hits not from the ranking
    if vectors is not None and not queries[0].skip and not queries[0].is_chosen:
        _tell(observe, collection, queries[0], vectors, lines)
    return outcomes


def _lines(
    collection: hubless.Collection, queries: Sequence[Query], vectors: F32 | None, matches: Matches | None
) -> list[ResultLine | Exception]:
    """Return the line of results of each query, or its error. After an error each half is asked by itself."""
    first = queries[0]
    options: dict[str, Any] = {"prepared": True}
    if vectors is None:
        options = {"ids": [query.asked.id for query in queries if isinstance(query.asked, LikeTarget)]}
    names = ("skip", "explain", "group_by", "diversity", "min_confidence", "min_presence")
    options |= {name: value for name in names if (value := getattr(first, name)) not in (None, 0)}
    try:
        results = collection.query(
            vectors, first.limit, first.strength, parameters=first.parameters, filter=matches, **options
        )
    except EngineError as error:  # of no query: it would fail as well for each
        return [error] * len(queries)
    except Exception as error:
        if len(queries) == 1:
            return [_in_words_of(first, error)]
        half = len(queries) // 2
        return [
            *_lines(collection, queries[:half], None if vectors is None else vectors[:half], matches),
            *_lines(collection, queries[half:], None if vectors is None else vectors[half:], matches),
        ]
    return [ResultLine(results, row) for row in range(len(queries))]


def _note_times(traces: Sequence[Trace], seconds: float, lines: Sequence[ResultLine | Exception]) -> None:
    rankings = {id(line.results): line.results.ranked for line in lines if isinstance(line, ResultLine)}
    rescoring = sum(ranked.rescoring for ranked in rankings.values())
    for trace in traces:
        trace.add("search", seconds - rescoring)
        if rescoring:
            trace.add("rescore", rescoring)


def _found(
    collection: hubless.Collection, queries: Sequence[Query], lines: Sequence[ResultLine | Exception]
) -> list[FoundHits] | Exception:
    """Return the hits of all queries, or the first error."""
    found = list[FoundHits]()
    for query, line in zip(queries, lines, strict=True):
        if isinstance(line, Exception):
            return line
        if query.extras is NO_EXTRAS and query.score_threshold is None:
            found.append(FoundHits(*line, len(line.results.ids[line.row]), NOTHING_BESIDE))
            continue
        rows = line.results.rows[line.row][: len(line.results.ids[line.row])]
        if query.score_threshold is not None:
            # hits come best first, so the first of them reach the threshold
            scores = line.results.scores[line.row][: len(rows)]
            rows = rows[: np.count_nonzero(scores >= np.float64(query.score_threshold))]
        try:
            found.append(FoundHits(*line, len(rows), read_beside(collection, rows, query.extras)))
        except Exception as error:
            return error
    return found


def _tell(
    observe: Observe, collection: hubless.Collection, how: Query, vectors: F32, lines: Sequence[ResultLine | Exception]
) -> None:
    good = [line for line in lines if isinstance(line, ResultLine)]
    if not good:
        return
    if len(good) < len(lines):
        vectors = vectors[[isinstance(line, ResultLine) for line in lines]]
    options = {
        "limit": how.limit,
        "strength": good[0].results.strength,
        "parameters": how.parameters,
        "filter": how.filter,
        "prepared": True,
    }
    observe(collection, vectors, [(line.results.rows, line.row) for line in good], options)


def _in_words_of(query: Query, error: Exception) -> Exception:
    """Put an error of the library about a query in the words of the request."""
    if isinstance(error, InputError):
        name = error.parameter.replace("parameters", "params", 1)
        return type(error)(f"{query.where}{name}", error.expected, error.received)
    return PointNotFound(f"{query.where}id: {error}") if isinstance(error, PointNotFound) else error
