"""Queries: what is sent, what comes back, and that a real server gives what the library gives."""

import asyncio
import base64
import dataclasses
import struct
from array import array
from collections.abc import Sequence

import httpx
import numpy as np
import pytest
from support import catalogs
from support.wire import ANSWER, BATCH, HIT, Server, problem, sent

import hubless_client
from hubless_client import AsyncClient, CannotSend, Client, Explanation, Query

FLOATS = struct.pack("<2f", 1.5, -2.0)
BASE64 = base64.b64encode(FLOATS).decode()
AMBER = {"field": "tags", "contains": "amber"}


def queries_of(collection, count=5):
    data = getattr(catalogs, collection)()
    return data.query_bank[:count]


def same_hits(answer, hits):
    assert [hit.id for hit in answer] == [hit.id for hit in hits]
    for field in ("score", "similarity", "offset"):
        ours, theirs = ([getattr(hit, field) for hit in side] for side in (answer, hits))
        # one by one they are summed in another order than together: the last bits may differ
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


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


def test_batch_answer_has_one_answer_a_query_in_order(ask):
    batch = ask(Server(BATCH), "query_batch", "songs", [[1.5, -2.0], [3.0, 4.0]])
    assert [len(answer) for answer in batch] == [1, 0]
    assert (len(batch), batch[0][0].id, batch.version, batch[1].request_id) == (2, 7, "v1", "from-server")


def test_batch_with_a_missing_answer_is_a_bad_answer(ask):
    with pytest.raises(hubless_client.BadAnswer, match="2 answers to 1 queries"):
        ask(Server(BATCH), "query_batch", "songs", queries=[Query(text="sad")])


def test_query_object_without_vector_and_text_is_refused_when_made():
    with pytest.raises(CannotSend, match="none of them"):
        Query(limit=3)


def test_what_the_server_says_better_is_sent(ask):
    server = Server(problem(422, "invalid_input", parameter="limit"))
    with pytest.raises(hubless_client.ApiInvalidInput):
        ask(server, "query", "songs", [float("nan")], limit=-1, strength=float("nan"))
    assert dict(server.request.url.params) == {"limit": "-1", "strength": "nan"}


def test_hits_are_typed_and_a_sequence(ask):
    rich = {**HIT, "id": "b", "payload": {"title": "x"}, "vector": [0.5, 1.0], "new_in_2.0": 1}
    answer = ask(Server({**ANSWER, "hits": [HIT, rich]}), "query", "songs", [1.5, -2.0])
    plain, full = answer
    assert isinstance(answer, Sequence)
    assert (answer[-1], answer[:1], list(reversed(answer)), plain in answer) == (full, (plain,), [full, plain], True)
    assert (len(answer), answer[0], answer.collection, answer.version) == (2, plain, "songs", "v1")
    assert plain == hubless_client.Hit(id=7, score=0.25, similarity=0.5, offset=0.25, payload=None, vector=None)
    assert (full.id, full.payload, full.vector) == ("b", {"title": "x"}, array("f", [0.5, 1.0]))


@pytest.mark.parametrize("name", ["words", "numbers"])
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_client_and_library_give_the_same_hits(client, request, name, strength):
    collection = request.getfixturevalue(name)
    queries = queries_of(name)
    results = collection.query(queries, limit=7, strength=strength)
    for row, query in enumerate(queries):
        answer = client.query(name, query, limit=7, strength=strength)
        same_hits(answer, results[row])
        assert (answer.collection, answer.version) == (name, collection.version)


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_score_is_similarity_minus_strength_times_offset(client, strength):
    for hit in client.query("words", queries_of("words")[0], limit=50, strength=strength):
        assert hit.score == pytest.approx(hit.similarity - strength * hit.offset, abs=1e-5)


def test_every_way_to_send_a_vector_gets_the_same_answer(client):
    vector = queries_of("numbers")[0]
    plain = client.query("numbers", vector)
    assert len(plain) == 10
    forms = [
        client.query("numbers", vector.tolist()),
        client.query("numbers", vector.astype(np.float64)),
        client.query("numbers", array("f", vector)),
        client.query("numbers", vector, params={}),
        client.query_batch("numbers", [vector])[0],
        client.query_batch("numbers", vector[np.newaxis], params={})[0],
        client.query_batch("numbers", queries=[Query(vector)])[0],
    ]
    for answer in forms:
        same_hits(answer, plain)


