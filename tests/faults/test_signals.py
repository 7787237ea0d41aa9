"""A signal always ends the server in order, whatever it does at that moment. Standard error is buffered as usual."""

import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from time import sleep

import httpx
import pytest
from support.raw import LIVE, connect
from support.server_process import launched, served

QUERY = b"POST /v1/collections/words/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
SOON = {"grace_seconds": 5}
LONGEST = 0.6
"""Seconds after which a server is stopped at the latest: it has loaded by then."""


def ask_until_closed(server):
    """Requests over one connection, as fast as they are answered, each with its line in the log."""
    with suppress(OSError), connect(server.url) as connection:
        while True:
            connection.sendall(LIVE)
            if not connection.recv(2**16):
                return


@contextmanager
def load(server, connections=3):
    with ThreadPoolExecutor(connections) as pool:
        for _ in range(connections):
            pool.submit(ask_until_closed, server)
        try:
            yield
        finally:
            server.process.kill()


@pytest.mark.parametrize("stops", [2, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_signal_at_any_moment_under_load_ends_the_server_in_order(catalog, stops):
    rng = random.Random(stops)  # noqa: S311
    for number in range(stops):
        with served(catalog, ready=False, **SOON) as server, load(server):
            threading.Event().wait(rng.uniform(0, LONGEST) if number % 5 else 0)
            server.process.send_signal(rng.choice([signal.SIGTERM, signal.SIGINT]))
            assert server.process.wait(60) == 0
        assert sum("stopping: not ready any more" in line for line in server.log) == 1
        assert not any("Traceback" in line or "Error" in line for line in server.log)


def ask(server, count):
    """Send so many requests over one connection, each of which is answered."""
    with httpx.Client(base_url=server.url, timeout=20) as client:
        for _ in range(count):
            assert client.get("/livez").content == b'{"status":"ok"}'


@pytest.mark.parametrize("gone", [pytest.param(False, marks=pytest.mark.slow), True], ids=["pauses", "goes away"])
def test_reader_of_the_log_that_pauses_or_goes_away_stops_neither_serving_nor_stopping(catalog, gone):
    """The pipe is full after some hundred lines."""
    with launched(catalog, **SOON) as server:
        ask(server, 10)
        if gone:
            server.process.stderr.close()
        ask(server, 1500)
        server.process.terminate()
        assert server.process.wait(60) == 0


STUCK = """
import threading, hubless
hubless.Collection.query = lambda *_, **__: threading.Event().wait()
hubless.Collection.check_canaries = lambda _: None
"""


def test_all_searches_that_do_not_end_hold_up_the_end_no_longer_than_one(catalog):
    body = b'{"vector": [' + b"1," * 23 + b"1]}"
    request = QUERY + str(len(body)).encode() + b"\r\n\r\n" + body
    threads = 12
    together = {"search_threads": threads, "max_together": 1, "grace_seconds": 0}
    with served(catalog, before=STUCK, **together) as server:
        connections = [connect(server.url) for _ in range(threads)]
        for connection in connections:
            connection.sendall(request)
        sleep(0.5)
        server.process.terminate()
        assert server.process.wait(30) == 0  # one after the other they would have a minute
        for connection in connections:
            with connection:
                assert connection.recv(2**16).startswith(b"HTTP/1.1 503 ")
    assert not any("Traceback" in line for line in server.log)
    assert any("stopping without search-0" in line for line in server.log), "".join(server.log)


UNREACHABLE = """
import threading, hubless
hubless.Catalog.versions = lambda *_: threading.Event().wait()
"""


def test_catalog_that_does_not_answer_does_not_hold_up_the_end(catalog):
    request = b"GET /v1/collections/words/versions HTTP/1.1\r\nHost: x\r\n\r\n"
    stop = {"grace_seconds": 0}
    with served(catalog, before=UNREACHABLE, **stop) as server, connect(server.url) as connection:
        connection.sendall(request)
        sleep(0.5)
        server.process.terminate()
        assert server.process.wait(30) == 0
