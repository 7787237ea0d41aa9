"""Stored targets, collections, versions, aliases and what the service knows of hubs, as objects of the client."""

import asyncio
from datetime import UTC, datetime
from time import sleep

import httpx
import numpy as np
import pytest
from support import catalogs, kept, versions
from support.serving import serving_catalog
from support.wire import ALIAS, Server, problem

import hubless_client
from hubless_client import ApiCollectionAliased, ApiCollectionExists, ApiInvalidInput, AsyncClient, Client

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
    last = client.scroll_page("numbers", limit=299, cursor=first.cursor)
    assert [each.id for each in [*first, *last]] == catalogs.numbers().ids
    assert last.cursor is None
    assert (last.collection, last[0].payload) == ("numbers", None)


def test_each_read_takes_the_seq_of_a_write_that_it_must_have(client):
    words = catalogs.words()
    given = {"point": words.ids[:1], "points": [words.ids], "query": words.targets[:1], "query_batch": [words.targets]}
    for method in (*given, "count", "scroll", "scroll_page"):
        with pytest.raises(ApiInvalidInput, match="min_seq: expected at most 0, the last write"):
            [*getattr(client, method)("words", *given.get(method, ()), min_seq=1)]


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


def test_occurrence_counts_every_target_and_names_the_largest_hub(client):
    found = client.occurrence("words", limit=3)
    assert (found.k, found.source) == (10, "build")
    assert len(found.raw.hubs) == len(found.corrected.hubs) == 3
    assert found.raw.hubs[0].raw == found.raw.most == max(found.raw.histogram)
    assert found.never.raw == found.raw.histogram.get(0, 0)
    assert 0 < found.chance.antihub_share < 1


def test_findings_are_bank_queries_whose_answers_hold_the_target(client):
    hub = client.occurrence("words").raw.hubs[0].id
    found = client.findings("words", hub)
    assert found.id == hub
    first = found.raw[0]
    query = client.bank_query("words", first.query)
    assert (query.number, query.stored) == (first.query, found.queries)
    hits = client.query("words", query.vector, strength=0)
    assert hits[first.rank - 1].id == hub
    assert client.query("words", query.vector)[0].id == first.first
    assert client.findings("numbers", catalogs.LARGEST_ID).id == catalogs.LARGEST_ID


def test_kept_scan_is_read_and_none_without_one(ask, client, tmp_path):
    assert client.kept_scan("words") is None
    scan = kept.scan_of_words(catalogs.build(tmp_path))
    found = ask(Server({"scan": scan.model_dump(), "collection": "words"}), "kept_scan", "words")
    assert (found.version, found.alerts, found.notes) == (scan.version, 1, tuple(scan.notes))
    assert found.made.isoformat() == scan.made
    assert [each.why for each in found.findings] == [kept.WHY, "nothing stands out"]
    assert found.findings[0].id == scan.findings[0].id


def test_projection_has_a_row_for_each_target_and_the_asked_column(client):
    drawn = client.projection("words", column="title")
    assert len(drawn.targets) == drawn.count == catalogs.COUNT
    first = drawn.targets[0]
    assert (first.value, first.raw is None) == (client.point("words", first.id).payload["title"], False)
    query = client.bank_query("words", 7)
    assert (len(drawn.queries), len(query.vector)) == (query.stored, catalogs.DIM)
    assert np.asarray(query.vector).dtype == np.float32


def test_access_says_what_the_key_may_do(ask):
    body = {"keys": True, "role": "write", "collections": ["songs"], "bank_queries": False}
    server = Server(body)
    assert ask(server, "access") == hubless_client.AccessInfo(True, "write", ("songs",), bank_queries=False)
    assert server.request.url.path == "/v1/access"
    assert ask(Server({**body, "collections": None}), "access").collections is None


def test_versions_are_read_and_compared(tmp_path):
    first, second = versions.build(tmp_path, 2)
    with serving_catalog(tmp_path) as base_url, Client(base_url) as client:
        new = client.version(versions.NAME, second)
        assert (new.version, new.collection, new.dim) == (second, versions.NAME, 8)
        assert new.created.tzinfo is not None
        assert new.bytes > 0
        changed = client.diff(versions.NAME, second)
        assert (changed.version, changed.since) == (second, first)
        assert changed == client.diff(versions.NAME, second, first, request_id=changed.request_id)
        back = client.diff(versions.NAME, first, second)
        assert (back.added, back.removed) == (changed.removed, changed.added)
        assert [field.before for field in back.fields] == [field.after for field in changed.fields]
        assert all(each.kept == len({*each.before} & {*each.after}) for each in changed.canaries)


