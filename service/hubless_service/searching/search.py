"""Search threads: queries that agree on how are searched as one group; stored targets are found by filter and id."""

import asyncio
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from itertools import repeat
from time import perf_counter
from typing import Any, NamedTuple

import faiss
import numpy as np
import orjson

import hubless
from hubless.errors import EngineError, InputError, PointNotFound
from hubless.filters import Filter
from hubless.knn.exhaustive import openmp_threads
from hubless.search.segments.matches import Matches
from hubless_service.http.requests import LikeTarget, Query
from hubless_service.http.responses import NOTHING_BESIDE, FoundHits, StoredTargets, read_beside, stored_targets
from hubless_service.http.trace import Trace, unless_gone
from hubless_service.http.values import NO_EXTRAS, Extras
from hubless_service.searching.work_queue import Answer, WorkQueue


def matches_of(collection: hubless.Collection, filter: Filter, traces: Iterable[Trace]) -> Matches:
    """Return the targets that meet a filter. If it has to be evaluated, that is the stage `filter` of the traces."""
    if known := collection.known_matches(filter):
        return known
    started = perf_counter()
    found = collection.matches(filter)
    seconds = perf_counter() - started
    for trace in traces:
        trace.add("filter", seconds)
    return found


def find_targets(
    collection: hubless.Collection, ids: Sequence[str | int], extras: Extras
) -> tuple[StoredTargets, list[str | int]]:
    """The targets of some ids, in their order; and those ids that no target bears."""
    rows = collection.find(ids)
    found = np.array([row for row in rows if row is not None], np.int64)
    missing = [wanted for wanted, row in zip(ids, rows, strict=True) if row is None]
    return stored_targets(collection, found, extras), missing


def scroll_targets(
    collection: hubless.Collection, start: int, limit: int, filter: Filter | None, extras: Extras, trace: Trace
) -> tuple[StoredTargets, int | None]:
    """The targets from row `start` on, and the row at which the next page begins; None if there are no more."""
    matches = None if filter is None else matches_of(collection, filter, [trace])
    rows = (
        np.arange(start, min(start + limit + 1, collection.count))
        if matches is None
        else matches.page(start, limit + 1)
    )
    return stored_targets(collection, rows[:limit], extras), int(rows[limit]) if len(rows) > limit else None


Line = tuple[hubless.Results | Exception, int]
"""The results that a query is among, and its line there; or its error."""


class QueryGroup(NamedTuple):
    """The queries of a request that agree on how to search, and the targets of their filter, if known beforehand."""

    queries: Sequence[Query]
    trace: Trace
    matches: Matches | None


async def search(
    trace: Trace, queue: WorkQueue, collection: hubless.Collection, queries: Sequence[Query], deadline: float
) -> list[FoundHits]:
    """Answer queries in their order, all or none: those of one key by one call."""
    parts = collection.parts
    alike: dict[Hashable, list[int]] = {}
    for i, query in enumerate(queries):
        alike.setdefault(_key(collection, query), []).append(i)
    futures: list[asyncio.Future[list[FoundHits]]] = []
    answers: dict[int, FoundHits] = {}  # `dict[…]()` would cost as much as ten calls
    try:
        for key, places in alike.items():
            options = queries[places[0]].options
            filter = options.get("filter")
            matches = None if filter is None else collection.known_matches(filter)
            # that the last search of this key was cheap says nothing if the filter has to be evaluated
            inline = (filter is None or matches is not None) and not parts.remote
            exact = options.get("parameters", {}).get("exact") is True
            whole = inline and parts.targets.scope(matches).is_shared(exact=exact)
            answer: Answer = partial(answer_groups, collection)
            if whole:
                answer = partial(_on_threads, queue.threads, answer)
            group = QueryGroup([queries[i] for i in places], trace, matches)
            futures.append(
                queue.submit(trace, deadline, answer, group, key, size=len(places), inline=inline, exclusive=whole)
            )
        for places, future in zip(alike.values(), futures, strict=True):
            found = future.result() if future.done() else await unless_gone(trace, future)
            answers.update(zip(places, found, strict=True))
    finally:
        for future in futures:
            future.cancel()  # if one has failed, nobody waits for the others
    return [answers[i] for i in range(len(queries))]


