"""Clients: both with a function instead of a network, and one of a real server."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import httpx
import pytest
from support.wire import ANSWER

import hubless
from hubless_client import AsyncClient, Client, Retries

NO_WAITING = Retries(backoff=0)


@pytest.fixture(params=["sync", "async"])
def ask(request):
    """Call a method of a client, sync or async, whose network is `handler(request) -> response`."""

    def ask_sync(handler, method, *args, retries=NO_WAITING, api_key=None, **kwargs):
        with Client(
            "http://hubless.test", api_key=api_key, retries=retries, transport=httpx.MockTransport(handler)
        ) as client:
            return getattr(client, method)(*args, **kwargs)

    def ask_async(handler, method, *args, retries=NO_WAITING, api_key=None, **kwargs):
        async def session():
            transport = httpx.MockTransport(handler)
            async with AsyncClient(
                "http://hubless.test", api_key=api_key, retries=retries, transport=transport
            ) as client:
                return await getattr(client, method)(*args, **kwargs)

        return asyncio.run(session())

    return ask_sync if request.param == "sync" else ask_async


@pytest.fixture
def client(server):
    with Client(server) as client:
        yield client


@pytest.fixture(scope="session")
def words(catalog):
    return hubless.open(catalog, "words")


@pytest.fixture(scope="session")
def numbers(catalog):
    return hubless.open(catalog, "numbers")


@pytest.fixture(params=["sync", "async"])
def ask_at(request):
    """Call a method of a client of an address, sync or async, over the network."""

    async def session(url, method, *args, **kwargs):
        async with AsyncClient(url) as client:
            return await getattr(client, method)(*args, **kwargs)

    def ask_sync(url, method, *args, **kwargs):
        with Client(url) as client:
            return getattr(client, method)(*args, **kwargs)

    return ask_sync if request.param == "sync" else lambda *args, **kwargs: asyncio.run(session(*args, **kwargs))


@pytest.fixture
def peer():
    """A server or a proxy on this machine: `answer` is what it sends, `paths` and `ports` say who asked what."""
    told = SimpleNamespace(answer=httpx.Response(200, json=ANSWER), paths=[], ports=[])

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            told.paths.append(self.path)
            told.ports.append(self.client_address[1])
            body = told.answer.content
            self.send_response(told.answer.status_code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        told.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()
