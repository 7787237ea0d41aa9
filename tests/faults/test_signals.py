"""A signal always ends the server in order, whatever it does at that moment. Standard error is buffered as usual."""

import http.client
import random
import signal
import socket
import threading
from contextlib import closing, contextmanager, suppress
from time import sleep

import pytest
from support.nursery import Nursery, drained

REQUEST = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"
QUERY = b"POST /v1/collections/words/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
SOON = {"drain_seconds": 0.02, "grace_seconds": 5}
LONGEST = 0.6
"""Seconds after which a server is stopped at the latest: it has loaded by then."""


@pytest.fixture(scope="module")
def nursery(catalog, tmp_path_factory):
    made = Nursery(catalog, tmp_path_factory.mktemp("nursery"))
    yield made
    made.close()


def ask_until_closed(server):
    """Requests over one connection, as fast as they are answered, each with its line in the log."""
    with suppress(OSError), socket.create_connection((server.host, server.port), timeout=20) as connection:
        while True:
            connection.sendall(REQUEST)
            if not connection.recv(2**16):
                return


@contextmanager
def load(server, connections=3):
    threads = [threading.Thread(target=ask_until_closed, args=[server]) for _ in range(connections)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        server.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("stops", [10, pytest.param(200, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])])
def test_signal_at_any_moment_under_load_ends_the_server_in_order(nursery, attack, stops):
    rng, statuses, logs = random.Random(stops), [], []  # noqa: S311
    for number in range(stops):
        with nursery.server(**SOON) as server, drained(server.log) as log, load(server):
            threading.Event().wait(rng.uniform(0, LONGEST) if number % 5 else 0)
            server.stop(rng.choice([signal.SIGTERM, signal.SIGINT]))
            statuses.append(server.status())
        logs += log
    attack("signals at a random moment under load", stops)
    assert statuses == [0] * stops
    assert sum("stopping: not ready any more" in line for line in logs) == stops
    assert not any("Traceback" in line or "Error" in line for line in logs)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
def test_signal_right_after_it_said_that_it_listens_ends_it_in_order(nursery, sig):
    with nursery.server(drain_seconds=600) as server:
        server.stop(sig)
        assert server.status() == 0


def ask(server, count):
    """So many requests over one connection; how many were answered."""
    with closing(http.client.HTTPConnection(server.host, server.port, timeout=20)) as connection:
        for _ in range(count):
            connection.request("GET", "/livez")
            assert connection.getresponse().read() == b'{"status":"ok"}'
    return count


def test_reader_of_the_log_that_pauses_stops_neither_serving_nor_stopping(nursery):
    """The pipe is full after some hundred lines."""
    with nursery.server(**SOON) as server:
        assert ask(server, 3000) == 3000
        server.stop()
        assert server.status() == 0


def test_reader_of_the_log_that_goes_away_stops_neither_serving_nor_stopping(nursery):
    with nursery.server(**SOON) as server:
        assert ask(server, 10) == 10
        server.log.close()
        assert ask(server, 500) == 500
        server.stop()
        assert server.status() == 0


STUCK = """
from hubless_service.settings import Settings
Settings.max_together = 1  # each request alone
import threading, hubless
hubless.Collection.query = lambda *_, **__: threading.Event().wait()
hubless.Collection.check_canaries = lambda _: None
"""


def test_all_searches_that_do_not_end_hold_up_the_end_no_longer_than_one(nursery):
    body = b'{"vector": [' + b"1," * 23 + b"1]}"
    request = QUERY + str(len(body)).encode() + b"\r\n\r\n" + body
    threads = 12
    together = {"search_threads": threads, "drain_seconds": 0, "grace_seconds": 0}
    with nursery.server(STUCK, **together) as server, drained(server.log) as log:
        while not any('"words" is ready' in line for line in log):
            sleep(0.01)
        connections = [socket.create_connection((server.host, server.port)) for _ in range(threads)]
        for connection in connections:
            connection.sendall(request)
        threading.Event().wait(0.5)
        server.stop()
        assert server.status(30) == 0  # one after the other they would have a minute
        for connection in connections:
            with connection:
                assert connection.recv(2**16).startswith(b"HTTP/1.1 503 ")
    assert not any("Traceback" in line for line in log)
    assert any("stopping without search-0" in line for line in log), "".join(log)


UNREACHABLE = """
import threading, hubless
hubless.Catalog.versions = lambda *_: threading.Event().wait()
"""


def test_catalog_that_does_not_answer_does_not_hold_up_the_end(nursery):
    request = b"GET /v1/collections/words/versions HTTP/1.1\r\nHost: x\r\n\r\n"
    with nursery.server(UNREACHABLE, drain_seconds=0, grace_seconds=0) as server, drained(server.log) as log:
        while not any('"words" is ready' in line for line in log):
            sleep(0.01)
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(request)
            threading.Event().wait(0.5)
            server.stop()
            assert server.status(30) == 0
