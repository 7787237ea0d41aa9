"""Targets that are put, patched and deleted through the client."""

import httpx
import numpy as np
import pytest
from support import small, writing
from support.serving import serving_catalog
from support.wire import Server, sent

from hubless_client import ApiPointExists, CannotSend, Client, ConnectionFailed, Deleted, Written

WRITTEN = {"seq": 7, "inserted": 1, "updated": 1, "collection": "songs", "version": "v1"}
DELETED = {"seq": 8, "deleted": 2, "collection": "songs", "version": "v1"}
ONE = "AACAPwAAAEA="  # 1 and 2 as float32


def test_put_sends_vectors_in_base64_and_payload_where_there_is_one(ask):
    server = Server(WRITTEN)
    found = ask(server, "put", "songs", np.array([3, 4]), [[1, 2], [1, 2]], [{"a": 1}, None], mode="insert")
    assert found == Written(seq=7, inserted=1, updated=1)
    points = [{"id": 3, "vector": ONE, "payload": {"a": 1}}, {"id": 4, "vector": ONE}]
    assert sent(server) == ("PUT", "/v1/collections/songs/points", {"points": points, "mode": "insert"})


def test_put_sends_no_vector_of_targets_that_have_none(ask):
    server = Server(WRITTEN)
    ask(server, "put", "songs", ["x", "y", "z"], [None, [1, 2], None])
    assert sent(server)[2] == {"points": [{"id": "x"}, {"id": "y", "vector": ONE}, {"id": "z"}]}


def test_patch_sends_the_columns_of_each_id(ask):
    server = Server(WRITTEN)
    ask(server, "patch", "songs", {"x": {"a": None}})
    assert sent(server) == ("PATCH", "/v1/collections/songs/points", {"points": [{"id": "x", "payload": {"a": None}}]})


@pytest.mark.parametrize(
    ("given", "body"), [({"ids": ["x"]}, {"ids": ["x"]}), ({"filter": {"f": 1}}, {"filter": {"f": 1}})]
)
def test_delete_sends_ids_or_a_filter(ask, given, body):
    server = Server(DELETED)
    assert ask(server, "delete", "songs", **given) == Deleted(seq=8, deleted=2)
    assert sent(server) == ("POST", "/v1/collections/songs/points/delete", given)


def test_delete_of_a_point_sends_its_id_in_the_path_and_options_in_the_url(ask):
    server = Server({**DELETED, "deleted": 1})
    assert ask(server, "delete_point", "songs", "a/b", if_match=3, durability="memory") == Deleted(seq=8, deleted=1)
    request = server.request
    assert (request.method, str(request.url)) == (
        "DELETE",
        "http://hubless.test/v1/collections/songs/points/a%2Fb?durability=memory",
    )
    assert request.headers["If-Match"] == '"3"'


@pytest.mark.parametrize(
    ("method", "arguments", "named"),
    [
        ("put", ["xy", [[1.0]]], "ids"),
        ("put", [["x"], [[1.0], [2.0]]], "vectors"),
        ("put", [["x"], [[1.0]], [{}, {}]], "payload"),
        ("put", [["x"], [[1.0]], [{"a": float("nan")}]], "request"),
        ("patch", [["x"]], "payload"),
        ("delete", [], "delete"),
        ("delete", ["x"], "ids"),
    ],
)
def test_wrong_write_is_not_sent(ask, method, arguments, named):
    server = Server(WRITTEN)
    with pytest.raises(CannotSend, match=f": {named}:"):
        ask(server, method, "songs", *arguments)
    assert not server.requests


def test_put_is_not_repeated_by_itself(ask):
    attempts = []

    def lost(request):
        attempts.append(request)
        raise httpx.ReadError("lost")

    with pytest.raises(ConnectionFailed):
        ask(lost, "put", "songs", ["x"], [[1.0]])
    assert len(attempts) == 1


def test_what_is_written_is_found_by_the_real_server(tmp_path):
    writing.build(tmp_path)
    vectors = small.vectors(2, 77)
    with serving_catalog(tmp_path) as url, Client(url, timeout=60) as client:
        written = client.put(writing.NAME, ["new", "target-9"], vectors, [{"title": "new"}, None])
        assert written == Written(seq=1, inserted=1, updated=1)
        assert client.query(writing.NAME, vectors[0], limit=1)[0].id == "new"
        assert client.patch(writing.NAME, {"new": {"title": "newer"}}).seq == 2
        assert client.point(writing.NAME, "new").payload["title"] == "newer"
        with pytest.raises(ApiPointExists):
            client.put(writing.NAME, ["new"], vectors[:1], mode="insert")
        assert client.put(writing.NAME, ["new"], vectors[:1], mode="ignore") == Written(seq=2, inserted=0, updated=0)
        assert client.delete(writing.NAME, filter={"field": "title", "eq": "newer"}) == Deleted(seq=3, deleted=1)
        assert client.delete(writing.NAME, ["new"]).deleted == 0
        assert client.count(writing.NAME) == small.COUNT
