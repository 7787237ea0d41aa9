"""The client against the real service, over a real socket, with a real collection."""

import asyncio
import dataclasses
from array import array
from datetime import UTC, datetime

import numpy as np
import pytest
from support import catalogs, versions
from support.serving import serving, wait_until_ready

import hubless
import hubless_client
from hubless_client import AsyncClient, Client, Explanation, Query, errors
from hubless_service.app import create_app
from hubless_service.http import problems
from hubless_service.settings import Settings


@pytest.fixture
def client(server):
    with Client(server) as client:
        yield client


@pytest.fixture(scope="module")
def words(catalog):
    return hubless.open(catalog, "words")


@pytest.fixture(scope="module")
def numbers(catalog):
    return hubless.open(catalog, "numbers")


def queries_of(collection, count=5):
    data = getattr(catalogs, collection)()
    return data.query_bank[:count]


def cursor_of_words(client):
    return client.scroll_page("words", limit=1).cursor


def same_hits(answer, hits):
    assert [hit.id for hit in answer] == [hit.id for hit in hits]
    for field in ("score", "similarity", "offset"):
        ours, theirs = ([getattr(hit, field) for hit in side] for side in (answer, hits))
        # one by one they are summed in another order than together: the last bits may differ
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


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


def test_hits_bear_payload_and_vector_if_asked(client):
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
    assert kept.hits == everything.hits[:5]


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


def test_collections_say_what_they_are(client, words):
    numbers, texts = client.collections()
    assert (numbers.name, numbers.metric, numbers.id_type, numbers.text) == ("numbers", "dot", "int64", False)
    assert (texts.name, texts.metric, texts.id_type, texts.text) == ("words", "cosine", "string", True)
    assert (texts.count, texts.dim, texts.version) == (catalogs.COUNT, catalogs.DIM, words.version)
    assert set(texts.payload_columns) == {"title", "rank", "tags"}
    assert texts.created.tzinfo is not None
    assert abs((datetime.now(UTC) - texts.created).total_seconds()) < 3600
    assert client.collection("words") == texts


def test_count_is_the_number_of_targets(client):
    assert client.count("words") == catalogs.COUNT


def test_live_and_ready_say_yes(client):
    assert client.live()
    health = client.ready()
    assert health
    assert set(health.collections) == {"words", "numbers"}


def test_request_id_comes_back_with_the_answer_and_with_the_error(client):
    assert client.query("words", text="amber", request_id="mine-1").request_id == "mine-1"
    assert client.query("words", text="amber").request_id
    with pytest.raises(hubless_client.CollectionNotFound) as caught:
        client.count("nothing", request_id="mine-2")
    assert caught.value.request_id == "mine-2"


@pytest.mark.parametrize(
    ("kind", "ask"),
    [
        (hubless_client.CollectionNotFound, lambda client: client.query("nothing", [1.0])),
        (hubless_client.PointNotFound, lambda client: client.point("words", "nobody")),
        (hubless_client.PointNotFound, lambda client: client.point("numbers", "not a number")),
        (hubless_client.DimensionMismatch, lambda client: client.query("words", [1.0, 2.0])),
        (hubless_client.DimensionMismatch, lambda client: client.query("words", [1.0, 2.0], params={})),
        (hubless_client.DimensionMismatch, lambda client: client.query_batch("words", [[1.0, 2.0]])),
        (hubless_client.NotFinite, lambda client: client.query("words", [float("nan")] * catalogs.DIM)),
        (hubless_client.NotFinite, lambda client: client.query("words", [1e300] * catalogs.DIM)),
        (hubless_client.ZeroVector, lambda client: client.query("words", [0.0] * catalogs.DIM)),
        (hubless_client.NoEncoder, lambda client: client.query("numbers", text="amber")),
        (hubless_client.UnknownWords, lambda client: client.query("words", text="zzz")),
        (hubless_client.InputError, lambda client: client.query("words", text="amber", limit=0)),
        (hubless_client.InputError, lambda client: client.query("words", text="amber", limit=2.5)),
        (hubless_client.InputError, lambda client: client.query_batch("words", np.empty((0, catalogs.DIM)))),
        (hubless_client.InputError, lambda client: client.query("words", text="amber", filter={})),
        (hubless_client.UnknownField, lambda client: client.query("words", text="amber", with_payload=["rnak"])),
        (hubless_client.UnknownField, lambda client: client.count("words", filter={"field": "rnak", "eq": 1})),
        (hubless_client.InputError, lambda client: client.points("words", [])),
        (hubless_client.InputError, lambda client: next(client.scroll("words", limit=5000))),
        (hubless_client.CursorExpired, lambda client: client.scroll_page("numbers", cursor=cursor_of_words(client))),
    ],
)
def test_what_the_server_refuses_is_raised_as_the_error_of_its_code(client, kind, ask):
    with pytest.raises(hubless_client.HublessError) as caught:
        ask(client)
    error = caught.value
    assert type(error) is kind
    assert error.code == kind.code
    assert error.detail
    assert error.request_id


