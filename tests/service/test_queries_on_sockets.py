"""Queries as they come over a socket: in pieces, together, too late, and from clients that hang up."""

import http.client
import json
import socket
import threading
from contextlib import contextmanager

import pytest
from support import catalogs
from support.held import Held
from support.limits import settings_with
from support.serving import serving, wait_until_ready
from support.sources import Source

from hubless_service.app import create_app
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings

QUERY = "/v1/collections/words/query"
VECTOR = [float(number) for number in catalogs.words().query_bank[0]]


@contextmanager
def served(catalog, engine=None, **settings):
    with (
        settings_with(catalog=catalog, hubness_compared=0, **settings) as table,
        serving(create_app(table, engine)) as base_url,
    ):
        wait_until_ready(base_url)
        yield base_url.removeprefix("http://")


@pytest.fixture(scope="module")
def host(catalog):
    with served(catalog) as found:
        yield found


def body(**fields):
    return json.dumps({"vector": VECTOR, **fields}).encode()


def request(sent, length=None):
    head = f"POST {QUERY} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(sent) if length is None else length}\r\n\r\n".encode() + sent


@contextmanager
def connected(host):
    name, port = host.split(":")
    with socket.create_connection((name, int(port)), timeout=30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield connection


def answer_on(connection):
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    document = json.loads(answer.read())
    answer.close()
    return answer.status, document


def ask(host, sent):
    with connected(host) as connection:
        connection.sendall(request(sent))
        return answer_on(connection)


def test_queries_sent_together_are_answered_in_their_order(host):
    limits = [1, 5, 3]
    with connected(host) as connection:
        for limit in limits:
            connection.sendall(request(body(limit=limit)))
        received = b""
        while received.count(b'"version"') < len(limits):
            received += connection.recv(65_536)
    assert [part.count(b'"id"') for part in received.split(b'"version"')[:-1]] == limits


@pytest.mark.parametrize("pieces", [[1], [40], [200], [200, 400]])
def test_query_that_comes_in_pieces_is_answered(host, pieces):
    whole, starts = request(body(limit=2)), [0, *pieces]
    with connected(host) as connection:
        for start, end in zip(starts, [*pieces, len(whole)], strict=True):
            connection.sendall(whole[start:end])
        status, document = answer_on(connection)
    assert (status, len(document["hits"])) == (200, 2)


@contextmanager
def held(catalog, words):
    """The host of a server whose collection answers when it is told to, and the collection."""
    collection, settings = Held(words), {"grace_seconds": 1}
    engine = SearchService(Source({"words": collection}), Settings(catalog=catalog, **settings))
    try:
        with served(catalog, engine, **settings) as host:
            yield host, collection
    finally:
        collection.free.set()


def test_query_that_still_waits_when_the_server_stops_is_told_so(catalog, words):
    found = []
    with held(catalog, words) as (host, collection):

        def wait():
            found.append(ask(host, body()))
            collection.free.set()

        asking = threading.Thread(target=wait)
        asking.start()
        assert collection.begun.acquire(timeout=20)
    asking.join()
    ((status, document),) = found
    assert (status, document["code"]) == (503, "not_ready")
