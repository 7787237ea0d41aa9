"""Collections, versions and aliases."""

from datetime import UTC, datetime
from time import sleep

import httpx
import pytest
from support import catalogs, versions
from support.serving import serving_catalog
from support.wire import ALIAS, Server

import hubless_client
from hubless_client import ApiCollectionAliased, ApiCollectionExists, Client


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
