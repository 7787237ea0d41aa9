"""What goes over the wire for each method, in which form, and what comes back as."""

import base64
import json
import struct
from array import array
from datetime import UTC, datetime

import httpx
import numpy as np
import pytest
from support.wire import ALIAS, ANSWER, BATCH, HIT, INFO, POINT, Server, problem

import hubless_client
from hubless_client import CannotSend, Query

FLOATS = struct.pack("<2f", 1.5, -2.0)
BASE64 = base64.b64encode(FLOATS).decode()


def sent(server):
    """Method, path with URL parameters, and the JSON body."""
    request = server.request
    assert request.headers["Content-Type"] == "application/json"
    return request.method, request.url.raw_path.decode(), json.loads(request.content)


@pytest.mark.parametrize("vector", [[1.5, -2.0], np.array([1.5, -2.0]), array("f", [1.5, -2.0])])
def test_query_with_a_vector_only_is_sent_as_binary_with_an_empty_url(ask, vector):
    server = Server(ANSWER)
    ask(server, "query", "songs", vector)
    assert server.request.method == "POST"
    assert server.request.url == "http://hubless.test/v1/collections/songs/query"
    assert server.request.headers["Content-Type"] == "application/octet-stream"
    assert server.request.content == FLOATS


def test_settings_of_a_binary_query_stand_in_the_url(ask):
    server = Server(ANSWER)
    settings = {"limit": np.int64(3), "strength": np.float32(0.5), "score_threshold": -1e-7}
    ask(server, "query", "songs", vector=[1.5, -2.0], with_payload=True, with_vector=True, **settings)
    assert dict(server.request.url.params) == {
        "limit": "3",
        "strength": "0.5",
        "score_threshold": "-1e-07",
        "with": "payload,vector",
    }
    assert server.request.content == FLOATS


def test_zero_is_sent_and_not_taken_for_unset(ask):
    server = Server(ANSWER)
    ask(server, "query", "songs", [1.5, -2.0], strength=0, limit=0, score_threshold=0.0)
    assert dict(server.request.url.params) == {"limit": "0", "strength": "0", "score_threshold": "0.0"}


@pytest.mark.parametrize("only_json", [{"params": {"ef": 64}}, {"filter": {"year": 1999}}])
def test_query_that_a_url_cannot_carry_is_sent_as_json_with_base64(ask, only_json):
    server = Server(ANSWER)
    ask(server, "query", "songs", np.array([1.5, -2.0]), limit=np.int64(3), with_payload=True, **only_json)
    body = {"vector": BASE64, "limit": 3, "with": ["payload"], **only_json}
    assert sent(server) == ("POST", "/v1/collections/songs/query", body)


def test_query_with_a_text_is_sent_as_json_with_what_is_set_only(ask):
    server = Server(ANSWER)
    ask(server, "query", "songs", text="sad songs, für Elise", strength=0.0)
    assert sent(server) == ("POST", "/v1/collections/songs/query", {"text": "sad songs, für Elise", "strength": 0.0})


def test_batch_of_vectors_is_sent_as_binary_row_after_row(ask):
    server = Server(BATCH)
    ask(server, "query_batch", "songs", np.array([[1.5, -2.0], [3.0, 4.0]]), limit=1)
    assert server.request.url == "http://hubless.test/v1/collections/songs/query/batch?dim=2&limit=1"
    assert server.request.headers["Content-Type"] == "application/octet-stream"
    assert server.request.content == struct.pack("<4f", 1.5, -2.0, 3.0, 4.0)


def test_batch_of_vectors_that_a_url_cannot_carry_is_sent_as_json_with_the_settings_in_each_query(ask):
    server = Server(BATCH)
    ask(server, "query_batch", "songs", [[1.5, -2.0], [3.0, 4.0]], params={"ef": 64}, limit=1)
    rest = {"limit": 1, "params": {"ef": 64}}
    second = base64.b64encode(struct.pack("<2f", 3.0, 4.0)).decode()
    body = {"queries": [{"vector": BASE64, **rest}, {"vector": second, **rest}]}
    assert sent(server) == ("POST", "/v1/collections/songs/query/batch", body)


