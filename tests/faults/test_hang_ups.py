"""Clients that hang up at any moment of a request leave nothing behind: no memory, thread, descriptor or query."""

import random
import resource
import socket
import struct
from time import sleep

import httpx
import pytest
from support import catalogs
from support.server_process import resources, served

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


def test_server_out_of_descriptors_answers_again_when_it_has_some(catalog):
    with served(catalog, poll_seconds=0.1) as server:
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (80, 80))  # it has counted on more
        url = httpx.URL(server.url)
        crowd = [socket.create_connection((url.host, url.port)) for _ in range(120)]
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{server.url}/livez", timeout=1)
        for connection in crowd:
            connection.close()
        while resources(server.pid)["descriptors"] > 60:
            sleep(0.01)
        assert httpx.post(f"{server.url}{QUERY}", json={"text": "amber"}).status_code == 200
        ready = httpx.get(f"{server.url}/readyz")
        assert (ready.status_code, ready.json()["collections"]["words"]["status"]) == (200, "ready")
