"""Under load, queries for which there is no room are refused as they are read, as the app would refuse them."""

import asyncio
import json
import logging
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from support import catalogs
from support.held import Held

from hubless_service.observing.middleware import Observe

QUERY = "/v1/collections/words/query"
BATCH = "/v1/collections/words/query/batch"
ASK = {"text": "amber"}
VECTOR = catalogs.words().query_bank[0]
BINARY = {"content": VECTOR.tobytes(), "headers": {"content-type": "application/octet-stream"}}
LONG = {"timeout_ms": 60_000}
MANY = 20


@pytest.fixture
def held(words):
    collection = Held(words)
    yield collection
    collection.free.set()


@pytest.fixture
def reached(monkeypatch):
    """The paths of the requests that came to the app."""
    paths, call = [], Observe.__call__

    async def counted(self, scope, receive, send):
        paths.append(scope.get("path"))
        await call(self, scope, receive, send)

    monkeypatch.setattr(Observe, "__call__", counted)
    return paths


def waiting(client):
    """How many queries are queued."""
    return int(float(re.search(r"^hubless_waiting_queries (.+)$", client.get("/metrics").text, re.MULTILINE)[1]))


@contextmanager
def busy(serve, held, **settings):
    """A client of a server on which one query is searched, and others wait that have the time."""
    with serve({"words": held}, search_threads=1, default_timeout_ms=1500, **settings) as (client, _):

        async def run(work):
            async with httpx.AsyncClient(base_url=client.base_url, timeout=60) as several:
                posts = [asyncio.create_task(several.post(QUERY, json={**ASK, **LONG}))]
                await asyncio.to_thread(held.begun.acquire)
                posts += [asyncio.create_task(several.post(QUERY, json={**ASK, **LONG})) for _ in range(MANY)]
                while await asyncio.to_thread(waiting, client) < MANY:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.6)  # who has 1.5 seconds does not wait for more than 0.45 of them
                try:
                    return await asyncio.to_thread(work, client)
                finally:
                    held.free.set()
                    assert {answer.status_code for answer in await asyncio.gather(*posts)} == {200}

        yield client, lambda work: asyncio.run(run(work))


@pytest.mark.parametrize(
    ("path", "body"), [(QUERY, {"json": ASK}), (QUERY, BINARY), (BATCH, {"json": {"queries": [ASK]}}), (BATCH, BINARY)]
)
def test_answer_is_that_of_the_app(serve, held, reached, path, body):
    def ask(client):
        before = len(reached)
        early = client.post(path, **{**body, "headers": {**body.get("headers", {}), "x-request-id": "mine"}})
        assert len(reached) == before
        # one that the app refuses, as its connection is not to stay
        usual = client.post(path, **{**body, "headers": {**body.get("headers", {}), "connection": "close"}})
        assert len(reached) == before + 1
        return early, usual

    with busy(serve, held) as (_, during):
        early, usual = during(ask)
    assert early.status_code == usual.status_code == 429
    assert early.headers["x-request-id"] == early.json()["request_id"] == "mine"
    assert early.headers["retry-after"] == "1"
    assert set(usual.headers) - set(early.headers) == {"connection"}
    for name in set(early.headers) - {"x-request-id", "server-timing", "date", "content-length"}:
        assert early.headers[name] == usual.headers[name]
    varying = {"request_id", "detail"}
    assert {k: v for k, v in early.json().items() if k not in varying} == {
        k: v for k, v in usual.json().items() if k not in varying
    }
    assert re.match(r"It would wait for about [\d.]+ seconds", early.json()["detail"])


def test_it_is_counted_and_logged_like_any_other(serve, held, reached, caplog):
    caplog.set_level(logging.INFO, "hubless.requests")
    counted = (
        r'hubless_requests_total\{.*method="POST".*route="/v1/collections/{collection}/query".*status="429".*\} (\d+)'
    )

    def ask(client):
        before = len(reached)
        client.post(QUERY, json=ASK, headers={"x-request-id": "counted"})
        assert len(reached) == before
        return client.get("/metrics").text

    with busy(serve, held) as (_, during):
        page = during(ask)
    assert re.search(counted, page), [line for line in page.splitlines() if "requests_total" in line]
    (record,) = [record for record in caplog.records if "id=counted" in record.getMessage()]
    assert record.fields["code"] == "too_many_requests"
    assert record.fields["route"] == "/v1/collections/{collection}/query"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (QUERY, {"json": {**ASK, **LONG}}),
        (QUERY, {**BINARY, "params": LONG}),
        (BATCH, {"json": {"queries": [{**ASK, **LONG}]}}),
    ],
)
def test_who_brings_a_time_of_his_own_is_heard(serve, held, reached, path, body):
    def ask(client):
        held.free.set()
        return client.post(path, **body)

    with busy(serve, held) as (_, during):
        assert during(ask).status_code == 200


