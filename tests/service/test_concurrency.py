"""Many clients at once get what each would get alone."""

import asyncio
import os
import sys
import threading

import faiss
import httpx
import numpy as np
import pytest
from support import catalogs

import hubless
from hubless.knn import exhaustive

QUERY = "/v1/collections/words/query"
REQUESTS = [
    {"vector": vector.tolist(), "limit": 1 + i % 7, "strength": (i % 5) / 2}
    for i, vector in enumerate(catalogs.words().query_bank[:60])
]
REQUESTS += [{"text": " ".join(catalogs.words_of(i)), "with": ["payload"]} for i in range(30)]


async def ask_all(server, requests, connections):
    limits = httpx.Limits(max_connections=connections)
    async with httpx.AsyncClient(base_url=server, limits=limits, timeout=60) as client:
        return await asyncio.gather(*(client.post(QUERY, json=body) for body in requests))


def test_parallel_queries_get_the_same_answers_as_alone(http, server):
    alone = [http.post(QUERY, json=body).json() for body in REQUESTS]
    together = asyncio.run(ask_all(server, REQUESTS * 2, 32))
    for answer, expected in zip(together, alone * 2, strict=True):
        hits, wanted = answer.json()["hits"], expected["hits"]
        assert [hit["id"] for hit in hits] == [hit["id"] for hit in wanted]
        # a large batch is summed in another order: the last bits may differ
        assert [hit["score"] for hit in hits] == pytest.approx([hit["score"] for hit in wanted], abs=1e-6)
        assert [hit.get("payload") for hit in hits] == [hit.get("payload") for hit in wanted]


@pytest.fixture
def shared(catalog, monkeypatch):
    """A collection that counts as large enough for several threads to do their part of one search."""
    monkeypatch.setattr(exhaustive, "PART_BYTES", 4 * 16 * 20)
    return hubless.open(catalog, "words")


def threads_used(collection, monkeypatch):
    """A set that gets how many threads each search of a collection may use."""
    used, ask = set(), collection.query
    monkeypatch.setattr(
        collection, "query", lambda *given, **options: used.add(faiss.omp_get_max_threads()) or ask(*given, **options)
    )
    return used


@pytest.mark.parametrize(("search_threads", "openmp_threads", "expected"), [(3, 1, 3), (1, 2, 2)])
@pytest.mark.parametrize("filter", [None, {"field": "rank", "lt": 200}], ids=["all", "most"])
def test_search_that_takes_all_threads_gives_the_same_answers(
    serve, shared, monkeypatch, search_threads, openmp_threads, expected, filter
):
    requests = [{**body, "filter": filter} if filter else body for body in REQUESTS[::2]]
    assert shared.parts.targets.scope(None).is_shared()
    used = threads_used(shared, monkeypatch)
    with serve({"words": shared}, search_threads=search_threads, openmp_threads=openmp_threads, hubness=False) as (
        client,
        _,
    ):
        alone = [client.post(QUERY, json=body).json()["hits"] for body in requests]
        used.clear()
        together = asyncio.run(ask_all(str(client.base_url), requests, 32))
    for answer, expected_hits in zip(together, alone, strict=True):
        assert [hit["id"] for hit in answer.json()["hits"]] == [hit["id"] for hit in expected_hits]
    assert used == {expected}


@pytest.mark.parametrize(("parameters", "expected"), [({"exact": True}, 3), (None, 1)])
def test_exact_query_is_searched_by_all_threads(serve, tmp_path, monkeypatch, parameters, expected):
    targets, bank = np.split(np.random.default_rng(0).standard_normal((1360, 14), np.float32), [1300])
    hubless.build(tmp_path, "words", targets, bank, correction="none", index="fastscan", progress=False)
    monkeypatch.setattr(exhaustive, "PART_BYTES", 4 * 16 * 20)
    collection = hubless.open(tmp_path, "words")
    used = threads_used(collection, monkeypatch)
    body = {"vector": targets[0].tolist()} | ({"params": parameters} if parameters else {})
    with serve({"words": collection}, search_threads=3, hubness=False) as (client, _):
        used.clear()
        assert client.post(QUERY, json=body).json()["hits"][0]["id"] == 0
    assert used == {expected}


def test_parallel_requests_keep_their_own_ids_and_errors(server):
    async def ask():
        async with httpx.AsyncClient(base_url=server, timeout=60) as client:
            bodies = [{"text": "amber"} if i % 3 else {"text": "zzz"} for i in range(90)]
            return await asyncio.gather(
                *(client.post(QUERY, json=body, headers={"x-request-id": f"r{i}"}) for i, body in enumerate(bodies))
            )

    for i, answer in enumerate(asyncio.run(ask())):
        assert answer.headers["x-request-id"] == f"r{i}"
        assert answer.status_code == (200 if i % 3 else 422)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no priority of their own")
def test_threads_that_open_versions_go_behind_those_that_search(serve, words, monkeypatch):
    seen = {}
    ask = words.query

    def priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def look(vectors, *arguments, **options):
        seen["searching"] = priority()
        return ask(vectors, *arguments, **options)

    before = os.getpriority(os.PRIO_PROCESS, os.getpid())
    monkeypatch.setattr(words, "check_canaries", lambda: seen.update(opening=priority()))
    monkeypatch.setattr(words, "query", look)
    with serve({"words": words}) as (client, _):
        assert client.post(QUERY, json={"text": "amber"}).status_code == 200
    assert seen == {"searching": before, "opening": min(before + 5, 19)}
