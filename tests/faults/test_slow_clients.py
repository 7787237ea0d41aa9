"""Clients that send nothing, send slowly, or take nothing: their connections end, those of the others do not."""

import time

import httpx
import pytest
from support import busy
from support.raw import connect, read_to_end
from support.server_process import resources, served

HEAD = f"POST {busy.BATCH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
QUERIES = 100


@pytest.fixture(scope="module")
def hasty(busy_catalog):
    """A server that waits for nobody."""
    with served(busy_catalog, receive_seconds=0.5, keep_alive_seconds=1) as server:
        yield server


def idle_descriptors(server):
    """How many a server holds when nobody is connected."""
    seen = []
    while len(seen) < 20 or seen[-1] > min(seen):
        seen.append(resources(server.pid)["descriptors"])
        time.sleep(0.01)
    return seen[-1]


def test_body_that_does_not_come_gets_408_and_the_connection_ends(hasty):
    with connect(hasty.url) as connection:
        connection.sendall(f"{HEAD}Content-Length: 1000\r\n\r\nabc".encode())
        assert b" 408 " in read_to_end(connection)


def test_idle_connection_is_closed(hasty):
    with connect(hasty.url) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read_to_end(connection).count(b"HTTP/1.1 200") == 1


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