def test_hubness_is_that_of_the_answers(client, words):
    query = catalogs.words().query_bank[0]
    answer = client.query_batch("words", [query] * 200)  # more than all other tests together ask
    found = client.hubness("words")
    assert (found.collection, found.version, found.k) == ("words", words.version, 10)
    assert found.seen >= found.served.queries >= 200
    assert {hub.id for hub in found.served.hubs} & {hit.id for hit in client.query("words", query)}
    assert 0 < found.served.hubs[0].share == pytest.approx(found.served.top_hub_share)
    assert found.served.chance.antihub_share < 1
    assert found.served.chance.skewness > 0
    assert found.request_id != answer.request_id
    assert client.hubness("numbers").drift is None


def test_change_of_an_alias_is_not_sent_twice(ask):
    server = Server(httpx.ConnectError("lost"), ALIAS)
    with pytest.raises(hubless_client.ConnectionFailed):
        ask(server, "set_alias", "a", "songs")


def test_versions_are_activated_and_aliases_changed(tmp_path):
    first, second = versions.build(tmp_path, 2)
    with serving_catalog(tmp_path, poll_seconds=3600) as base_url, Client(base_url) as client:
        listed = client.versions(versions.NAME)
        assert [(each.version, each.current, each.state) for each in listed] == [
            (first, False, "stored"),
            (second, True, "served"),
        ]
        assert listed[0].created.tzinfo is not None
        assert [each.current for each in client.activate(versions.NAME, first)] == [True, False]
        while client.collection(versions.NAME).version != first:
            sleep(0.01)
        with pytest.raises(hubless_client.ApiVersionNotFound):
            client.activate(versions.NAME, "..")
        alias = client.set_alias("a", versions.NAME)
        assert client.aliases() == [alias] == [client.alias("a")]
        assert client.query("a", [1.0] * 8).collection == versions.NAME
        assert client.collection("a").aliases == ("a",)
        assert client.collection("a").versions == (first, second)
        with pytest.raises(hubless_client.ApiPreconditionRequired):
            client.set_alias("a", versions.NAME)
        moved = client.set_alias("a", versions.NAME, if_match=alias.etag)
        with pytest.raises(hubless_client.ApiPreconditionFailed):
            client.remove_alias("a", if_match=alias.etag)
        assert client.remove_alias("a", if_match=moved.etag) == moved
        with pytest.raises(hubless_client.ApiAliasNotFound):
            client.alias("a")


def test_collections_say_what_they_are(client, words):
    numbers, texts = client.collections()
    assert (numbers.name, numbers.metric, numbers.id_type, numbers.text) == ("numbers", "dot", "int64", False)
    assert (texts.name, texts.metric, texts.id_type, texts.text) == ("words", "cosine", "string", True)
    assert (texts.count, texts.dim, texts.version) == (catalogs.COUNT, catalogs.DIM, words.version)
    assert set(texts.payload_columns) == {"title", "rank", "tags"}
    assert texts.created.tzinfo is not None
    assert abs((datetime.now(UTC) - texts.created).total_seconds()) < 3600
    assert client.collection("words") == texts
    assert texts.strength == words.strength


def test_free_collection_is_created_written_and_deleted_on_a_real_server(tmp_path):
    with serving_catalog(tmp_path) as url, Client(url) as client:
        created = client.create_collection("notes", 2, "dot", "int64")
        assert (created.payload, created.measured, created.count) == ("json", None, 0)
        client.put("notes", [1], [[1.0, 2.0]], [{"any": {"thing": [1]}}])
        assert client.point("notes", 1).payload == {"any": {"thing": [1]}}
        with pytest.raises(ApiCollectionExists):
            client.create_collection("notes", 3, "dot", "int64")
        client.set_alias("papers", "notes")
        with pytest.raises(ApiCollectionAliased):
            client.delete_collection("notes")
        client.delete_collection("notes", aliases=True)
        assert client.collections() == []
        typed = client.create_collection("notes", 2, "cosine", "string", {"title": "string"})
        assert (typed.payload_types, typed.metric, typed.id_type) == ({"title": "string"}, "cosine", "string")
        fewer = client.create_collection("fewer", 4, "dot", "string", dims=2, keep_full=True)
        assert (fewer.dim, fewer.index["candidates"]) == (4, 50)
