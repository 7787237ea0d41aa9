"""What is sent again, how often, and after which wait."""

from types import SimpleNamespace

import httpx
import pytest
from support.wire import ANSWER, Server, problem

import hubless_client
from hubless_client import Retries

WAIT = {"Retry-After": "1"}


@pytest.fixture
def waits(monkeypatch):
    """The seconds that the client wanted to wait; it does not."""
    recorded = []

    async def wait(seconds):
        recorded.append(seconds)

    # In that module only: a server of other tests may be asleep in a thread of this process.
    monkeypatch.setattr("httpx_retries.retry.time", SimpleNamespace(sleep=recorded.append))
    monkeypatch.setattr("httpx_retries.retry.asyncio", SimpleNamespace(sleep=wait))
    return recorded


def query(ask, server, **kwargs):
    return ask(server, "query", "songs", [1.0, 2.0], **kwargs)


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ConnectError("refused"),
        httpx.ConnectTimeout("no answer to SYN"),
        httpx.ReadError("reset"),
        httpx.RemoteProtocolError("Server disconnected without sending a response."),
        problem(429, "too_many_requests", headers=WAIT),
        problem(503, "not_ready", headers=WAIT),
        httpx.Response(429),
        httpx.Response(502, html="Bad Gateway"),
        httpx.Response(503, json={"message": "no upstream"}),
    ],
    ids=lambda trouble: getattr(trouble, "status_code", type(trouble).__name__),
)
def test_passing_trouble_is_retried_with_the_same_request(ask, waits, trouble):
    server = Server(trouble, trouble, ANSWER)
    assert query(ask, server, request_id="mine")[0].id == 7
    first, second, third = server.requests
    assert first.content == second.content == third.content != b""
    assert first.headers == second.headers == third.headers


@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ReadTimeout("the server may still be working on it"),
        httpx.PoolTimeout("too many calls at once here"),
        httpx.UnsupportedProtocol("ftp"),
        problem(400, "malformed_body"),
        problem(404, "collection_not_found"),
        problem(422, "not_finite"),
        problem(429, "too_many_wrong_keys", headers=WAIT),
        problem(500, "internal_error"),
        problem(502, "encoder_failed"),
        problem(503, "bundle_damaged"),
        problem(503, "storage"),
        httpx.Response(504),
        httpx.Response(200, html="not JSON"),
    ],
    ids=lambda trouble: getattr(trouble, "status_code", type(trouble).__name__),
)
def test_lasting_trouble_is_not_retried(ask, waits, trouble):
    server = Server(trouble)
    with pytest.raises(hubless_client.ClientError):
        query(ask, server)
    assert len(server.requests) == 1
    assert waits == []


@pytest.mark.parametrize("total", [0, 1, 4])
def test_retries_are_bounded_and_the_last_trouble_is_raised(ask, waits, total):
    server = Server(problem(503, "not_ready", headers=WAIT))
    with pytest.raises(hubless_client.ApiNotReady):
        query(ask, server, retries=Retries(total))
    assert len(server.requests) == 1 + total
    assert len(waits) == total


def test_connection_that_never_comes_is_raised_after_the_last_attempt(ask, waits):
    server = Server(httpx.ConnectError("refused"))
    with pytest.raises(hubless_client.ConnectionFailed, match="refused"):
        query(ask, server, retries=Retries(2))
    assert len(server.requests) == 3


def test_retry_after_is_waited_for_up_to_the_bound(ask, waits):
    troubles = [problem(503, "not_ready", headers={"Retry-After": seconds}) for seconds in ("2", "86400")]
    query(ask, Server(*troubles, ANSWER), retries=Retries(max_wait=5.0))
    assert waits == [2.0, 5.0]


def test_sum_of_waits_is_bounded(ask, waits):
    server = Server(problem(429, "too_many_requests", headers={"Retry-After": "4"}))
    with pytest.raises(hubless_client.ApiTooManyRequests) as caught:
        query(ask, server, retries=Retries(total=100, max_wait=5.0, max_total_wait=10.0))
    assert waits == [4.0, 4.0, 2.0]
    assert caught.value.retry_after == 4.0


def test_waits_without_retry_after_are_drawn_from_a_doubling_range(ask, waits):
    query(ask, Server(*[httpx.ConnectError("refused")] * 3, ANSWER), retries=Retries(backoff=0.5))
    assert all(0 <= wait <= bound for wait, bound in zip(waits, (1.0, 2.0, 4.0), strict=True))
    assert len(set(waits)) == 3


@pytest.mark.parametrize("method", ["live", "ready"])
def test_probes_are_asked_once(ask, waits, method):
    server = Server(httpx.ConnectError("refused"))
    with pytest.raises(hubless_client.ConnectionFailed):
        ask(server, method)
    assert len(server.requests) == 1
