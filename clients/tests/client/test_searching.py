"""Queries: what is sent, what comes back, that a real server gives what the library gives, and hits in notebooks."""

import asyncio
import base64
import dataclasses
import inspect
import struct
from array import array
from collections.abc import Sequence
from xml.etree import ElementTree

import httpx
import numpy as np
import pytest
from support import catalogs
from support.wire import ANSWER, BATCH, HIT, Server, problem, sent

import hubless_client
from hubless_client import AsyncClient, CannotSend, Client, Explanation, Query, QueryOptions
from hubless_service.http.requests import QueryRequest, fields_of

FLOATS = struct.pack("<2f", 1.5, -2.0)
BASE64 = base64.b64encode(FLOATS).decode()


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


def test_batch_of_vectors_is_sent_as_binary_row_after_row(ask):
    server = Server(BATCH)
    ask(server, "query_batch", "songs", np.array([[1.5, -2.0], [3.0, 4.0]]), limit=1)
    assert server.request.url == "http://hubless.test/v1/collections/songs/query/batch?dim=2&limit=1"
    assert server.request.headers["Content-Type"] == "application/octet-stream"
    assert server.request.content == struct.pack("<4f", 1.5, -2.0, 3.0, 4.0)


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


@pytest.mark.parametrize("how", [{"limit": 7, "strength": 0.5}, {"limit": 7, "group_by": "rank", "diversity": 0.3}])
def test_every_way_to_send_a_vector_gets_the_hits_of_the_library(client, words, how):
    vector = queries_of("words")[0]
    forms = [
        client.query("words", vector, **how),
        client.query("words", vector.tolist(), **how),
        client.query("words", array("f", vector), **how),
        client.query("words", vector, params={}, **how),
        client.query_batch("words", [vector], **how)[0],
        client.query_batch("words", vector[np.newaxis], params={}, **how)[0],
        client.query_batch("words", queries=[Query(vector, **how)])[0],
    ]
    for answer in forms:
        same_hits(answer, words.query(vector, **how)[0])


def test_hits_bring_payload_and_vector_if_asked(client):
    (hit,) = client.query("words", text="cedar delta", limit=1, with_payload=True, with_vector=True)
    data = catalogs.words()
    row = data.ids.index(hit.id)
    assert hit.payload == catalogs.payload()[row]
    np.testing.assert_allclose(np.asarray(hit.vector), data.targets[row], atol=1e-6)
    (bare,) = client.query("words", text="cedar delta", limit=1)
    assert (bare.payload, bare.vector) == (None, None)


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


def test_columns_of_payload_come_alone_also_of_a_binary_query(client):
    for form in ({}, {"params": {}}):
        (hit,) = client.query("words", catalogs.words().query_bank[0], limit=1, with_payload=["rank", "tags"], **form)
        assert set(hit.payload) == {"rank", "tags"}
    assert set(client.points("words", ["target-50"], with_payload=["rank"])[0].payload) == {"rank"}


def test_column_with_a_comma_does_not_go_into_a_url():
    server = Server({"hits": [], "collection": "songs", "version": "1"})
    Client(transport=httpx.MockTransport(server)).query("songs", [1.0], with_payload=["a,b"])
    assert b'"with": ["payload.a,b"]' in server.request.content


EXPLAINED = {"rank": 2, "raw_rank": None, "occurrence": 3, "raw_occurrence": 9, "strength": 1.0}
LINK = 'https://images.example/1.jpg?a=1&b="><script>'


def tables(answer):
    return ElementTree.fromstring(answer._repr_html_())  # noqa: S314


def cells(table):
    return [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]


def asked(ask, *hits):
    return ask(Server({**ANSWER, "hits": list(hits)}), "query", "songs", [1.5, -2.0])


def test_hits_are_a_table_with_their_numbers_and_escaped_ids(ask):
    hub = {**HIT, "id": "<b>&", "offset": -0.125}
    page = tables(asked(ask, HIT, hub))
    assert page.find("table/caption").text == "songs v1"
    assert cells(page.find("table")) == [
        ["rank", "id", "score", "similarity", "offset", ""],
        ["1", "7", "0.2500", "0.5000", "+0.2500", ""],
        ["2", "<b>&", "0.2500", "0.5000", "-0.1250", ""],
    ]
    bars = [bar.get("style").split("; ")[1:3] for bar in page.findall(".//td/div/div")]
    assert bars == [["left: 50.0%", "width: 50.0%"], ["left: 25.0%", "width: 25.0%"]]


def test_raw_ranks_and_linked_images_are_shown_where_there_are_any(ask):
    shown = {**HIT, "explanation": EXPLAINED | {"raw_rank": 4}, "payload": {"note": "https://a.example/", "at": LINK}}
    other = {**HIT, "explanation": EXPLAINED, "payload": {"photo": "javascript:alert(1)//.png"}}
    broken = {**HIT, "explanation": EXPLAINED, "payload": {"photo": "https://["}}
    page = tables(asked(ask, shown, other, broken))
    lines = cells(page.find("table"))
    assert lines[0][:4] == ["rank", "raw rank", "image", "id"]
    assert [line[1] for line in lines[1:]] == ["4", "–", "–"]
    [image] = page.iter("img")
    assert (image.get("src"), image.get("loading"), image.get("referrerpolicy")) == (LINK, "lazy", "no-referrer")


def test_what_is_left_out_is_counted(ask):
    assert tables(asked(ask, *[HIT] * 23)).find("p").text == "3 more hits"
    batch = {"collection": "songs", "version": "v1", "results": [{"hits": [HIT]}] * 7}
    page = tables(ask(Server(batch), "query_batch", "songs", [[1.5, -2.0]] * 7))
    assert len(page.findall("div/table")) == 5
    assert page.find("p").text == "2 more queries"
    assert tables(asked(ask)).find("table/tbody").text is None


@pytest.mark.parametrize("method", ["query", "query_batch"])
def test_signature_shows_each_option_of_a_query(method):
    shown = inspect.signature(getattr(Client, method)).parameters
    assert set(QueryOptions.__annotations__) <= set(shown)


def test_options_are_the_fields_of_a_query_over_http():
    sent = {"with" if name.startswith("with_") else name for name in QueryOptions.__annotations__}
    assert sent == fields_of(QueryRequest) - {"vector", "text", "image", "id", "timeout_ms"}


@pytest.mark.parametrize("ask_for", [lambda: Query(text="sad", lmit=3), lambda: Query(text="sad", request_id="a")])
def test_option_that_there_is_not_is_refused_and_the_known_are_listed(ask_for):
    with pytest.raises(TypeError, match=r"unexpected option '(lmit|request_id)'; known: limit, skip, strength"):
        ask_for()
