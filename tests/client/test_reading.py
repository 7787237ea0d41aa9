"""Stored targets: one, several, all of them, and their number."""

import asyncio

import numpy as np
import pytest
from support import catalogs
from support.wire import POINT, Server, sent

import hubless_client
from hubless_client import AsyncClient

AMBER = {"field": "tags", "contains": "amber"}
MATCHES = [row for row, words in enumerate(catalogs.payload()) if "amber" in words["tags"]]


def in_async(server, work):
    async def session():
        async with AsyncClient(server) as client:
            return await work(client)

    return asyncio.run(session())


def test_count_is_sent_with_its_filter_if_there_is_one(ask):
    for filter_, body in ((None, {}), ({"year": 1999}, {"filter": {"year": 1999}})):
        server = Server({"count": 5, "collection": "songs", "version": "v1"})
        assert ask(server, "count", "songs", filter=filter_) == 5
        assert sent(server) == ("POST", "/v1/collections/songs/count", body)


def test_point_asks_for_the_vector_if_wished(ask):
    server = Server({**POINT, "vector": [0.5, 1.0]})
    point = ask(server, "point", "songs", 7, with_vector=True)
    assert server.request.url.query == b"with=vector"
    assert np.array_equal(np.asarray(point.vector), np.array([0.5, 1.0], dtype=np.float32))


def test_point_is_typed(ask):
    point = ask(Server(POINT), "point", "songs", 7)
    expected = hubless_client.Point(7, 0.25, {"title": "x"}, None, "songs", "v1", "from-server")
    assert point == expected


@pytest.mark.parametrize("id_", catalogs.AWKWARD_IDS)
def test_point_with_an_awkward_id_is_found(client, words, id_):
    point = client.point("words", id_)
    assert point.id == id_
    assert point.offset == pytest.approx(words.point(id_).offset, abs=1e-6)
    assert point.payload == catalogs.payload()[catalogs.AWKWARD_IDS.index(id_)]
    assert point.vector is None


def test_point_with_an_id_that_no_double_can_hold_is_found_and_comes_back_exact(client):
    point = client.point("numbers", catalogs.LARGEST_ID, with_vector=True)
    assert point.id == catalogs.LARGEST_ID
    np.testing.assert_allclose(np.asarray(point.vector), catalogs.numbers().targets[0], rtol=1e-6)


def test_count_is_the_number_of_targets(client):
    assert client.count("words") == catalogs.COUNT


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
