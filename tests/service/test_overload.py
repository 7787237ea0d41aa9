"""More requests than can be answered: they wait together, up to a number and for a time, and are told at once."""

import asyncio
import contextlib
import json
import re
import socket
import threading
import time

import httpx
import pytest
from support import catalogs, raw
from support.contract import code_of, gauges
from support.until import until

from hubless_service.http.connection import Connection
from hubless_service.http.problems import PROBLEM_TYPES

QUERY = "/v1/collections/words/query"
BATCH = "/v1/collections/words/query/batch"
ASK = {"text": "amber"}
VECTORS = catalogs.words().query_bank


class Held:
    """Like a collection; each call of `query` waits until `free` is set. `asked` has the size of each."""

    def __init__(self, collection, *, free=False):
        self._collection = collection
        self.free = threading.Event()
        self.begun = threading.Semaphore(0)  # one for each call that has begun
        self.asked = []
        if free:
            self.free.set()

    def __getattr__(self, name):
        return getattr(self._collection, name)

    def check_canaries(self):
        pass

    def query(self, vectors, *arguments, **options):
        self.asked.append(len(vectors))
        self.begun.release()
        assert self.free.wait(20)
        return self._collection.query(vectors, *arguments, **options)


@pytest.fixture
def held(words):
    collection = Held(words)
    yield collection
    collection.free.set()


def waiting(client):
    """How many queries are queued, as /metrics says."""
    return gauges(client, "hubless_(waiting_queries)")["waiting_queries"]


def refused(answer, code):
    assert code_of(answer) == (PROBLEM_TYPES[code].status, code)
    assert ("retry-after" in answer.headers) == (code == "too_many_requests")


@contextlib.asynccontextmanager
async def occupied(held, client, bodies):
    """One request that is being searched, and others that wait in this order: an async client and the tasks."""
    async with httpx.AsyncClient(base_url=client.base_url, timeout=30) as several:
        tasks = [asyncio.create_task(several.post(QUERY, json=ASK))]
        await asyncio.to_thread(held.begun.acquire)
        for number, body in enumerate(bodies, 1):
            tasks.append(asyncio.create_task(several.post(QUERY, json=body)))
            await until_waiting(client, number)
        yield several, tasks


async def until_waiting(client, count):
    while await asyncio.to_thread(waiting, client) != count:
        await asyncio.sleep(0.005)


def answers_to(held, client, bodies):
    """The answers to the request that is being searched, and to those that wait for it."""

    async def ask():
        async with occupied(held, client, bodies) as (_, tasks):
            held.free.set()
            return await asyncio.gather(*tasks)

    return asyncio.run(ask())


def served_answers(serve, held, bodies):
    with serve({"words": held}, search_threads=1) as (client, _):
        return answers_to(held, client, bodies)


def test_requests_that_come_while_one_is_searched_go_together(serve, held):
    bodies = [{"vector": vector.tolist()} for vector in VECTORS[:8]]
    with serve({"words": held}, search_threads=1) as (client, _):
        answers = answers_to(held, client, bodies)
        assert held.asked == [1, 8]
        for body, answer in zip(bodies, answers[1:], strict=True):
            alone = client.post(QUERY, json=body).json()["hits"]
            assert [hit["id"] for hit in answer.json()["hits"]] == [hit["id"] for hit in alone]


def test_requests_that_differ_in_how_to_search_go_apart(serve, held):
    bodies = [{"limit": 3}, {"limit": 4}, {"limit": 3, "with": ["payload"]}, {"strength": 0}, {"filter": {"rank": 7}}]
    answers = served_answers(serve, held, [ASK | body for body in bodies])
    assert held.asked == [1, 2, 1, 1, 1]
    assert [len(answer.json()["hits"]) for answer in answers] == [10, 3, 4, 3, 10, 1]
    assert ["payload" in answer.json()["hits"][0] for answer in answers] == [False, False, False, True, False, False]


def test_wrong_request_does_not_fail_those_that_go_with_it(serve, held):
    answers = served_answers(serve, held, [ASK, ASK | {"params": {"ef": 5}}, ASK])
    assert [answer.status_code for answer in answers] == [200, 200, 422, 200]
    assert answers[2].json()["code"] == "invalid_input"


def test_query_that_breaks_a_search_fails_alone(serve, words, monkeypatch):
    """As one of which the products are infinite, or one that Faiss cannot stand."""
    held, ask = Held(words), words.query

    def query(vectors, *arguments, **options):
        if any((vector == VECTORS[7]).all() for vector in vectors):
            raise RuntimeError("poisoned")
        return ask(vectors, *arguments, **options)

    monkeypatch.setattr(words, "query", query)
    answers = served_answers(serve, held, [{"vector": vector.tolist()} for vector in VECTORS[:12]])
    assert [answer.status_code for answer in answers] == [200] * 8 + [500] + [200] * 4


@pytest.mark.parametrize(("path", "body"), [(QUERY, ASK), (BATCH, {"queries": [ASK] * 3})])
def test_full_queue_refuses_at_once_single_and_batch_alike(serve, held, path, body):
    with serve({"words": held}, search_threads=1, max_waiting=3) as (client, _):

        async def ask():
            async with occupied(held, client, [ASK] * 3) as (several, tasks):
                late = await several.post(path, json=body)
                point = await several.get("/v1/collections/words/points/target-50")
                assert not any(task.done() for task in tasks)
                held.free.set()
                return late, point, await asyncio.gather(*tasks)

        late, point, others = asyncio.run(ask())
        refused(late, "too_many_requests")
        refused(point, "too_many_requests")
        assert [answer.status_code for answer in others] == [200] * 4
        assert client.post(path, json=body).status_code == 200


