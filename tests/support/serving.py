"""The service on a loopback socket of its own."""

import asyncio
import itertools
import socket
import threading
import time
from contextlib import contextmanager, nullcontext
from unittest.mock import patch

import httpx

from hubless_service.app import create_app
from hubless_service.processes.http_server import HttpServer
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings


class _Server(HttpServer):
    """It looks every 10 ms whether it is to stop, as tests stop hundreds; uvicorn looks ten times a second."""

    async def main_loop(self):
        looks = itertools.count()
        while not await self.on_tick(next(looks)):
            await asyncio.sleep(0.01)


@contextmanager
def serving(app):
    """Run an app under uvicorn, in a thread, for as long as the with-block lasts. Yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(app)
        thread = threading.Thread(target=server.run, args=([listener],), name="server")
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                time.sleep(0.005)
            yield "http://{}:{}".format(*listener.getsockname())
        finally:
            server.should_exit = True
            thread.join()


def wait_until_ready(base_url):
    """Wait until nothing is being loaded any more; the last answer of /readyz."""
    while True:
        try:
            answer = httpx.get(f"{base_url}/readyz", timeout=60)
        except (httpx.ReadError, httpx.RemoteProtocolError):
            continue  # on a busy machine, a server that waits for nobody may break off this connection
        if answer.status_code != 503 or "retry-after" not in answer.headers:
            return answer
        time.sleep(0.01)


@contextmanager
def settings_with(**given):
    """Give settings, and set limits until the block ends."""
    limits = {name: given.pop(name) for name in list(given) if name not in Settings.model_fields}
    with patch.multiple(Settings, **limits) if limits else nullcontext():
        yield Settings(**given)


@contextmanager
def serving_catalog(catalog, source=None, **settings):
    """The address of a server over a catalog, or over another source, once nothing is being loaded any more.

    After the block all is written that it has learned.
    """
    with settings_with(catalog=catalog, **settings) as table:
        app = create_app(table, source and SearchService(source, table))
        with serving(app) as base_url:
            wait_until_ready(base_url)
            yield base_url
        for thread in app.state.hubless.engine.samplers.stop():  # a busy machine may take longer than the server waits
            thread.join()
