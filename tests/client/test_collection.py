"""What the server says about collections."""

from datetime import UTC, datetime

import pytest
from support import catalogs
from support.serving import serving_catalog
from support.wire import INFO, Server, sent

from hubless_client import ApiCollectionAliased, ApiCollectionExists, Client


def test_collection_info_is_typed(ask):
    info = ask(Server(INFO), "collection", "songs")
    assert (info.name, info.count, info.dim, info.metric, info.text) == ("songs", 9, 2, "cosine", True)
    assert info.created == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert info.payload_columns == ("title",)
    assert info.payload_types == {"title": "string"}
    assert ask(Server({"collections": [INFO]}), "collections") == [info]


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


def test_collection_is_created_and_deleted(ask):
    server = Server(INFO)
    ask(server, "create_collection", "songs", 2, "cosine", "string", {"title": "string"})
    body = {"dim": 2, "metric": "cosine", "id_type": "string", "payload_schema": {"title": "string"}}
    assert sent(server) == ("PUT", "/v1/collections/songs", body)
    server = Server(INFO)
    ask(server, "create_collection", "songs", 4, "dot", "string", dims=2, keep_full=True)
    body = {"dim": 4, "metric": "dot", "id_type": "string", "dims": 2, "keep_full": True}
    assert sent(server) == ("PUT", "/v1/collections/songs", body)
    server = Server({"collection": "songs", "deleted": True})
    assert ask(server, "delete_collection", "songs", aliases=True) is None
    assert (server.requests[-1].method, server.requests[-1].url.query) == ("DELETE", b"aliases=true")


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