def test_other_requests_are_not_held_up(serve, held, reached):
    def ask(client):
        return [
            client.get("/livez").status_code,
            client.post("/v1/collections/words/count", json={}).status_code,
            client.post("/v1/nothing", json={}).status_code,
            client.post("/v1/collections/words/query/more", json={}).status_code,
        ]

    with busy(serve, held) as (_, during):
        assert during(ask) == [200, 200, 404, 404]


def test_pages_of_an_origin_that_is_let_in_can_read_the_refusal(serve, held, reached):
    origin = "https://shop.example"

    def ask(client):
        return client.post(QUERY, json=ASK, headers={"origin": origin})

    with busy(serve, held, cors_origins=origin) as (_, during):
        answer = during(ask)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (429, origin)


def request(body, path=QUERY, extra=b""):
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n"
    return head % (path.encode(), extra, len(body)) + body


def answers_of(connection, count):
    """So many answers of a connection, with their bodies."""
    received, found = b"", []
    while len(found) < count:
        head, end, rest = received.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head.lower())[1]) if end else 0
        if not end or len(rest) < length:
            received += connection.recv(2**16) or pytest.fail(f"closed after {received!r}")
            continue
        found.append((int(head[9:12]), json.loads(rest[:length])))
        received = rest[length:]
    return found


@pytest.fixture
def connection():
    """A function that connects to a client's server."""
    opened = []

    def connect(client):
        opened.append(socket.create_connection((client.base_url.host, client.base_url.port), timeout=20))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def test_connection_stays_for_the_next_request(serve, held, reached, connection):
    body = json.dumps(ASK).encode()

    def ask(client):
        line = connection(client)
        line.sendall(request(body))
        (refused,) = answers_of(line, 1)
        line.sendall(request(body) + request(body))  # without waiting for the first answer
        both = answers_of(line, 2)
        held.free.set()
        time.sleep(0.1)
        for _ in range(200):
            line.sendall(request(body))
            (answer,) = answers_of(line, 1)
            if answer[0] == 200:
                break
            time.sleep(0.02)
        return [refused, *both, answer]

    with busy(serve, held) as (_, during):
        assert [status for status, _ in during(ask)] == [429, 429, 429, 200]


@pytest.mark.parametrize(("pause", "came"), [(0.005, 0), (0.3, 1)])
def test_body_that_is_long_in_coming_is_left_to_the_app(serve, held, reached, connection, pause, came):
    body = json.dumps(ASK).encode()

    def ask(client):
        before = len(reached)
        line = connection(client)
        whole = request(body)
        for piece in (whole[:40], whole[40:-10], whole[-10:-3], whole[-3:]):
            line.sendall(piece)
            time.sleep(pause)
        return answers_of(line, 1)[0][0], len(reached) - before

    with busy(serve, held) as (_, during):
        assert during(ask) == (429, came)


def test_large_body_is_left_to_the_app(serve, held, reached):
    def ask(client):
        before = len(reached)
        status = client.post(QUERY, json={**ASK, "text": "amber " * 20_000}).status_code
        return status, len(reached) - before

    with busy(serve, held) as (_, during):
        assert during(ask) == (429, 1)


def test_request_of_which_the_body_is_awaited_as_the_server_stops_is_answered(
    serve, held, reached, connection, monkeypatch
):
    monkeypatch.setattr("hubless_service.http.protocol._HOLD_SECONDS", 60)
    whole = request(json.dumps({**ASK, **LONG}).encode())

    def ask(client):
        line = connection(client)
        line.sendall(whole[:-3])
        return line

    with ThreadPoolExecutor(1) as pool:

        def send_the_rest(line):
            time.sleep(0.5)  # by then the server is stopping
            line.sendall(whole[-3:])
            return answers_of(line, 1)

        with busy(serve, held) as (_, during):
            before = len(reached)
            line = during(ask)
            assert len(reached) - before == MANY + 1 + reached[before:].count("/metrics")
            rest = pool.submit(send_the_rest, line)
        assert rest.result(20)[0][0] == 200


def test_client_that_hangs_up_while_its_body_is_awaited_leaves_nothing(serve, held, reached, connection):
    whole = request(json.dumps(ASK).encode())

    def ask(client):
        before = len(reached)
        for _ in range(20):
            line = connection(client)
            line.sendall(whole[:-3])
            time.sleep(0.005)
            line.close()
        time.sleep(0.3)
        return len(reached) - before

    with busy(serve, held) as (client, during):
        assert during(ask) <= 20
        assert client.get("/livez").status_code == 200


def test_broken_request_is_refused_as_ever(serve, held, reached, connection):
    def ask(client):
        line = connection(client)
        line.sendall(b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" % QUERY.encode())
        return line.recv(2**16)

    with busy(serve, held) as (client, during):
        assert during(ask).startswith(b"HTTP/1.1 400 ")
        assert client.get("/livez").status_code == 200


def test_without_load_the_app_is_asked(serve, words, reached):
    with serve({"words": words}) as (client, _):
        client.post(QUERY, json=ASK)
    assert QUERY in reached
