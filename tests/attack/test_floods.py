"""More than a head may hold, and more requests than may wait: little memory, little time, one answer."""

import pytest
from support.raw import LAST, LIVE, connect, exchange, read_to_end, request, send
from support.server_process import resources

MEMORY = 16 * 2**20
"""Bytes by which a server may grow under a flood."""
HEAD = b"GET /livez HTTP/1.1\r\nHost: x\r\n"
KIB, MIB = 2**10, 2**20


def field(size):
    """A header of some bytes, with its line's end."""
    return b"X: " + b"x" * (size - 5) + b"\r\n"


TOO_LARGE = {
    "a long header": HEAD + field(70 * KIB) + b"\r\n",
    "a long name": HEAD + b"x" * 70 * KIB + b": x\r\n\r\n",
    "a long path": b"GET /" + b"x" * 70 * KIB + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "long headers": HEAD + field(7 * KIB) * 10 + b"\r\n",
    "many headers": HEAD + b"a:b\r\n" * 100 + b"\r\n",
    "a header that does not end": HEAD + b"X: " + b"x" * MIB,
    "a name that does not end": HEAD + b"x" * MIB,
    "a path that does not end": b"GET /" + b"x" * MIB,
    "headers that do not end": HEAD + b"a:b\r\n" * 10_000,
}


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("server", ["victim", "guarded"])
def test_head_beyond_the_limits_gets_431_and_the_end(request, server, name):
    (answer,) = exchange(request.getfixturevalue(server).url, TOO_LARGE[name])
    assert (answer.status, answer.code) == (431, "head_too_large")
    assert answer.headers["connection"] == "close"


def test_head_within_the_limits_is_answered(victim):
    headers = [f"X-{number}: y" for number in range(98)]
    assert exchange(victim.url, request("GET", "/livez", "Connection: close", *headers))[0].status == 200
    assert exchange(victim.url, LAST.replace(b"Connection", field(63 * KIB) + b"Connection"))[0].status == 200


@pytest.mark.parametrize("size", [16 * MIB, pytest.param(60 * MIB, marks=pytest.mark.slow)])
@pytest.mark.parametrize("part", [b"a:b\r\n", b"x"], ids=["headers", "one header"])
def test_endless_head_takes_no_memory(victim, part, size):
    before = resources(victim.pid)["memory"]
    (answer,) = exchange(victim.url, HEAD + b"X: x", part * (size // len(part)))
    assert answer.status == 431
    assert resources(victim.pid)["memory"] - before < MEMORY


@pytest.mark.parametrize("count", [17, 18, 10_000])
def test_requests_beyond_those_that_may_wait_get_431_after_the_answers_of_the_others(victim, count):
    found = exchange(victim.url, LIVE * count)
    assert {answer.status for answer in found[:-1]} == {200}
    if count > 17:  # one is answered, 16 wait
        assert (found[-1].status, found[-1].code) == (431, "head_too_large")
        assert len(found) == 18


def test_pipeline_of_some_requests_is_answered_in_order(victim):
    paths = ["/livez", "/nowhere", "/v1/collections", "/livez?x", "/v1/collections/none"] * 3
    found = exchange(victim.url, b"".join(request("GET", path) for path in paths) + LAST)
    assert [answer.status for answer in found] == [200, 404, 200, 200, 404] * 3 + [200]


def test_pipelines_take_no_memory(victim):
    before = resources(victim.pid)["memory"]
    connections = [connect(victim.url) for _ in range(20)]
    for connection in connections:
        send(connection, LIVE * 10_000)
    for connection in connections:
        read_to_end(connection)
        connection.close()
    assert resources(victim.pid)["memory"] - before < MEMORY