def test_request_that_would_wait_too_long_is_refused_unread_unless_it_names_its_time(serve, held):
    patient = {"timeout_ms": 20_000}
    with serve({"words": held}, search_threads=1, default_timeout_ms=1000) as (client, _):

        def status_of(body):
            whole = json.dumps(body).encode()
            head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(whole)}"
            with socket.create_connection((client.base_url.host, client.base_url.port)) as connection:
                connection.sendall(head.encode() + b"\r\n\r\n" + whole)
                return int(connection.recv(2**16)[9:12])

        async def ask():
            async with occupied(held, client, [ASK | patient]) as (_, tasks):
                await asyncio.sleep(0.4)
                found = [await asyncio.to_thread(status_of, body) for body in ({"vector": 3}, {"vector": 3} | patient)]
                held.free.set()
                await asyncio.gather(*tasks)
                return found

        assert asyncio.run(ask()) == [429, 422]


@pytest.mark.parametrize(("path", "body"), [(QUERY, ASK), (BATCH, {"queries": [{"text": "cedar"}, ASK]})])
def test_request_whose_time_is_over_gets_504_and_is_not_searched(serve, held, path, body):
    def hurried(query):
        return {**query, "timeout_ms": 50}

    body = {"queries": [body["queries"][0], hurried(body["queries"][1])]} if "queries" in body else hurried(body)
    with serve({"words": held}, search_threads=1) as (client, _):

        async def ask():
            async with occupied(held, client, []) as (several, tasks):
                hurry = await several.post(path, json=body)
                assert not tasks[0].done()
                held.free.set()
                return hurry, await tasks[0]

        hurry, other = asyncio.run(ask())
        refused(hurry, "deadline_exceeded")
        assert other.status_code == 200
        assert client.post(QUERY, json=ASK).status_code == 200
        assert held.asked == [1, 1]


def test_queries_of_clients_that_hung_up_are_not_searched(serve, held):
    with serve({"words": held}, search_threads=1) as (client, _):

        async def ask():
            async with occupied(held, client, []) as (several, tasks):
                async with httpx.AsyncClient(base_url=client.base_url, timeout=30) as impatient:
                    gone = [asyncio.create_task(impatient.post(QUERY, json=ASK)) for _ in range(20)]
                    await until_waiting(client, 20)
                    for task in gone:
                        task.cancel()
                    await asyncio.gather(*gone, return_exceptions=True)
                while 'status="499"} 20.0' not in (await several.get("/metrics")).text:
                    await asyncio.sleep(0.01)
                held.free.set()
                return await tasks[0]

        assert asyncio.run(ask()).status_code == 200
        assert client.post(QUERY, json=ASK).status_code == 200
        assert held.asked == [1, 1]


def test_limits_that_add_up_to_too_many_hits_get_422(serve, words):
    with serve({"words": words}, max_batch_hits=30) as (client, _):
        assert client.post(BATCH, json={"queries": [ASK] * 3}).status_code == 200
        binary = {"content": VECTORS[:4].tobytes(), "headers": {"content-type": "application/octet-stream"}}
        for answer in (
            client.post(BATCH, json={"queries": [ASK, {**ASK, "limit": 21}]}),
            client.post(BATCH, **binary),
        ):
            refused(answer, "invalid_input")
            assert answer.json()["expected"] == "limits and skips that add up to at most 30"


@pytest.mark.parametrize("asked", [ASK, {"vector": VECTORS[0].tolist()}], ids=["text", "vector"])
def test_time_that_a_request_waits_behind_another_of_its_connection_counts(serve, held, asked):
    head = "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}"
    patient, hasty = json.dumps(ASK), json.dumps(asked | {"timeout_ms": 100})
    with serve({"words": held}, search_threads=1) as (client, _):
        address = client.base_url.host, client.base_url.port
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(head.format(QUERY, len(patient), patient).encode())
            assert held.begun.acquire(timeout=20)
            connection.sendall(head.format(QUERY, len(hasty), hasty).encode())
            time.sleep(0.3)
            held.free.set()
            answers = b""
            while answers.count(b"HTTP/1.1 ") < 2:
                answers += connection.recv(2**16)
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"429"]
    assert held.asked == [1]


@pytest.mark.parametrize("workers", [1, 2])
def test_connections_that_wait_are_taken_together_unless_other_workers_are_to_get_some(
    serve, words, monkeypatch, workers
):
    """Under load a round is long, and a wait for it is seen by no clock of the service."""
    there, rounds, taken = threading.Event(), [], []
    made = Connection.connection_made

    def count(loop):
        there.wait(20)
        rounds.append(loop)
        if len(taken) < 12:
            loop.call_soon(count, loop)

    def connection_made(self, transport):
        made(self, transport)
        taken.append(len(rounds))
        if len(taken) == 1:
            count(asyncio.get_running_loop())

    with serve({"words": words}, workers=workers) as (client, _), contextlib.ExitStack() as opened:
        monkeypatch.setattr(Connection, "connection_made", connection_made)
        for _ in range(12):
            opened.enter_context(raw.connect(client.base_url))
        there.set()
        until(lambda: len(taken) == 12)
    assert (len(set(taken)) <= 3) == (workers == 1)
