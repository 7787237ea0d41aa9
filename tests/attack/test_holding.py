"""Connections that are held: each ends in time, and a full house takes the next client all the same."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.raw import LIVE, answers, ask, connect, read_to_end, request, send
from support.server_process import served

COUNT = "/v1/collections/words/count"
FEW_DESCRIPTORS = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))"

# what is sent at once; what is sent again and again until the connection ends; the statuses of the answers
HELD = {
    "nothing": (b"", b"", []),
    "line ends": (b"", b"\r\n", []),
    "a part of a head": (b"GET /livez HT", b"", []),
    "a head, byte by byte": (b"GET /livez HTTP/1.1\r\nX: ", b"x", []),
    "headers, one by one": (b"GET /livez HTTP/1.1\r\n", b"X: x\r\n", []),
    "nothing after an answer": (LIVE, b"", [200]),
    "line ends after an answer": (LIVE, b"\r\n", [200]),
    "a head after an answer": (LIVE + b"GET /", b"x", [200]),
    "a part of a body": (request("POST", COUNT, "Content-Length: 9"), b"", [408]),
    "a body, byte by byte": (request("POST", COUNT, "Content-Length: 999"), b" ", [408]),
    "chunks of one byte": (request("POST", COUNT, "Transfer-Encoding: chunked"), b"1\r\n \r\n", [408]),
    "no body after its answer": (request("POST", "/nothing", "Content-Length: 9"), b"", [404]),
    "one byte after an early answer": (request("POST", "/nothing", "Content-Length: 9") + b"a", b"", [404]),
    "a body after its answer": (request("POST", "/nothing", "Content-Length: 999"), b"a", [404]),
    "chunks after their answer": (request("POST", "/nothing", "Transfer-Encoding: chunked"), b"1\r\n \r\n", [404]),
    "a wait for 100": (request("POST", "/nothing", "Content-Length: 9", "Expect: 100-continue"), b"", [404]),
}


def statuses(url, first, again):
    """Those of all answers until the connection ends."""
    received = b""
    with connect(url) as connection:
        send(connection, first)
        connection.settimeout(0.1)
        while True:
            try:
                part = connection.recv(2**16)
                if not part:
                    break
                received += part
            except TimeoutError:
                send(connection, again)
            except ConnectionResetError:
                break
    return [answer.status for answer in answers(received)]


def test_held_connections_end(victim):
    with ThreadPoolExecutor(len(HELD)) as pool:  # at the same time, as each takes a second or more
        found = {name: pool.submit(statuses, victim.url, *sent) for name, (*sent, _) in HELD.items()}
    assert {name: held.result() for name, held in found.items()} == {name: held[2] for name, held in HELD.items()}


@pytest.mark.parametrize("name", ["nothing", "one byte after an early answer"])
def test_more_held_connections_than_descriptors_leave_room_for_a_client(catalog, name):
    first, _, _ = HELD[name]
    with served(catalog, before=FEW_DESCRIPTORS) as server:
        crowd = []
        for _ in range(300):
            crowd.append(connect(server.url))
            send(crowd[-1], first)
            if len(crowd) % 50 == 0:
                answer = httpx.post(f"{server.url}/v1/collections/words/query", json={"text": "amber"}, timeout=60)
                assert answer.status_code == 200
        for connection in crowd:
            connection.close()
        assert sum("connections are open" in line for line in server.log) == 1


def test_more_connections_than_allowed_end_the_one_that_waits_longest(catalog):
    with served(catalog, max_connections=3) as server:
        crowd = [connect(server.url) for _ in range(3)]
        for connection in (*crowd, crowd[0]):  # so that the second waits longest
            assert ask(connection, LIVE) == 200
        crowd.append(connect(server.url))
        assert read_to_end(crowd[1]) == b""
        for connection in (crowd[0], crowd[2], crowd[3]):
            assert ask(connection, LIVE) == 200
            connection.close()
        crowd[1].close()
