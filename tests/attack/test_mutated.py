"""Requests with random mistakes: whatever they become, the server answers with less than 500 or ends the connection."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.raw import LAST, answers, connect, request, send

COUNT = "/v1/collections/words/count"
PATIENCE = 0.3  # seconds; some mistakes leave a server waiting for more
GOOD = [
    request("GET", "/v1/collections/words?x=%41", "Accept: */*", "X-Request-ID: a", "Expect: 100-continue"),
    request("POST", COUNT, "Content-Type: application/json", "Content-Length: 2", body=b"{}"),
    request(
        "POST", COUNT, "Content-Type: application/json", "Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"
    ),
    request("GET", "/livez", "Connection: Upgrade", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAoAAA"),
]
PIECES = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\0",
    b":",
    b" ",
    b"\t",
    b"%",
    b"\xff",
    b"0",
    b"99999",
    b"-1",
    b"Host: y\r\n",
    b"HTTP/1.0",
]


def mutated(rng):
    """One or two good requests, of which one to four bytes, or runs of bytes, are others."""
    sent = bytearray(b"".join(rng.choices(GOOD, k=rng.choice([1, 2]))))
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(sent))
        end = at + rng.choice([0, 1, 1, 5, 40])
        sent[at:end] = rng.choice([b"", rng.randbytes(1), rng.choice(PIECES), sent[at:end] * 2])
    return bytes(sent)


def statuses(url, sent):
    """What the server answers, until it ends the connection or waits for more."""
    received = b""
    with connect(url) as connection:
        send(connection, sent + LAST)
        connection.settimeout(PATIENCE)
        try:
            while part := connection.recv(2**16):
                received += part
        except (TimeoutError, ConnectionResetError):
            pass
    return [answer.status for answer in answers(received.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b""))]


@pytest.mark.parametrize("count", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_mutated_requests_never_get_an_answer_of_500(victim, attack, probed, count):
    rng = random.Random(count)  # noqa: S311
    cases = [mutated(rng) for _ in range(count)]
    with ThreadPoolExecutor(16) as threads, probed() as probe:
        found = list(threads.map(lambda sent: statuses(victim.url, sent), cases))
    attack("requests with random mistakes", count, probe.longest)
    assert not [case for case, answered in zip(cases, found, strict=True) if any(status >= 500 for status in answered)]
    assert any(400 in answered for answered in found)
    assert any(200 in answered for answered in found)
