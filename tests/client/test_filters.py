"""Filters, several points and scrolling, against the real service, with both clients."""

import asyncio

import httpx
import numpy as np
import pytest
from support import catalogs
from support.wire import Server

import hubless
import hubless_client
from hubless_client import AsyncClient, Client, Query

AMBER = {"field": "tags", "contains": "amber"}
MATCHES = [row for row, words in enumerate(catalogs.payload()) if "amber" in words["tags"]]


@pytest.fixture
def client(server):
    with Client(server) as client:
        yield client


def in_async(server, work):
    async def session():
        async with AsyncClient(server) as client:
            return await work(client)

    return asyncio.run(session())


def test_filtered_query_and_count_are_those_of_the_library(client, catalog):
    words = hubless.open(catalog, "words")
    vector = catalogs.words().query_bank[0]
    expected = words.query(vector, filter=AMBER).ids[0]
    assert [hit.id for hit in client.query("words", vector, filter=AMBER)] == expected
    assert [hit.id for hit in client.query_batch("words", [vector], filter=AMBER)[0]] == expected
    by_filter, plain = client.query_batch("words", queries=[Query(vector, filter=AMBER), Query(vector)])
    assert [hit.id for hit in by_filter] == expected
    assert [hit.id for hit in plain] == words.query(vector).ids[0]
    assert client.count("words", filter=AMBER) == len(MATCHES)


def test_columns_of_payload_come_alone_also_of_a_binary_query(client):
    for form in ({}, {"params": {}}):
        (hit,) = client.query("words", catalogs.words().query_bank[0], limit=1, with_payload=["rank", "tags"], **form)
        assert set(hit.payload) == {"rank", "tags"}
    assert set(client.points("words", ["target-50"], with_payload=["rank"])[0].payload) == {"rank"}


def test_column_with_a_comma_does_not_go_into_a_url():
    server = Server({"hits": [], "collection": "songs", "version": "1"})
    Client(transport=httpx.MockTransport(server)).query("songs", [1.0], with_payload=["a,b"])
    assert b'"with": ["payload.a,b"]' in server.request.content


def test_string_in_the_place_of_columns_is_not_taken_letter_by_letter(client):
    with pytest.raises(hubless_client.CannotSend, match="with_payload"):
        client.query("words", text="amber", with_payload="rank")


def test_points_come_in_order_and_missing_ids_apart(client, server):
    ids = catalogs.words().ids
    asked = [ids[9], "none", ids[0]]
    found = client.points("words", asked, with_vector=True)
    assert [point.id for point in found] == [ids[9], ids[0]]
    assert found.missing == ("none",)
    assert [point.payload for point in found] == [catalogs.payload()[9], catalogs.payload()[0]]
    np.testing.assert_allclose(np.asarray(found[1].vector), catalogs.words().targets[0], atol=1e-6)
    assert found[0] == client.point("words", ids[9], with_vector=True, request_id=found.request_id)
    assert in_async(server, lambda other: other.points("words", asked, request_id="x")).missing == ("none",)


@pytest.mark.parametrize("limit", [7, 300, 500])
def test_scroll_goes_through_all_pages(client, limit):
    assert [point.id for point in client.scroll("words", limit=limit)] == catalogs.words().ids
    matching = [point.payload["rank"] for point in client.scroll("words", filter=AMBER, limit=limit)]
    assert matching == MATCHES


def test_async_scroll_goes_through_all_pages(server):
    async def work(client):
        return [point.payload async for point in client.scroll("words", filter=AMBER, limit=7, with_payload=["rank"])]

    assert in_async(server, work) == [{"rank": row} for row in MATCHES]


def test_pages_can_be_turned_by_hand(client):
    first = client.scroll_page("numbers", limit=299)
    assert len(first) == 299
    last = client.scroll_page("numbers", limit=299, cursor=first.cursor)
    assert [*first, *last][-1].id == catalogs.numbers().ids[-1]
    assert last.cursor is None
    assert (last.collection, last[0].payload) == ("numbers", None)