def test_batch_answers_are_the_answers_to_each_query(client):
    queries = queries_of("numbers")
    batch = client.query_batch("numbers", queries, limit=4, strength=0.5)
    assert len(batch) == len(queries)
    for query, answer in zip(queries, batch, strict=True):
        same_hits(answer, client.query("numbers", query, limit=4, strength=0.5))


def test_batch_of_mixed_queries_keeps_each_ones_settings(client):
    queries = [
        Query(text="amber birch", limit=2),
        Query(queries_of("words")[0], limit=3, strength=0, with_payload=True),
    ]
    by_text, by_vector = client.query_batch("words", queries=queries)
    same_hits(by_text, client.query("words", text="amber birch", limit=2))
    same_hits(by_vector, client.query("words", queries_of("words")[0], limit=3, strength=0))
    assert by_text[0].payload is None
    assert by_vector[0].payload is not None


def test_text_query_is_the_query_by_the_encoders_vector(client, words):
    (vector,) = words.encode(["cedar delta"])
    same_hits(client.query("words", text="cedar delta"), client.query("words", vector))


def test_hits_bring_payload_and_vector_if_asked(client):
    (hit,) = client.query("words", text="cedar delta", limit=1, with_payload=True, with_vector=True)
    data = catalogs.words()
    row = data.ids.index(hit.id)
    assert hit.payload == catalogs.payload()[row]
    np.testing.assert_allclose(np.asarray(hit.vector), data.targets[row], atol=1e-6)
    (bare,) = client.query("words", text="cedar delta", limit=1)
    assert (bare.payload, bare.vector) == (None, None)


def test_vector_of_a_hit_can_be_asked_with_again(client):
    (hit,) = client.query("words", text="cedar delta", limit=1, with_vector=True)
    assert client.query("words", hit.vector, limit=1, strength=0)[0].id == hit.id


def test_score_threshold_leaves_lower_hits_out(client):
    query = queries_of("numbers")[0]
    everything = client.query("numbers", query, limit=10)
    between = (everything[4].score + everything[5].score) / 2
    kept = client.query("numbers", query, limit=10, score_threshold=between)
    assert kept[:] == everything[:5]


def test_async_client_answers_the_same_also_many_at_once(server, client):
    queries = queries_of("numbers", 20)

    async def session():
        async with AsyncClient(server) as client:
            assert await client.ready()
            return await asyncio.gather(*(client.query("numbers", query, limit=3) for query in queries))

    for answer, query in zip(asyncio.run(session()), queries, strict=True):
        same_hits(answer, client.query("numbers", query, limit=3))


def test_more_like_a_target_from_further_down_with_reasons(client, words):
    found = client.query("words", id="target-50", limit=4, skip=1, explain=True)
    results = words.query(ids=["target-50"], limit=4, skip=1, explain=True)
    same_hits(found, results[0])
    assert [hit.explanation for hit in found] == [
        Explanation(**dataclasses.asdict(hit.explanation)) for hit in results[0]
    ]
    vector = queries_of("words")[0]
    for answer in (
        client.query("words", vector, skip=3, explain=True),
        client.query("words", vector, skip=3, explain=True, params={}),
        client.query_batch("words", [vector], skip=3, explain=True)[0],
        client.query_batch("words", queries=[Query(vector, skip=3, explain=True), Query(id="target-9")])[0],
    ):
        same_hits(answer, client.query("words", vector, limit=13)[3:])
        assert [hit.explanation.rank for hit in answer] == list(range(4, 14))
    assert client.query("words", vector)[0].explanation is None
    with pytest.raises(hubless_client.ApiPointNotFound):
        client.query("words", id="nobody")
    with pytest.raises(hubless_client.CannotSend, match="vector and id"):
        client.query("words", vector, id="target-9")


def test_filtered_query_and_count_are_those_of_the_library(client, words):
    vector = catalogs.words().query_bank[0]
    expected = words.query(vector, filter=AMBER).ids[0]
    assert [hit.id for hit in client.query("words", vector, filter=AMBER)] == expected
    assert [hit.id for hit in client.query_batch("words", [vector], filter=AMBER)[0]] == expected
    by_filter, plain = client.query_batch("words", queries=[Query(vector, filter=AMBER), Query(vector)])
    assert [hit.id for hit in by_filter] == expected
    assert [hit.id for hit in plain] == words.query(vector).ids[0]
    assert client.count("words", filter=AMBER) == sum("amber" in row["tags"] for row in catalogs.payload())


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
