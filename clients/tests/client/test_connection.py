"""Over real sockets, with a peer that behaves in ways that hubless itself does not; and what is sent again."""

import asyncio
import contextlib
import json
import socket
import threading
from functools import partial

import httpx
import pytest
from support.dripping import DRIPS, HANDSHAKE, dripping
from support.wire import ANSWER, Server, problem

import hubless_client
from hubless_client import AsyncClient, Client, Retries, client as sending

BODY = json.dumps(ANSWER).encode()
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


def receive(connection):
    """Read one request to its end: closing with bytes unread would reset the connection under the answer."""
    with connection.makefile("rb") as stream:
        length = 0
        while (line := stream.readline().lower()) not in (b"\r\n", b""):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        stream.read(length)


@contextlib.contextmanager
def scripted(*connections):
    """A peer that sends these answers on a connection and hangs up; where one is None, it waits for the caller to."""

    def play(listener):
        # The listener is shut down at the end, whether or not all answers were called for.
        with contextlib.suppress(OSError):
            for answers in connections:
                connection, _ = listener.accept()
                with connection:
                    for answer in answers:
                        receive(connection)
                        if answer is None:
                            connection.recv(1)
                        else:
                            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=play, args=(listener,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_calls_one_after_another_share_one_connection():
    with scripted([WHOLE] * 5) as url, Client(url, retries=Retries(0)) as client:
        assert [client.query("songs", [1.0])[0].id for _ in range(5)] == [7] * 5


def test_proxy_of_the_environment_is_used(monkeypatch):
    with scripted([WHOLE]) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        with Client("http://hubless.invalid") as client:
            assert client.query("songs", [1.0])[0].id == 7


def test_server_that_does_not_exist_is_a_connection_failure():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with (
        Client(f"http://127.0.0.1:{port}", retries=Retries(0)) as client,
        pytest.raises(hubless_client.ConnectionFailed, match=f"http://127.0.0.1:{port}/v1/collections"),
    ):
        client.collections()


@pytest.mark.parametrize("broken", [b"", WHOLE[:-10]], ids=["hung up before", "hung up in mid-body"])
def test_connection_lost_before_the_answer_is_whole_is_tried_again(broken):
    with scripted([broken], [WHOLE]) as url, Client(url, retries=Retries(1, backoff=0)) as client:
        assert client.query("songs", [1.0])[0].id == 7


@pytest.mark.parametrize("what", [*DRIPS, "a handshake"])
def test_answer_that_drips_is_a_timeout(ask_at, what):
    scheme, drips = ("http", DRIPS[what]) if what in DRIPS else ("https", HANDSHAKE)
    with dripping(*drips) as peer, pytest.raises(hubless_client.TimedOut):
        ask_at(f"{scheme}://{peer}", "query", "songs", [1.0], timeout=0.2)


def test_attempt_without_a_limit_of_a_step_has_no_limit(ask_at):
    with scripted([WHOLE]) as url:
        assert (
            ask_at(url, "query", "songs", [1.0], timeout=httpx.Timeout(0.001, read=None, connect=9, write=9))[0].id == 7
        )


def test_server_that_does_not_answer_in_time_is_a_timeout_and_is_asked_once():
    with scripted([None]) as url, Client(url, timeout=0.05) as client, pytest.raises(hubless_client.TimedOut):
        client.query("songs", [1.0])


def test_async_call_that_is_cancelled_stops_and_leaves_the_client_usable():
    async def session(url):
        async with AsyncClient(url) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.query("songs", [1.0]), 0.05)
            return await client.query("songs", [1.0])

    with scripted([None], [WHOLE]) as url:
        assert asyncio.run(session(url))[0].id == 7


WAIT = {"Retry-After": "1"}


@pytest.fixture
def waits(monkeypatch):
    """The seconds that the client wanted to wait; it does not."""
    recorded = []

    async def wait(seconds):
        recorded.append(seconds)

    # here only: a server of other tests may be asleep in a thread of this process
    monkeypatch.setattr(sending, "Retrying", partial(sending.Retrying, sleep=recorded.append))
    monkeypatch.setattr(sending, "AsyncRetrying", partial(sending.AsyncRetrying, sleep=wait))
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
        httpx.Response(502, html="Bad Gateway"),
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
