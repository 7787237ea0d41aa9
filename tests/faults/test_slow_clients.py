"""Clients that take nothing, slowly, or hang up: their connections end and leave nothing behind."""

import random
import socket
import struct
import time
from time import sleep

import httpx
import pytest
from support import busy, catalogs
from support.raw import connect
from support.server_process import resources, served

HEAD = f"POST {busy.BATCH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
QUERIES = 100


@pytest.fixture(scope="module")
def hasty(busy_catalog):
    with served(busy_catalog, receive_seconds=0.5, keep_alive_seconds=1) as server:
        yield server


def idle_descriptors(server):
    """How many a server holds when nobody is connected."""
    seen = []
    while len(seen) < 20 or seen[-1] > min(seen):
        seen.append(resources(server.pid)["descriptors"])
        time.sleep(0.01)
    return seen[-1]


LONG = busy.batch(QUERIES)["content"]
FOR_MEGABYTES = (
    HEAD.replace(busy.BATCH, f"{busy.BATCH}?limit=100&with=vector") + f"Content-Length: {len(LONG)}\r\n\r\n"
).encode() + LONG
"""A request for an answer that no buffer of the system can hold for a client."""


def test_connections_of_clients_that_take_nothing_are_broken_off(hasty):
    before = idle_descriptors(hasty)
    connections = [connect(hasty.url, buffer=4096) for _ in range(4)]
    for connection in connections:
        connection.sendall(FOR_MEGABYTES)
    while resources(hasty.pid)["descriptors"] < before + len(connections):
        time.sleep(0.01)
    while resources(hasty.pid)["descriptors"] > before:
        time.sleep(0.01)  # the clients' own time-out is longer: they stay open at this end
    assert httpx.post(f"{hasty.url}{busy.QUERY}", **busy.batch(1)).status_code == 200
    for connection in connections:
        connection.close()


def test_connection_of_a_client_that_takes_single_bytes_is_broken_off(hasty):
    before = idle_descriptors(hasty)
    with connect(hasty.url, buffer=4096) as connection:
        connection.sendall(FOR_MEGABYTES)
        assert connection.recv(1)
        while resources(hasty.pid)["descriptors"] > before:
            connection.recv(1)
            time.sleep(0.01)


QUERY = "/v1/collections/words/query"
VECTOR = catalogs.words().query_bank[0].astype("<f4").tobytes()
REQUEST = (
    f"POST {QUERY}?limit=300&with=payload,vector HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
    f"Content-Length: {len(VECTOR)}\r\n\r\n"
).encode() + VECTOR
RESET = struct.pack("ii", 1, 0)
MOST_GROWTH = 16 * 2**20
"""Bytes; were as little as 4 kB kept of each of 5,000, it would be more."""


def hang_up(url, count):
    """Clients that send a part of one request or of five, from nothing to all, and leave, half of them by a reset."""
    rng = random.Random(count)  # noqa: S311
    for _ in range(count):
        with socket.create_connection((url.host, url.port)) as connection:
            sent = REQUEST * rng.choice([1, 1, 1, 5])
            connection.sendall(sent[: rng.choice([0, 1, 50, len(sent) - 50, len(sent), len(sent)])])
            if rng.random() < 0.5:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def settled(server, most):
    """The server's resources, once no more descriptors are open than `most`, and no query waits."""
    while resources(server.pid)["descriptors"] > most or server.metrics()["hubless_waiting_queries"]:
        sleep(0.01)
    return resources(server.pid)


@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_clients_that_hang_up_in_mid_request_leave_nothing_behind(catalog, count):
    with served(catalog, receive_seconds=5) as server:
        url = httpx.URL(server.url)
        idle = resources(server.pid)["descriptors"] + 1  # the connection that asks for metrics
        hang_up(url, count)  # for so many at a time an allocator keeps room
        before = settled(server, idle)
        hang_up(url, count)
        after = settled(server, idle)
        answer = httpx.post(f"{server.url}{QUERY}", json={"text": "amber"})
    assert after["threads"] == before["threads"]
    assert after["memory"] - before["memory"] < MOST_GROWTH
    assert answer.status_code == 200
    assert not any("ERROR" in line or "Traceback" in line for line in server.log)
