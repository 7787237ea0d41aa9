"""Over HTTP come the hits of the library, whichever way the query goes in."""

import base64

import numpy as np
import pytest
from support import catalogs

import hubless

QUERIES = catalogs.words().query_bank[:8]
OPTIONS = [{}, {"limit": 3, "strength": 0.0}, {"limit": 25, "strength": 1.7}]


def library_hits(collection, vectors, limit=10, strength=1.0):
    results = collection.query(vectors, limit=limit, strength=strength)
    members = ("id", "score", "similarity", "offset", "share")
    return [[{name: getattr(hit, name) for name in members} for hit in hits] for hits in results]


def as_list(http, path, vector, options):
    return http.post(path, json={"vector": vector.tolist(), **options})


def as_base64(http, path, vector, options):
    return http.post(path, json={"vector": base64.b64encode(vector.astype("<f4").tobytes()).decode(), **options})


def as_bytes(http, path, vector, options):
    headers = {"content-type": "application/octet-stream"}
    return http.post(path, content=vector.astype("<f4").tobytes(), params=options, headers=headers)


WAYS = [as_list, as_base64, as_bytes]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["words", "numbers"])
def test_one_vector_gets_the_librarys_hits_exactly(http, request, name, way, options):
    collection = request.getfixturevalue(name)
    for vector in QUERIES[:3]:
        answer = way(http, f"/v1/collections/{name}/query", vector, options).json()
        assert answer["hits"] == library_hits(collection, vector, **options)[0]
        assert (answer["collection"], answer["version"]) == (name, collection.version)


@pytest.mark.parametrize("options", OPTIONS)
def test_batch_gets_the_librarys_hits_in_order_as_json_and_as_bytes(http, words, options):
    path, expected = "/v1/collections/words/query/batch", library_hits(words, QUERIES, **options)
    queries = [{"vector": vector.tolist(), **options} for vector in QUERIES]
    for answer in (http.post(path, json={"queries": queries}), as_bytes(http, path, QUERIES, options)):
        assert [result["hits"] for result in answer.json()["results"]] == expected


def test_text_gets_the_hits_of_its_vector(http, words):
    answer = http.post("/v1/collections/words/query", json={"text": "amber cedar"}).json()
    assert answer["hits"] == library_hits(words, words.encode(["amber cedar"]))[0]


@pytest.mark.parametrize("strength", [0, 0.3, 1, 2])
@pytest.mark.parametrize("name", ["words", "numbers"])
def test_score_is_similarity_minus_strength_times_offset_in_every_hit(http, name, strength, vector):
    body = {"vector": vector.tolist(), "strength": strength, "limit": catalogs.COUNT + 100}
    hits = http.post(f"/v1/collections/{name}/query", json=body).json()["hits"]
    assert len(hits) == catalogs.COUNT
    for hit in hits:
        assert hit["score"] == pytest.approx(hit["similarity"] - strength * hit["offset"], abs=1e-5)
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


def test_payload_and_vector_come_with_each_hit_when_asked_for(http, vector):
    data = catalogs.words()
    payloads = dict(zip(data.ids, catalogs.payload(), strict=True))
    vectors = dict(zip(data.ids, data.targets, strict=True))
    body = {"vector": vector.tolist(), "with": ["payload", "vector"]}
    for hit in http.post("/v1/collections/words/query", json=body).json()["hits"]:
        assert hit["payload"] == payloads[hit["id"]]
        np.testing.assert_allclose(hit["vector"], vectors[hit["id"]], atol=1e-6)


def test_extras_in_the_url_are_those_of_the_body(http, vector):
    body = {"vector": vector.tolist(), "with": ["payload", "vector"], "score_threshold": 0.2}
    url = {"with": "payload,vector", "score_threshold": "0.2"}
    in_body = as_list(http, "/v1/collections/words/query", vector, body).json()
    assert as_bytes(http, "/v1/collections/words/query", vector, url).json() == in_body


def test_payload_of_a_collection_without_one_is_null(http, vector):
    hits = as_list(http, "/v1/collections/numbers/query", vector, {"with": ["payload"]}).json()["hits"]
    assert {hit["payload"] for hit in hits} == {None}


def test_hits_have_nothing_that_was_not_asked_for(http, vector):
    (hit,) = as_list(http, "/v1/collections/words/query", vector, {"limit": 1}).json()["hits"]
    assert set(hit) == {"id", "score", "similarity", "offset", "share"}


def test_score_threshold_drops_the_hits_below_it(http, words, vector):
    everything = library_hits(words, vector, limit=50)[0]
    threshold = everything[20]["score"]
    answer = as_list(http, "/v1/collections/words/query", vector, {"limit": 50, "score_threshold": threshold})
    assert answer.json()["hits"] == everything[:21]


def test_limit_is_ten_unless_given(http, vector):
    assert len(as_list(http, "/v1/collections/words/query", vector, {}).json()["hits"]) == 10


def test_null_fields_are_fields_that_are_not_given(http, vector):
    nothing = dict.fromkeys(["text", "limit", "strength", "filter", "with", "params", "score_threshold"])
    answer = as_list(http, "/v1/collections/words/query", vector, nothing)
    assert answer.json() == as_list(http, "/v1/collections/words/query", vector, {}).json()


def test_whole_numbers_are_numbers(http, numbers):
    vector = np.arange(catalogs.DIM, dtype=np.float32)
    answer = http.post("/v1/collections/numbers/query", json={"vector": list(range(catalogs.DIM))})
    assert answer.json()["hits"] == library_hits(numbers, vector)[0]


def test_params_reach_the_index(tmp_path, serve, vector):
    data = catalogs.words()
    hubless.build(tmp_path, "graph", data.targets, data.query_bank, index="hnsw", progress=False)
    graph = hubless.open(tmp_path, "graph")
    seen = []
    ask = graph.query
    graph.query = lambda *args, **kwargs: seen.append(kwargs.get("parameters")) or ask(*args, **kwargs)
    with serve({"graph": graph}) as (client, _):
        answer = client.post("/v1/collections/graph/query", json={"vector": vector.tolist(), "params": {"ef": 99}})
        assert answer.status_code == 200
    assert seen[-1] == {"ef": 99}
