"""Over real sockets, with a peer that behaves in ways that hubless itself does not."""

import asyncio
import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.serving import serving_catalog
from support.wire import ANSWER

import hubless_client
from hubless_client import AsyncClient, Client, Retries

BODY = json.dumps(ANSWER).encode()
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Handler(BaseHTTPRequestHandler):
    """Answers every query; the server counts the connections."""

    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.connections += 1

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.wfile.write(WHOLE)

    def log_message(self, *args):
        pass


@pytest.fixture
def peer():
    """A server that keeps connections open."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.connections = 0
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def receive(connection):
    """Read one request to its end: closing with bytes unread would reset the connection under the answer."""
    with connection.makefile("rb") as stream:
        length = 0
        while (line := stream.readline().lower()) not in (b"\r\n", b""):
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        stream.read(length)


@contextlib.contextmanager
def scripted(*answers):
    """A peer that sends one answer a connection and hangs up; where the answer is None, it waits for the caller to."""

    def play(listener):
        # The listener is shut down at the end, whether or not all answers were called for.
        with contextlib.suppress(OSError):
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
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


def test_calls_one_after_another_share_one_connection(peer):
    with Client(f"http://127.0.0.1:{peer.server_port}") as client:
        for _ in range(5):
            client.query("songs", [1.0])
    assert peer.connections == 1


def test_async_calls_one_after_another_share_one_connection(peer):
    async def session():
        async with AsyncClient(f"http://127.0.0.1:{peer.server_port}") as client:
            for _ in range(5):
                await client.query("songs", [1.0])

    asyncio.run(session())
    assert peer.connections == 1


def test_proxy_of_the_environment_is_used(peer, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{peer.server_port}")
    with Client("http://hubless.invalid") as client:
        assert client.query("songs", [1.0])[0].id == 7
    assert peer.connections == 1


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
    with scripted(broken, WHOLE) as url, Client(url, retries=Retries(1, backoff=0)) as client:
        assert client.query("songs", [1.0])[0].id == 7


@pytest.mark.parametrize("broken", [b"", WHOLE[:-10], b"SSH-2.0-OpenSSH_9.6\r\n"])
def test_connection_lost_for_good_is_a_connection_failure(broken):
    with (
        scripted(broken, broken) as url,
        Client(url, retries=Retries(1, backoff=0)) as client,
        pytest.raises(hubless_client.ConnectionFailed),
    ):
        client.query("songs", [1.0])


def test_server_that_does_not_answer_in_time_is_a_timeout_and_is_asked_once():
    with scripted(None) as url, Client(url, timeout=0.05) as client, pytest.raises(hubless_client.TimedOut):
        client.query("songs", [1.0])


def test_async_call_that_is_cancelled_stops_and_leaves_the_client_usable():
    async def session(url):
        async with AsyncClient(url) as client:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(client.query("songs", [1.0]), 0.05)
            return await client.query("songs", [1.0])

    with scripted(None, WHOLE) as url:
        assert asyncio.run(session(url))[0].id == 7


def test_key_of_the_client_opens_a_server_that_wants_one_and_is_never_shown(catalog):
    key = "reader-0123456789"
    with serving_catalog(catalog, read_keys=key) as base_url:
        with Client(base_url, api_key=key) as client:
            assert len(client.query("words", text="amber")) == 10
            assert set(client.ready().collections) == {"words", "numbers"}
            assert key not in repr(client) + repr(vars(client))
        for wrong in (None, "other-0123456789"):
            with Client(base_url, api_key=wrong) as client:
                with pytest.raises(hubless_client.ApiUnauthenticated) as caught:
                    client.query("words", text="amber")
                assert "0123456789" not in str(caught.value)
                assert client.ready().collections is None
