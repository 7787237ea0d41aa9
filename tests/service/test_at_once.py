"""Queries that are answered without a task of asyncio get what the way of all requests gives."""

import http.client
import json
import socket
import threading
from contextlib import contextmanager
from time import sleep

import httpx
import numpy as np
import pytest
from support import catalogs
from support.held import Held
from support.serving import serving, wait_until_ready
from support.sources import Source

from hubless_service.app import create_app
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"
VECTOR = [float(number) for number in catalogs.words().query_bank[0]]
JSON, BINARY = "application/json", "application/octet-stream"
ANOTHER_WAY = {"Content-Encoding": "identity"}
"""A header that changes nothing, but few clients send it."""
PASSING = {"x-request-id", "server-timing", "date"}


class Watched:
    """Says of each request whether it was taken, as `QueriesAtOnce` does, and keeps what was said."""

    def __init__(self, at_once):
        self._at_once = at_once
        self.said = []

    def awaits(self, cycle):
        return self._at_once.awaits(cycle)

    def __call__(self, cycle):
        taken = self._at_once(cycle)
        if cycle.scope["method"] == "POST":
            self.said.append(taken)
        return taken


@contextmanager
def served(catalog, engine=None, **settings):
    app = create_app(Settings(catalog=catalog, hubness_share=0, **settings), engine)
    app.at_once = Watched(app.at_once)
    with serving(app) as base_url:
        wait_until_ready(base_url)
        yield base_url.removeprefix("http://"), app.at_once


@pytest.fixture(scope="module")
def server(catalog):
    with served(catalog, max_query_bytes=20_000) as found:
        yield found


def answer_to(host, body, kind=JSON, headers=None, path=QUERY):
    """Status, headers without what differs from answer to answer, the stages that took time, and the document."""
    connection = http.client.HTTPConnection(host, timeout=30)
    connection.request("POST", path, body, {"Content-Type": kind, **(headers or {})})
    answer = connection.getresponse()
    document = json.loads(answer.read())
    connection.close()
    document.pop("request_id", None)
    found = {name.lower(): value for name, value in answer.getheaders()}
    stages = [stage.partition(";")[0] for stage in found["server-timing"].split(", ")]
    kept = {name: value for name, value in found.items() if name not in PASSING and answer.status == 200}
    return answer.status, sorted(found), kept, stages, document


def body(**fields):
    return json.dumps({"vector": VECTOR, **fields})


BODIES = {
    "plain": body(),
    "limit": body(limit=3),
    "skip": body(skip=2),
    "strength": body(strength=0.5),
    "threshold": body(score_threshold=0.1),
    "payload": body(**{"with": ["payload"]}),
    "explained": body(explain=True),
    "exact": body(params={"exact": True}),
    "like a target": json.dumps({"id": 3}),
    "time": body(timeout_ms=5000),
    "too many dimensions": json.dumps({"vector": [*VECTOR, 1.0]}),
    "too large a number": json.dumps({"vector": [1e39, *VECTOR[1:]]}),
    "no direction": json.dumps({"vector": [0.0] * len(VECTOR)}),
    "unknown field": body(limits=3),
    "unknown target": json.dumps({"id": 10**9}),
    "wrong parameter": body(params={"ef": 3}),
    "nothing": "{}",
    "no JSON": "{",
    "true": json.dumps({"vector": [True, *VECTOR[1:]]}),
}


@pytest.mark.parametrize("sent", BODIES.values(), ids=BODIES)
def test_both_ways_give_the_same_answers(server, sent):
    host, at_once = server
    said = len(at_once.said)
    assert answer_to(host, sent) == answer_to(host, sent, headers=ANOTHER_WAY)
    assert at_once.said[said:].count(True) == 1


def test_both_ways_give_binary_queries_the_same_answers(server):
    host, at_once = server
    vector, said = np.asarray(VECTOR, "<f4").tobytes(), len(at_once.said)
    for sent in (vector, vector[:-4], b""):
        assert answer_to(host, sent, BINARY) == answer_to(host, sent, BINARY, ANOTHER_WAY)
    assert at_once.said[said:].count(True) == 3