def _key(collection: hubless.Collection, query: Query) -> tuple[object, ...]:
    """Return a key that is equal for queries that one call can answer."""
    options = query.options
    if "parameters" in options:
        options = options | {"parameters": orjson.dumps(options["parameters"], option=orjson.OPT_SORT_KEYS)}
    # with a filter, the number of hits depends on whether the target itself matches
    by_id = isinstance(query.asked, LikeTarget) and (query.asked if "filter" in options else True)
    return collection, by_id, *options.items()


def _on_threads(threads: int, answer: Answer, groups: Sequence[QueryGroup]) -> Sequence[Any]:
    """Work on as many threads as search, or on more if each search is to use more."""
    with openmp_threads(max(threads, faiss.omp_get_max_threads())):
        return answer(groups)


def answer_groups(collection: hubless.Collection, groups: Sequence[QueryGroup]) -> list[list[FoundHits] | Exception]:
    """Ask for all groups at once; they agree on how. If one query is wrong, only its own group fails."""
    queries = [query for group in groups for query in group.queries]
    filter = queries[0].options.get("filter")
    matches = groups[0].matches  # of all groups, as they agree on the filter
    if filter is not None and matches is None:
        matches = matches_of(collection, filter, [group.trace for group in groups])
    started = perf_counter()
    lines: list[Line] = []
    rescoring = 0.0
    for results, count in _ask(collection, queries, matches):
        lines += zip(repeat(results), range(count))
        rescoring += 0.0 if isinstance(results, Exception) else results.rescoring
    seconds = perf_counter() - started
    outcomes: list[list[FoundHits] | Exception] = []
    first = 0
    for group in groups:
        group.trace.add("search", seconds - rescoring)
        if rescoring:
            group.trace.add("rescore", rescoring)
        after = first + len(group.queries)
        outcomes.append(_found(collection, group, lines[first:after]))
        first = after
    return outcomes


def _ask(
    collection: hubless.Collection, queries: Sequence[Query], matches: Matches | None
) -> list[tuple[hubless.Results | Exception, int]]:
    """Return results, or an error, and how many queries they are about. After an error each half is asked by itself."""
    options = {**queries[0].options, "filter": matches}
    asked: list[Any] = [query.asked for query in queries]
    if isinstance(asked[0], LikeTarget):
        options["ids"] = [each.id for each in asked]
    else:
        options |= {"vectors": np.concatenate(asked), "prepared": True}
    try:
        return [(collection.query(**options), len(queries))]
    except EngineError as error:  # of no query: it would fail as well for each
        return [(error, len(queries))]
    except Exception as error:
        if len(queries) == 1:
            return [(_in_words_of(queries[0], error), 1)]
        half = len(queries) // 2
        return [each for part in (queries[:half], queries[half:]) for each in _ask(collection, part, matches)]


def _found(collection: hubless.Collection, group: QueryGroup, lines: Sequence[Line]) -> list[FoundHits] | Exception:
    """Return the hits of all queries, or the first error."""
    found: list[FoundHits] = []
    for query, (results, line) in zip(group.queries, lines, strict=True):
        if isinstance(results, Exception):
            return results
        count = len(results.ids[line])
        if query.extras is NO_EXTRAS and query.score_threshold is None:
            found.append(FoundHits(results, line, count, NOTHING_BESIDE))
            continue
        rows = results.rows[line][:count]
        if query.score_threshold is not None:
            # hits come best first, so the first of them reach the threshold
            rows = rows[: np.count_nonzero(results.scores[line][:count] >= np.float64(query.score_threshold))]
        began = perf_counter()
        try:
            found.append(FoundHits(results, line, len(rows), read_beside(collection, rows, query.extras)))
        except Exception as error:
            return error
        finally:
            if query.extras is not NO_EXTRAS:
                group.trace.add("payload", perf_counter() - began)
    return found


def _in_words_of(query: Query, error: Exception) -> Exception:
    """Put an error of the library about a query in the words of the request."""
    if isinstance(error, InputError):
        name = error.parameter.replace("parameters", "params", 1)
        return error.about(f"{query.where}{name}")
    return PointNotFound(f"{query.where}id: {error}") if isinstance(error, PointNotFound) else error