def test_batch_of_queries_sends_each_with_its_own_settings(ask):
    server = Server(BATCH)
    queries = [Query([1.5, -2.0], limit=1), Query(text="sad songs", strength=0, with_payload=True)]
    ask(server, "query_batch", "songs", queries=queries)
    body = {"queries": [{"vector": BASE64, "limit": 1}, {"text": "sad songs", "strength": 0, "with": ["payload"]}]}
    assert sent(server) == ("POST", "/v1/collections/songs/query/batch", body)


def test_count_is_sent_with_its_filter_if_there_is_one(ask):
    for filter_, body in ((None, {}), ({"year": 1999}, {"filter": {"year": 1999}})):
        server = Server({"count": 5, "collection": "songs", "version": "v1"})
        assert ask(server, "count", "songs", filter=filter_) == 5
        assert sent(server) == ("POST", "/v1/collections/songs/count", body)


@pytest.mark.parametrize(
    ("method", "arguments", "path"),
    [
        ("collections", [], "/v1/collections"),
        ("collection", ["songs"], "/v1/collections/songs"),
        ("point", ["songs", 7], "/v1/collections/songs/points/7"),
        ("point", ["songs", np.int64(7)], "/v1/collections/songs/points/7"),
        ("versions", ["songs"], "/v1/collections/songs/versions"),
        ("aliases", [], "/v1/aliases"),
        ("alias", ["a/b"], "/v1/aliases/a%2Fb"),
        ("live", [], "/livez"),
        ("ready", [], "/readyz"),
    ],
)
def test_other_questions_are_plain_gets(ask, method, arguments, path):
    server = Server({"collections": [], "status": "ok", **INFO, **POINT, **ALIAS, "aliases": [], "versions": []})
    ask(server, method, *arguments)
    assert (server.request.method, server.request.url.raw_path.decode()) == ("GET", path)
    assert server.request.content == b""
    assert "Content-Type" not in server.request.headers


def test_changes_say_what_they_expect(ask):
    server = Server(ALIAS)
    ask(server, "set_alias", "a", "songs", if_match='"3"')
    assert sent(server) == ("PUT", "/v1/aliases/a", {"collection": "songs"})
    assert server.request.headers["If-Match"] == '"3"'
    server = Server(ALIAS)
    ask(server, "set_alias", "a", "songs")
    assert "If-Match" not in server.request.headers
    server = Server(ALIAS)
    ask(server, "remove_alias", "a", if_match="*")
    assert (server.request.method, server.request.headers["If-Match"]) == ("DELETE", "*")
    server = Server({"versions": [], "collection": "songs"})
    ask(server, "activate", "songs", "v/1")
    assert server.request.url.raw_path == b"/v1/collections/songs/versions/v%2F1/activate"


def test_change_of_an_alias_is_not_sent_twice(ask):
    server = Server(httpx.ConnectError("lost"), ALIAS)
    with pytest.raises(hubless_client.ConnectionFailed):
        ask(server, "set_alias", "a", "songs")


def test_point_asks_for_the_vector_if_wished(ask):
    server = Server({**POINT, "vector": [0.5, 1.0]})
    point = ask(server, "point", "songs", 7, with_vector=True)
    assert server.request.url.query == b"with=vector"
    assert np.array_equal(np.asarray(point.vector), np.array([0.5, 1.0], dtype=np.float32))


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
    ("method", "arguments", "settings", "said"),
    [
        ("query", ["songs"], {}, "none of them"),
        ("query", ["songs", [1.0]], {"text": "sad"}, "vector and text"),
        ("query_batch", ["songs"], {}, "neither"),
        ("query_batch", ["songs", [[1.0]]], {"queries": [Query(text="sad")]}, "both"),
        ("query_batch", ["songs"], {"queries": [Query(text="sad")], "limit": 3, "with_payload": True}, "limit, with"),
        ("query", ["", [1.0]], {}, "one character or more"),
        ("point", ["songs", ""], {}, "one character or more"),
        ("query", ["songs"], {"text": "sad", "strength": float("nan")}, "JSON"),
        ("query", ["songs"], {"text": "sad", "params": {"ef": {1, 2}}}, "got set"),
        ("query", ["songs"], {"text": "\ud800"}, "surrogates"),
        ("query", ["songs", [1.0]], {"request_id": "ä"}, "ascii"),
    ],
)
def test_what_no_request_can_carry_is_refused_before_anything_is_sent(ask, method, arguments, settings, said):
    server = Server(ANSWER)
    with pytest.raises(CannotSend, match=said):
        ask(server, method, *arguments, **settings)
    assert server.requests == []


