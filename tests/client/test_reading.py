"""Stored targets: one, several, all of them, and their number; and whether the server is ready."""

import asyncio

import numpy as np
import pytest
from support import catalogs
from support.wire import Server, problem

import hubless_client
from hubless_client import AsyncClient

AMBER = {"field": "tags", "contains": "amber"}
MATCHES = [row for row, words in enumerate(catalogs.payload()) if "amber" in words["tags"]]


def in_async(server, work):
    async def session():
        async with AsyncClient(server) as client:
            return await work(client)

    return asyncio.run(session())


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
    assert (client.count("words"), client.count("words", filter=AMBER)) == (catalogs.COUNT, len(MATCHES))


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


def test_ready_says_that_there_is_nothing_to_serve(ask):
    health = ask(Server({"status": "ready", "note": "the catalog is empty"}), "ready")
    assert health
    assert health.note == "the catalog is empty"


def test_ready_is_false_and_says_why_while_the_server_loads(ask):
    loading = {"songs": {"status": "loading"}}
    server = Server(problem(503, "not_ready", headers={"Retry-After": "1"}, collections=loading))
    health = ask(server, "ready")
    assert not health
    assert (health.status, health.detail, health.collections) == ("not_ready", "What is wrong", loading)
    assert (health.retry_after, health.request_id) == (1.0, "r-1")
    assert len(server.requests) == 1


def test_ready_raises_what_is_not_an_answer_to_the_question(ask):
    with pytest.raises(hubless_client.ApiNotFound):
        ask(Server(problem(404, "not_found")), "ready")


def test_live_and_ready_say_yes(client):
    assert client.live()
    health = client.ready()
    assert health
    assert set(health.collections) == {"words", "numbers"}