def test_wrong_dimension_is_said_with_both_numbers(client):
    with pytest.raises(hubless_client.DimensionMismatch, match=str(catalogs.DIM)) as caught:
        client.query("words", np.ones(7), params={})
    assert caught.value.status == 422
    assert "7" in caught.value.received


def test_batch_whose_wrong_rows_fill_up_to_right_ones_is_a_dimension_mismatch(client):
    # Four rows of DIM/2 are as many numbers as two rows of DIM.
    with pytest.raises(hubless_client.DimensionMismatch, match=f"expected {catalogs.DIM} dimensions"):
        client.query_batch("numbers", np.ones((4, catalogs.DIM // 2)))


def test_every_code_that_the_service_can_answer_has_its_class():
    for code, kind in problems.KINDS.items():
        assert errors.BY_CODE[code].code == code
        assert issubclass(errors.BY_CODE[code], errors.BY_STATUS[kind.status]) or kind.status > 500


def test_key_of_the_client_opens_a_server_that_wants_one_and_is_never_shown(catalog):
    key = "reader-0123456789"
    with serving(create_app(Settings(catalog=catalog, read_keys=key))) as base_url:
        wait_until_ready(base_url)
        with Client(base_url, api_key=key) as client:
            assert len(client.query("words", text="amber")) == 10
            assert set(client.ready().collections) == {"words", "numbers"}
            assert key not in repr(client) + repr(vars(client)) + repr(vars(client._http))
        for wrong in (None, "other-0123456789"):
            with Client(base_url, api_key=wrong) as client:
                with pytest.raises(hubless_client.Unauthenticated) as caught:
                    client.query("words", text="amber")
                assert "0123456789" not in str(caught.value)
                assert client.ready().collections is None


def test_versions_are_activated_and_aliases_changed(tmp_path):
    first, second = versions.build(tmp_path, 2)
    with serving(create_app(Settings(catalog=tmp_path, poll_seconds=3600))) as base_url:
        wait_until_ready(base_url)
        with Client(base_url) as client:
            listed = client.versions(versions.NAME)
            assert [(each.version, each.current, each.state) for each in listed] == [
                (first, False, "stored"),
                (second, True, "served"),
            ]
            assert listed[0].created.tzinfo is not None
            assert [each.current for each in client.activate(versions.NAME, first)] == [True, False]
            while client.collection(versions.NAME).version != first:
                pass
            with pytest.raises(hubless_client.VersionNotFound):
                client.activate(versions.NAME, "..")
            alias = client.set_alias("a", versions.NAME)
            assert client.aliases() == [alias] == [client.alias("a")]
            assert client.query("a", [1.0] * 8).collection == versions.NAME
            assert client.collection("a").aliases == ("a",)
            assert client.collection("a").versions == (first, second)
            with pytest.raises(hubless_client.PreconditionRequired):
                client.set_alias("a", versions.NAME)
            moved = client.set_alias("a", versions.NAME, if_match=alias.etag)
            with pytest.raises(hubless_client.PreconditionFailed):
                client.remove_alias("a", if_match=alias.etag)
            assert client.remove_alias("a", if_match=moved.etag) == moved
            with pytest.raises(hubless_client.AliasNotFound):
                client.alias("a")


def test_async_client_answers_the_same_also_many_at_once(server, client):
    queries = queries_of("numbers", 20)

    async def session():
        async with AsyncClient(server) as client:
            assert await client.ready()
            return await asyncio.gather(*(client.query("numbers", query, limit=3) for query in queries))

    for answer, query in zip(asyncio.run(session()), queries, strict=True):
        same_hits(answer, client.query("numbers", query, limit=3))


def test_hubness_is_that_of_the_answers(client, words):
    query = queries_of("words")[0]
    answer = client.query_batch("words", [query] * 200)  # more than all other tests together ask
    found = client.hubness("words")
    assert (found.collection, found.version, found.k) == ("words", words.version, 10)
    assert found.served.queries > 0.5
    assert {hub.id for hub in found.served.hubs} & {hit.id for hit in client.query("words", query)}
    assert 0 < found.served.hubs[0].share == pytest.approx(found.served.top_hub_share)
    assert found.request_id != answer.request_id
    assert client.hubness("numbers").drift is None


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
        same_hits(answer, client.query("words", vector, limit=13).hits[3:])
        assert [hit.explanation.rank for hit in answer] == list(range(4, 14))
    assert client.query("words", vector)[0].explanation is None
    with pytest.raises(hubless_client.PointNotFound):
        client.query("words", id="nobody")
    with pytest.raises(hubless_client.CannotSend, match="vector and id"):
        client.query("words", vector, id="target-9")
