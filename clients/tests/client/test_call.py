"""What all requests have in common: paths, ids, headers, and calls that cannot be sent."""

import json

import httpx
import numpy as np
import pytest
from support.wire import ANSWER, BATCH, INFO, POINT, Server

import hubless_client
from hubless_client import CannotSend, Query


def nested(depth):
    inner = {"field": "year", "eq": 1999}
    for _ in range(depth):
        inner = {"not": inner}
    return inner


@pytest.mark.parametrize(
    ("id_", "quoted"),
    [
        ("a/b", "a%2Fb"),
        ("what?", "what%3F"),
        ("x#y", "x%23y"),
        ("100%", "100%25"),
        ("ä b", "%C3%A4%20b"),
        ("a%2Fb", "a%252Fb"),
        (".", "%2E"),
        ("..", "%2E%2E"),
        ("...", "..."),
    ],
)
def test_ids_and_names_arrive_as_they_are_whatever_they_hold(ask, id_, quoted):
    server = Server(POINT)
    ask(server, "point", id_, id_)
    assert server.request.url.raw_path.decode() == f"/v1/collections/{quoted}/points/{quoted}"


def test_path_of_the_base_url_is_kept():
    server = Server(INFO)
    with hubless_client.Client("https://api.test/hubless/", transport=httpx.MockTransport(server)) as client:
        client.collection("songs")
    assert server.request.url == "https://api.test/hubless/v1/collections/songs"


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("query", {}, "none of them"),
        ("query", {"vector": [1.0], "text": "sad"}, "vector and text"),
        ("query_batch", {}, "neither"),
        ("query_batch", {"vectors": [[1.0]], "queries": [Query(text="sad")]}, "both"),
        ("query_batch", {"queries": [Query(text="sad")], "limit": 3, "with_payload": True}, "limit, with"),
        ("query", {"collection": "", "text": "sad"}, "collection: expected at least one character"),
        ("query", {"collection": None, "text": "sad"}, "collection: expected a string, got NoneType"),
        ("point", {"id": 1.0}, "id: expected a string or a whole number, got float"),
        ("point", {"id": "\ud800"}, "id: expected text that UTF-8 can carry"),
        ("points", {"ids": "abc"}, "ids: expected a list, got str 'abc'"),
        ("activate", {"version": 7}, "version: expected a string, got int"),
        ("set_alias", {"name": "a", "if_match": 3}, "if_match: expected a string, got int"),
        ("query_batch", {"queries": Query(text="sad")}, "queries: expected a list, got Query"),
        ("query_batch", {"queries": [{"text": "sad"}]}, r"queries\[0\]: expected a Query, got dict"),
        ("query", {"text": "sad", "with_payload": "title"}, "with_payload: expected True, False, or a list"),
        ("query", {"text": "sad", "filter": nested(50_000)}, "lists and objects inside"),
        ("query", {"text": "sad", "request_id": 7}, "request_id: expected a string, got int"),
        ("query", {"text": "sad", "timeout": "2 s"}, "timeout: expected seconds or an httpx.Timeout, got str"),
        ("query", {"text": "sad", "strength": float("nan")}, "JSON"),
        ("query", {"text": "sad", "params": {"ef": b"2"}}, r"params.ef: .* got bytes"),
        ("query", {"text": "\ud800"}, "text: expected text in Unicode"),
        ("query", {"text": "sad", "request_id": "ä"}, "ascii"),
    ],
)
def test_what_no_request_can_carry_is_refused_before_anything_is_sent(ask, method, given, said):
    server = Server(ANSWER)
    with pytest.raises(CannotSend, match=said):
        ask(server, method, **{"collection": "songs"} | given)
    assert not server.requests


def test_request_id_and_api_key_are_sent_and_the_request_id_comes_back(ask):
    server = Server(ANSWER)
    answer = ask(server, "query", "songs", [1.5, -2.0], request_id="mine-1", api_key="secret")
    assert server.request.headers["X-Request-ID"] == "mine-1"
    assert server.request.headers["Authorization"] == "Bearer secret"
    assert server.request.headers["User-Agent"].startswith("hubless-client/0.")
    assert answer.request_id == "from-server"


def test_without_request_id_and_api_key_neither_header_is_sent(ask):
    server = Server(ANSWER)
    ask(server, "query", "songs", [1.5, -2.0])
    assert not {"x-request-id", "authorization"} & set(server.request.headers)


@pytest.mark.parametrize("api_key", ["secret\n", "sécret"])
def test_api_key_that_no_header_can_carry_is_refused_without_being_quoted(api_key):
    with pytest.raises(CannotSend, match="api_key") as caught:
        hubless_client.Client(api_key=api_key)
    assert "cret" not in str(caught.value)


def test_several_queries_and_ids_may_come_from_any_iterable(ask):
    server = Server(BATCH)
    assert len(ask(server, "query_batch", "songs", queries=(Query(text=text) for text in ("sad", "glad")))) == 2
    server = Server({**POINT, "points": [], "missing": [3]})
    assert ask(server, "points", "songs", np.arange(1, 4)).missing == (3,)
    assert json.loads(server.request.content)["ids"] == [1, 2, 3]