def test_query_object_without_vector_and_text_is_refused_when_made():
    with pytest.raises(CannotSend, match="none of them"):
        Query(limit=3)


def test_what_the_server_says_better_is_sent(ask):
    server = Server(problem(422, "invalid_input", parameter="limit"))
    with pytest.raises(hubless_client.InputError):
        ask(server, "query", "songs", [float("nan")], limit=-1, strength=float("nan"))
    assert dict(server.request.url.params) == {"limit": "-1", "strength": "nan"}


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


def test_answer_is_typed_and_a_sequence_of_hits(ask):
    rich = {**HIT, "id": "b", "payload": {"title": "x"}, "vector": [0.5, 1.0], "new_in_2.0": 1}
    answer = ask(Server({**ANSWER, "hits": [HIT, rich]}), "query", "songs", [1.5, -2.0])
    plain, full = answer
    assert (len(answer), answer[0], answer.collection, answer.version) == (2, plain, "songs", "v1")
    assert plain == hubless_client.Hit(id=7, score=0.25, similarity=0.5, offset=0.25, payload=None, vector=None)
    assert (full.id, full.payload, full.vector) == ("b", {"title": "x"}, array("f", [0.5, 1.0]))


def test_batch_answer_has_one_answer_a_query_in_order(ask):
    batch = ask(Server(BATCH), "query_batch", "songs", [[1.5, -2.0], [3.0, 4.0]])
    assert [len(answer) for answer in batch] == [1, 0]
    assert (len(batch), batch[0][0].id, batch.version, batch[1].request_id) == (2, 7, "v1", "from-server")


def test_batch_with_a_missing_answer_is_a_bad_answer(ask):
    with pytest.raises(hubless_client.BadAnswer, match="2 answers to 1 queries"):
        ask(Server(BATCH), "query_batch", "songs", queries=[Query(text="sad")])


def test_collection_info_is_typed(ask):
    info = ask(Server(INFO), "collection", "songs")
    assert (info.name, info.count, info.dim, info.metric, info.text) == ("songs", 9, 2, "cosine", True)
    assert info.created == datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert info.payload_columns == ("title",)
    assert info.payload_types == {"title": "string"}
    assert ask(Server({"collections": [INFO]}), "collections") == [info]


def test_point_is_typed(ask):
    point = ask(Server(POINT), "point", "songs", 7)
    expected = hubless_client.Point(7, 0.25, {"title": "x"}, None, "songs", "v1", "from-server")
    assert point == expected


def test_live_and_ready_are_true_with_the_servers_words(ask):
    assert ask(Server({"status": "ok"}), "live")
    health = ask(Server({"status": "ready", "collections": {"songs": {"status": "ready"}}}), "ready")
    assert health
    assert (health.status, health.collections) == ("ready", {"songs": {"status": "ready"}})


def test_ready_is_false_and_says_why_while_the_server_loads(ask):
    loading = {"songs": {"status": "loading"}}
    server = Server(problem(503, "not_ready", headers={"Retry-After": "1"}, collections=loading))
    health = ask(server, "ready")
    assert not health
    assert (health.status, health.detail, health.collections) == ("not_ready", "What is wrong", loading)
    assert (health.retry_after, health.request_id) == (1.0, "r-1")
    assert len(server.requests) == 1


def test_ready_raises_what_is_not_an_answer_to_the_question(ask):
    with pytest.raises(hubless_client.NotFoundError):
        ask(Server(problem(404, "not_found")), "ready")
