"""Both clients: the same methods with their types, and closing one leaves the caller's things open."""

import asyncio
import inspect
import json
from pathlib import Path
from typing import get_type_hints

import httpx
import pytest
from support.wire import ANSWER, Server

from hubless_client import AsyncClient, CannotSend, Client, Retries

CONTRACT = json.loads((Path(__file__).parents[3] / "docs" / "openapi.json").read_text())
METHODS = {
    "collections": "GET /v1/collections",
    "collection": "GET /v1/collections/{collection}",
    "create_collection": "PUT /v1/collections/{collection}",
    "delete_collection": "DELETE /v1/collections/{collection}",
    "query": "POST /v1/collections/{collection}/query",
    "query_batch": "POST /v1/collections/{collection}/query/batch",
    "hubness": "GET /v1/collections/{collection}/hubness",
    "occurrence": "GET /v1/collections/{collection}/occurrence",
    "findings": "GET /v1/collections/{collection}/occurrence/queries",
    "kept_scan": "GET /v1/collections/{collection}/scan",
    "projection": "GET /v1/collections/{collection}/projection",
    "put_bank": "PUT /v1/collections/{collection}/bank",
    "bank": "GET /v1/collections/{collection}/bank",
    "bank_query": "GET /v1/collections/{collection}/bank/{number}",
    "add_clicks": "POST /v1/collections/{collection}/clicks",
    "access": "GET /v1/access",
    "point": "GET /v1/collections/{collection}/points/{id}",
    "points": "POST /v1/collections/{collection}/points",
    "put": "PUT /v1/collections/{collection}/points",
    "patch": "PATCH /v1/collections/{collection}/points",
    "delete": "POST /v1/collections/{collection}/points/delete",
    "delete_point": "DELETE /v1/collections/{collection}/points/{id}",
    "scroll_page": "POST /v1/collections/{collection}/scroll",
    "scroll": "POST /v1/collections/{collection}/scroll",
    "count": "POST /v1/collections/{collection}/count",
    "versions": "GET /v1/collections/{collection}/versions",
    "version": "GET /v1/collections/{collection}/versions/{version}",
    "diff": "GET /v1/collections/{collection}/versions/{version}/diff",
    "activate": "POST /v1/collections/{collection}/versions/{version}/activate",
    "aliases": "GET /v1/aliases",
    "alias": "GET /v1/aliases/{alias}",
    "set_alias": "PUT /v1/aliases/{alias}",
    "remove_alias": "DELETE /v1/aliases/{alias}",
    "all_scores": "GET /v1/scores",
    "scores": "GET /v1/scores/{name}",
    "put_scores": "PUT /v1/scores/{name}",
    "delete_scores": "DELETE /v1/scores/{name}",
    "rerank": "POST /v1/rerank",
    "live": "GET /livez",
    "ready": "GET /readyz",
}


class Transport(httpx.MockTransport):
    closed = False

    def close(self):
        self.closed = True

    async def aclose(self):
        self.closed = True


def public_methods(client):
    return {name for name, _ in inspect.getmembers(client, inspect.isroutine) if not name.startswith("_")}


def parameters(method):
    return list(inspect.signature(method).parameters.values())


def test_every_endpoint_that_answers_in_json_has_a_method():
    served = {
        f"{verb.upper()} {path}"
        for path, verbs in CONTRACT["paths"].items()
        for verb, operation in verbs.items()
        if any("application/json" in each.get("content", {}) for each in operation["responses"].values())
    }
    assert served == set(METHODS.values())


def test_both_clients_have_these_methods_and_no_others():
    assert public_methods(Client) == public_methods(AsyncClient) == {*METHODS, "close"}


@pytest.mark.parametrize("name", METHODS)
def test_both_clients_show_the_same_parameters_and_words_for_a_method(name):
    method, async_method = getattr(Client, name), getattr(AsyncClient, name)
    assert parameters(method) == parameters(async_method)
    assert parameters(getattr(Client(), name)) == parameters(method)[1:]
    assert method.__name__ == async_method.__name__ == name
    assert method.__doc__ == async_method.__doc__
    assert method.__doc__.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", sorted(METHODS.keys() - {"scroll"}))
def test_method_of_the_async_client_is_a_coroutine_function_and_shows_the_same_result(name):
    method, async_method = getattr(Client(), name), getattr(AsyncClient(), name)
    assert inspect.iscoroutinefunction(async_method)
    assert not inspect.iscoroutinefunction(method)
    result = inspect.signature(method).return_annotation
    assert inspect.signature(async_method).return_annotation == result
    assert get_type_hints(method)["return"] == get_type_hints(async_method)["return"] == result
    assert "Call" not in str(result)


def test_scroll_takes_what_a_page_takes():
    page = set(inspect.signature(Client.scroll_page).parameters)
    assert set(inspect.signature(Client.scroll).parameters) == page - {"cursor", "request_id"}


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_client_shows_its_server_in_a_line_without_password_and_key(client):
    shown = repr(client("http://user:hunter2@hubless.test:81/at", api_key="reader-0123456789"))
    assert shown == f"{client.__name__}('http://hubless.test:81/at/')"


def test_lent_transport_stays_open_when_the_client_closes():
    server = Server(ANSWER)
    lent = Transport(server)
    with Client(transport=lent) as client:
        client.query("songs", [1.0])

    async def session():
        async with AsyncClient(transport=lent) as client:
            await client.query("songs", [1.0])

    asyncio.run(session())
    assert not lent.closed
    assert len(server.requests) == 2


def test_closed_client_refuses_to_send():
    client, other = Client(transport=Transport(Server(ANSWER))), AsyncClient(transport=Transport(Server(ANSWER)))
    client.close()
    client.close()
    with pytest.raises(CannotSend, match="closed"):
        client.query("songs", [1.0])

    async def session():
        await other.close()
        await other.query("songs", [1.0])

    with pytest.raises(CannotSend, match="closed"):
        asyncio.run(session())


@pytest.mark.parametrize("client", [Client, AsyncClient])
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"base_url": None}, "base_url: expected a URL, got NoneType"),
        ({"base_url": "http://[::1"}, "Invalid port"),
        ({"api_key": 7}, "api_key: expected printable ASCII"),
        ({"timeout": "2 s"}, "timeout: expected seconds or an httpx.Timeout, got str"),
        ({"retries": 3}, "retries: expected Retries, such as .*, got int"),
    ],
)
def test_setting_that_cannot_be_is_refused_by_its_name(client, settings, said):
    with pytest.raises(CannotSend, match=said):
        client(**settings)


@pytest.mark.parametrize("name", ["total", "backoff", "max_wait", "max_total_wait"])
def test_retries_with_a_negative_number_are_refused_by_its_name(name):
    with pytest.raises(CannotSend, match=f"expected {name} of 0 or more, got -1"):
        Retries(**{name: -1})


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
