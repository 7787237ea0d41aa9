"""Clients that send nothing, send slowly, or take nothing: their connections end, those of the others do not."""

import socket
import time

import httpx
import pytest
from support import busy
from support.server_process import resources, served

HEAD = f"POST {busy.BATCH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/octet-stream\r\n"
QUERIES = 100


@pytest.fixture(scope="module")
def hasty(busy_catalog):
    """A server that waits for nobody."""
    with served(busy_catalog, receive_seconds=0.5, keep_alive_seconds=1) as server:
        yield server


def connect(server, buffer=None):
    url = httpx.URL(server.url)
    connection = socket.socket()
    if buffer:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    connection.settimeout(20)
    connection.connect((url.host, url.port))
    return connection


def read_to_end(connection):
    received = b""
    while part := connection.recv(2**16):
        received += part
    return received


def idle_descriptors(server):
    """How many a server holds when nobody is connected."""
    seen = []
    while len(seen) < 20 or seen[-1] > min(seen):
        seen.append(resources(server.pid)["descriptors"])
        time.sleep(0.01)
    return seen[-1]


def test_body_that_does_not_come_gets_408_and_the_connection_ends(hasty):
    with connect(hasty) as connection:
        connection.sendall(f"{HEAD}Content-Length: 1000\r\n\r\nabc".encode())
        assert b" 408 " in read_to_end(connection)


def test_idle_connection_is_closed(hasty):
    with connect(hasty) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read_to_end(connection).count(b"HTTP/1.1 200") == 1


def test_connections_of_clients_that_take_nothing_are_broken_off(hasty):
    """Each asks for answers of megabytes, which no buffer of the system can hold for it."""
    body = busy.batch(QUERIES)["content"]
    path = f"{busy.BATCH}?limit=100&with=vector"
    request = HEAD.replace(busy.BATCH, path).encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body
    before = idle_descriptors(hasty)
    connections = [connect(hasty, buffer=4096) for _ in range(4)]
    for connection in connections:
        connection.sendall(request)
    while resources(hasty.pid)["descriptors"] < before + len(connections):
        pass
    while resources(hasty.pid)["descriptors"] > before:
        pass  # their own time-out is none of ours: they stay open at this end
    assert httpx.post(f"{hasty.url}{busy.QUERY}", **busy.batch(1)).status_code == 200
    for connection in connections:
        connection.close()
