"""What the server says about collections."""

from datetime import UTC, datetime

from support import catalogs
from support.wire import INFO, Server


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


def test_strength_of_a_collection_is_1_where_an_old_server_does_not_say(ask):
    assert ask(Server(INFO), "collection", "songs").strength == 1
    assert ask(Server(INFO | {"strength": 0.25}), "collection", "songs").strength == 0.25
