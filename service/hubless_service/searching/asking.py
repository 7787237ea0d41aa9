"""Asking a collection, in a search thread: queries that agree on how to search, of several requests, in one call."""

from collections.abc import Callable, Sequence
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless.errors import EngineError, InputError, PointNotFound
from hubless.search.matches import Matches
from hubless.vectors.arrays import F32, I64
from hubless_service.http.hits import NOTHING_BESIDE, FoundHits, read_beside
from hubless_service.http.queries import Query, Stored
from hubless_service.http.trace import Trace
from hubless_service.http.values import NO_EXTRAS
from hubless_service.searching.filtering import matches_of

Observe = Callable[[hubless.Collection, F32, Sequence[tuple[I64, int]], dict[str, Any]], None]
"""Takes query vectors, for each of them an array of rows found and its line there, and the options of the search."""


class Part(NamedTuple):
    """Those queries of a request that agree on how to search.

    Attributes
    ----------
    matches : what meets their filter, if that was known when they came
    """

    queries: Sequence[Query]
    trace: Trace
    matches: Matches | None


class Line(NamedTuple):
    """Where the results of one query stand."""

    results: hubless.Results
    row: int


def answer_parts(
    collection: hubless.Collection, observe: Observe, parts: Sequence[Part]
) -> list[list[FoundHits] | Exception]:
    """Ask for all parts at once; they agree on how. If one query is wrong, only its own part fails."""
    queries = [query for part in parts for query in part.queries]
    matches = next((part.matches for part in parts if part.matches), None)
    if matches is None and (filter := queries[0].filter) is not None:
        matches = matches_of(collection, filter, [part.trace for part in parts])
    started = perf_counter()
    by_id = isinstance(queries[0].asked, Stored)
    vectors = None if by_id else np.concatenate([query.asked for query in queries])
    lines = _lines(collection, queries, vectors, matches)
    _note_times(parts, perf_counter() - started, lines)
    rest = iter(lines)
    outcomes: list[list[FoundHits] | Exception] = []
    for part in parts:
        began = perf_counter()
        outcomes.append(_found(collection, part.queries, list(islice(rest, len(part.queries)))))
        part.trace.add("payload", perf_counter() - began)
    # find-similar queries and later pages do not come from what users ask for
    if vectors is not None and not queries[0].skip:
        _tell(observe, collection, queries[0], vectors, lines)
    return outcomes


def _lines(
    collection: hubless.Collection, queries: Sequence[Query], vectors: F32 | None, matches: Matches | None
) -> list[Line | Exception]:
    """The line of results of each query, or why it has none. After an error each half is asked by itself."""
    first = queries[0]
    more: dict[str, Any] = {name: value for name, value in (("skip", first.skip), ("explain", first.explain)) if value}
    if vectors is None:
        more["ids"] = [query.asked.id for query in queries if isinstance(query.asked, Stored)]
    else:
        more["prepared"] = True
    try:
        results = collection.query(
            vectors, first.limit, first.strength, parameters=first.parameters, filter=matches, **more
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
    return [Line(results, row) for row in range(len(queries))]


def _note_times(parts: Sequence[Part], seconds: float, lines: Sequence[Line | Exception]) -> None:
    rankings = {id(line.results): line.results.ranked for line in lines if isinstance(line, Line)}
    rescoring = sum(ranked.rescoring for ranked in rankings.values())
    for part in parts:
        part.trace.add("search", seconds - rescoring)
        if rescoring:
            part.trace.add("rescore", rescoring)


def _found(
    collection: hubless.Collection, queries: Sequence[Query], lines: Sequence[Line | Exception]
) -> list[FoundHits] | Exception:
    """What all queries found, or the first reason why one found nothing."""
    found = list[FoundHits]()
    for query, line in zip(queries, lines, strict=True):
        if isinstance(line, Exception):
            return line
        if query.extras is NO_EXTRAS and query.score_threshold is None:
            found.append(FoundHits(*line, line.results.rows.shape[1], NOTHING_BESIDE))
            continue
        rows = line.results.rows[line.row]
        if query.score_threshold is not None:
            # hits come best first, so the first of them reach the threshold
            rows = rows[: np.count_nonzero(line.results.scores[line.row] >= np.float64(query.score_threshold))]
        try:
            found.append(FoundHits(*line, len(rows), read_beside(collection, rows, query.extras)))
        except Exception as error:
            return error
    return found


def _tell(
    observe: Observe, collection: hubless.Collection, how: Query, vectors: F32, lines: Sequence[Line | Exception]
) -> None:
    good = [line for line in lines if isinstance(line, Line)]
    if len(good) < len(lines):
        vectors = vectors[[isinstance(line, Line) for line in lines]]
    if good:
        options = {
            "limit": how.limit,
            "strength": good[0].results.strength,
            "parameters": how.parameters,
            "filter": how.filter,
            "prepared": True,
        }
        observe(collection, vectors, [(line.results.rows, line.row) for line in good], options)


def _in_words_of(query: Query, error: Exception) -> Exception:
    """An error of the library about a query, in the words of the request."""
    if isinstance(error, InputError):
        name = error.parameter.replace("parameters", "params", 1)
        return type(error)(f"{query.where}{name}", error.expected, error.received)
    return PointNotFound(f"{query.where}id: {error}") if isinstance(error, PointNotFound) else error
