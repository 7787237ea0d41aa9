"""Searching the queries of a request: those that agree on how go to the search threads as one part."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import faiss
import orjson
from fastapi import Request

import hubless
from hubless.knn import openmp_threads
from hubless_service.http.clients import unless_gone
from hubless_service.http.hits import FoundHits
from hubless_service.http.queries import Query, Stored
from hubless_service.http.trace import Trace, trace_of
from hubless_service.searching.asking import Observe, Part, answer_parts
from hubless_service.searching.batching import Batcher
from hubless_service.searching.waiting import Answer, Reply


async def search(
    request: Request,
    batcher: Batcher,
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
    if len(queries) == 1:
        future = _future()
        submit(batcher, trace, collection, queries, deadline, observe, future)
        try:
            return await unless_gone(request, future)
        finally:
            future.cancel()
    alike: dict[tuple[object, ...], list[int]] = {}
    for i, query in enumerate(queries):
        alike.setdefault(_key(collection, query), []).append(i)
    futures: list[asyncio.Future[list[FoundHits]]] = []
    answers: dict[int, FoundHits] = {}
    try:
        for positions in alike.values():
            futures.append(_future())
            asked = [queries[i] for i in positions]
            submit(batcher, trace, collection, asked, deadline, observe, futures[-1])
        for positions, future in zip(alike.values(), futures, strict=True):
            found = await unless_gone(request, future)
            answers.update(zip(positions, found, strict=True))
    finally:
        for future in futures:
            future.cancel()  # if one has failed, nobody waits for the others
    return [answers[i] for i in range(len(queries))]


def _future() -> "asyncio.Future[list[FoundHits]]":
    return asyncio.get_running_loop().create_future()


def submit(
    batcher: Batcher,
    trace: Trace,
    collection: hubless.Collection,
    alike: Sequence[Query],
    deadline: float,
    observe: Observe,
    reply: Reply,
) -> None:
    """Queue queries of one key; as `search`. The reply gets the hits of each."""
    first = alike[0]
    filter = first.filter
    matches = None if filter is None else collection.known_matches(filter)
    # that the last search of this key was cheap says nothing if the filter has to be evaluated
    here = (filter is None or matches is not None) and not collection.remote
    exact = first.parameters is not None and first.parameters.get("exact") is True
    whole = here and collection.takes_all_cores(matches, exact=exact)
    work = partial(answer_parts, collection, observe)
    how = partial(_on_threads, batcher.threads, work) if whole else work
    part = Part(alike, trace, matches)
    key = _key(collection, first)
    batcher.put(reply, trace, deadline, how, part, key, len(alike), here=here, whole=whole)


def _on_threads(threads: int, work: Answer, parts: Sequence[Part]) -> Sequence[Any]:
    """Work on as many threads as search, or on more if each search is to use more."""
    with openmp_threads(max(threads, faiss.omp_get_max_threads())):
        return work(parts)


def _key(collection: hubless.Collection, query: Query) -> tuple[object, ...]:
    """Equal for queries that one call can answer."""
    parameters = orjson.dumps(query.parameters, option=orjson.OPT_SORT_KEYS) if query.parameters else None
    # with a filter, the number of hits depends on whether the target itself matches
    by_id = isinstance(query.asked, Stored) and (query.asked if query.filter else True)
    return collection, query.limit, query.skip, query.strength, parameters, query.filter, query.explain, by_id
