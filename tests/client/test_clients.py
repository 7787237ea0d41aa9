"""Both clients: the same methods, and a life that ends without taking the caller's things along."""

import asyncio
import inspect

import httpx
import pytest
from support.wire import ANSWER, Server

from hubless_client import AsyncClient, CannotSend, Client, endpoints

METHODS = [
    "collections",
    "collection",
    "query",
    "query_batch",
    "hubness",
    "point",
    "points",
    "scroll_page",
    "count",
    "versions",
    "activate",
    "aliases",
    "alias",
    "set_alias",
    "remove_alias",
    "live",
    "ready",
]


class Transport(httpx.MockTransport):
    """Notes whether it was closed."""

    closed = False

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


def test_every_endpoint_is_a_method_of_both_clients_and_nothing_else_is():
    functions = {name for name, value in vars(endpoints).items() if inspect.isfunction(value)} - {"partial", "quote"}
    own = {name for name in functions if getattr(endpoints, name).__module__ == endpoints.__name__}
    public = {name for name in own if not name.startswith("_")}
    for client in (Client, AsyncClient):
        methods = {name for name, value in vars(client).items() if inspect.isfunction(value)}
        assert {name for name in methods if not name.startswith("_")} - {"close", "scroll"} == public == set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_methods_show_the_parameters_and_the_words_of_their_endpoint(name):
    endpoint, method, async_method = (getattr(owner, name) for owner in (endpoints, Client(), AsyncClient()))
    assert list(inspect.signature(method).parameters) == list(inspect.signature(endpoint).parameters)
    assert inspect.signature(async_method) == inspect.signature(method)
    assert inspect.iscoroutinefunction(async_method)
    assert method.__doc__ == async_method.__doc__ == endpoint.__doc__
    assert inspect.signature(endpoint).return_annotation.__args__ == (inspect.signature(method).return_annotation,)


def test_scroll_shows_the_same_in_both_clients_and_passes_on_what_a_page_takes():
    sync, other = (inspect.signature(owner.scroll).parameters for owner in (Client, AsyncClient))
    assert list(sync) == list(other)
    assert Client.scroll.__doc__ == AsyncClient.scroll.__doc__
    page = set(inspect.signature(endpoints.scroll_page).parameters)
    assert set(sync) - {"self"} == page - {"cursor", "request_id"}


def test_lent_transport_stays_open_when_the_client_closes():
    transport = Transport(Server(ANSWER))
    with Client(transport=transport) as client:
        client.query("songs", [1.0])
    assert not transport.closed
    with Client(transport=transport) as another:
        assert another.query("songs", [1.0])[0].id == 7


def test_lent_transport_stays_open_when_the_async_client_closes():
    transport = Transport(Server(ANSWER))

    async def session():
        async with AsyncClient(transport=transport) as client:
            await client.query("songs", [1.0])

    asyncio.run(session())
    assert not transport.closed


def test_closed_client_refuses_to_send():
    client = Client(transport=Transport(Server(ANSWER)))
    client.close()
    client.close()
    with pytest.raises(CannotSend, match="closed"):
        client.query("songs", [1.0])


def test_closed_async_client_refuses_to_send():
    async def session():
        client = AsyncClient(transport=Transport(Server(ANSWER)))
        await client.close()
        await client.query("songs", [1.0])

    with pytest.raises(CannotSend, match="closed"):
        asyncio.run(session())


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_base_url_that_is_none_is_refused(client):
    with pytest.raises(CannotSend):
        client("http://[::1")


def test_base_url_without_a_scheme_is_refused_when_asked():
    with Client("localhost:8000") as client, pytest.raises(CannotSend, match="protocol"):
        client.live()


@pytest.mark.parametrize(
    ("settings", "call", "seconds"),
    [
        ({}, {}, {"connect": 5.0, "read": 30.0, "write": 30.0, "pool": 30.0}),
        ({"timeout": 2.0}, {}, dict.fromkeys(["connect", "read", "write", "pool"], 2.0)),
        ({"timeout": 2.0}, {"timeout": 9.0}, dict.fromkeys(["connect", "read", "write", "pool"], 9.0)),
        ({}, {"timeout": httpx.Timeout(1.0, read=7.0)}, {"connect": 1.0, "read": 7.0, "write": 1.0, "pool": 1.0}),
    ],
)
def test_timeout_is_the_calls_own_else_the_clients_else_the_default(settings, call, seconds):
    server = Server(ANSWER)
    with Client(transport=httpx.MockTransport(server), **settings) as client:
        client.query("songs", [1.0], **call)
    assert server.request.extensions["timeout"] == seconds
