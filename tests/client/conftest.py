"""Clients: both with a function instead of a network, and one of a real server."""

import asyncio

import httpx
import pytest

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