@pytest.mark.parametrize(
    "asked",
    [
        {"body": json.dumps({"text": "amber"})},
        {"body": body(**{"with": ["vector"]})},
        {"body": body() + " " * 20_000},
        {"body": body(), "path": f"{QUERY}?limit=3"},
        {"body": body(), "path": "/v1/collections/none/query"},
        {"body": body(), "path": f"{QUERY}/batch"},
        {"body": body(), "kind": "text/plain"},
    ],
    ids=["text", "vectors", "large", "url", "unknown collection", "batch", "media type"],
)
def test_unusual_query_goes_the_way_of_all_requests(server, asked):
    host, at_once = server
    said = len(at_once.said)
    assert answer_to(host, **asked) == answer_to(host, **asked, headers=ANOTHER_WAY)
    assert not any(at_once.said[said:])


def test_queries_sent_together_are_answered_in_their_order(server):
    host, _ = server
    name, port = host.split(":")
    limits = [1, 5, 3]
    with socket.create_connection((name, int(port)), timeout=30) as connection:
        for limit in limits:
            sent = body(limit=limit).encode()
            head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: {len(sent)}\r\n\r\n"
            connection.sendall(head.encode() + sent)
        received = b""
        while received.count(b'"version"') < len(limits):
            received += connection.recv(65_536)
    assert [part.count(b'"id"') for part in received.split(b'"version"')[:-1]] == limits


@pytest.mark.parametrize("pieces", [[1], [40], [200], [200, 400]])
def test_query_that_comes_in_pieces_is_answered(server, pieces):
    host, _ = server
    name, port = host.split(":")
    sent = body(limit=2).encode()
    head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: {len(sent)}\r\n\r\n".encode()
    whole, starts = head + sent, [0, *pieces]
    with socket.create_connection((name, int(port)), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in zip(starts, [*pieces, len(whole)], strict=True):
            connection.sendall(whole[start:end])
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert (answer.status, len(json.loads(answer.read())["hits"])) == (200, 2)
        answer.close()


def test_body_that_stays_away_is_given_up_as_by_the_other_way(catalog):
    with served(catalog, receive_seconds=0.2) as (host, at_once):
        name, port = host.split(":")
        with socket.create_connection((name, int(port)), timeout=30) as connection:
            head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: 100\r\n\r\n"
            connection.sendall(head.encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert (answer.status, json.loads(answer.read())["code"]) == (408, "request_timeout")
            answer.close()
    assert at_once.said == []


@contextmanager
def held(catalog, words):
    """A server of a collection that answers when it is told to; its host, what it took at once, and the collection."""
    collection, settings = Held(words), {"grace_seconds": 1}
    engine = SearchService(Source({"words": collection}), Settings(catalog=catalog, hubness_share=0, **settings))
    try:
        with served(catalog, engine, **settings) as (host, at_once):
            yield host, at_once, collection
    finally:
        collection.free.set()


def test_query_that_still_waits_when_the_server_stops_is_told_so(catalog, words):
    found = []
    with held(catalog, words) as (host, at_once, collection):

        def ask():
            found.append(answer_to(host, body()))
            collection.free.set()

        asking = threading.Thread(target=ask)
        asking.start()
        assert collection.begun.acquire(timeout=20)
    asking.join()
    ((status, *_, document),) = found
    assert (status, document["code"]) == (503, "not_ready")
    assert at_once.said == [True]


def test_query_over_its_time_gets_504(catalog, words):
    with held(catalog, words) as (host, at_once, collection):
        status, *_, document = answer_to(host, body(timeout_ms=50))
        collection.free.set()
    assert (status, document["code"]) == (504, "deadline_exceeded")
    assert at_once.said == [True]


def test_client_that_hangs_up_is_counted_as_such(catalog, words):
    sent = body().encode()
    head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: {JSON}\r\nContent-Length: {len(sent)}\r\n\r\n"
    with held(catalog, words) as (host, at_once, collection):
        name, port = host.split(":")
        with socket.create_connection((name, int(port)), timeout=30) as connection:
            connection.sendall(head.encode() + sent)
            assert collection.begun.acquire(timeout=20)
        while 'status="499"} 1.0' not in httpx.get(f"http://{host}/metrics").text:
            sleep(0.01)
        collection.free.set()
    assert at_once.said == [True]
