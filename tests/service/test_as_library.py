"""Over HTTP come the hits of the library, whichever way the query goes in and whatever it asks for."""

import base64
from dataclasses import asdict
from itertools import chain

import httpx
import numpy as np
import pytest
from support import catalogs
from support.serving import serving_catalog

import hubless

QUERIES = catalogs.words().query_bank[:8]
FEW = {"field": "rank", "lt": 9}
EVERYWHERE = [{}, {"limit": 3, "strength": 0.0}, {"limit": catalogs.COUNT + 100, "strength": 1.7}, {"skip": 7}]
WITH_PAYLOAD = [
    {"explain": True, "skip": 2},
    {"filter": {"field": "tags", "contains": "amber"}},
    {"filter": {"field": "rank", "gte": 40, "lt": 60}},
    {"filter": {"and": [{"field": "title", "prefix": "a"}, {"not": {"field": "rank", "in": [0, 18]}}]}},
    {"filter": {"field": "rank", "eq": 299}},
    {"filter": {"field": "rank", "gt": 299}},
    {"filter": {"rank": [7, 40, 41]}},
    {"group_by": "rank", "limit": 20, "explain": True},
    {"diversity": 0.6},
    {"diversity": 1, "group_by": "rank", "skip": 2, "filter": FEW, "explain": True},
]
OPTIONS = [("numbers", each) for each in EVERYWHERE] + [("words", each) for each in (*EVERYWHERE, *WITH_PAYLOAD)]


def library_hits(collection, vectors, **options):
    found = collection.query(vectors, **options)
    members = ["id", "score", "similarity", "offset", "share"]
    hits = [[{name: getattr(hit, name) for name in members} for hit in line] for line in found]
    if options.get("explain"):
        for line, reasons in zip(hits, found.explanations, strict=True):
            for hit, why in zip(line, reasons, strict=True):
                hit["explanation"] = asdict(why)
    return hits


def as_list(http, path, vector, options):
    return http.post(path, json={"vector": vector.tolist(), **options})


def as_base64(http, path, vector, options):
    return http.post(path, json={"vector": base64.b64encode(vector.astype("<f4").tobytes()).decode(), **options})


def as_bytes(http, path, vector, options):
    headers = {"content-type": "application/octet-stream"}
    return http.post(path, content=vector.astype("<f4").tobytes(), params=options, headers=headers)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_hits_are_exactly_those_of_the_library_alone_and_in_a_batch(http, request, name, options):
    collection, path = request.getfixturevalue(name), f"/v1/collections/{name}/query"
    ways = [as_list, as_base64] if "filter" in options else [as_list, as_base64, as_bytes]
    for way in ways:
        for vector in QUERIES[:2]:
            answer = way(http, path, vector, options).json()
            assert answer["hits"] == library_hits(collection, vector, **options)[0]
            assert (answer["collection"], answer["version"]) == (name, collection.version)
    queries = [{"vector": vector.tolist(), **options} for vector in QUERIES]
    expected = library_hits(collection, QUERIES, **options)
    batches = [http.post(f"{path}/batch", json={"queries": queries})]
    if "filter" not in options:
        batches.append(as_bytes(http, f"{path}/batch", QUERIES, options))
    for batch in batches:
        assert [result["hits"] for result in batch.json()["results"]] == expected


@pytest.mark.parametrize("options", [{}, {"group_by": "rank"}, {"explain": True}])
def test_threshold_cuts_the_hits_below_it(http, vector, options):
    whole = as_list(http, "/v1/collections/words/query", vector, options).json()["hits"]
    cut = {**options, "score_threshold": whole[3]["score"]}
    for way in (as_list, as_bytes):
        assert way(http, "/v1/collections/words/query", vector, cut).json()["hits"] == whole[:4]


def test_text_gets_the_hits_of_its_vector(http, words):
    answer = http.post("/v1/collections/words/query", json={"text": "amber cedar"}).json()
    assert answer["hits"] == library_hits(words, words.encode(["amber cedar"]))[0]


@pytest.mark.parametrize(("name", "wanted"), [("words", "target-50"), ("numbers", catalogs.LARGEST_ID)])
def test_query_by_id_is_that_of_the_library_without_the_target_and_without_its_correction(http, request, name, wanted):
    collection, path = request.getfixturevalue(name), f"/v1/collections/{name}/query"
    for options in ({"limit": 5, "strength": 0.5}, {"limit": catalogs.COUNT}):
        hits = http.post(path, json={"id": wanted, **options}).json()["hits"]
        assert [hit["id"] for hit in hits] == collection.query(ids=[wanted], **options).ids[0]
    assert wanted not in [hit["id"] for hit in hits]
    assert all(hit["score"] == pytest.approx(hit["similarity"], abs=1e-6) for hit in hits)


def test_batch_of_all_kinds_of_questions_answers_each_as_if_it_were_alone(http, vector):
    queries = [
        {"id": "target-9"},
        {"vector": vector.tolist()},
        {"id": "target-10", "filter": FEW},
        {"id": "..", "filter": FEW, "limit": 50},
        {"text": "amber", "skip": 2},
        {"id": "target-11", "explain": True},
        {"id": "target-12", "skip": 1},
    ]
    path = "/v1/collections/words/query"
    answer = http.post(f"{path}/batch", json={"queries": queries})
    assert answer.status_code == 200, answer.text
    batch = [[hit["id"] for hit in result["hits"]] for result in answer.json()["results"]]
    assert batch == [[hit["id"] for hit in http.post(path, json=query).json()["hits"]] for query in queries]
    assert [len(hits) for hits in batch] == [10, 10, 9, 8, 10, 10, 10]
    assert [["explanation" in hit for hit in result["hits"]] == [True] * 10 for result in answer.json()["results"]] == [
        query.get("explain", False) for query in queries
    ]


def test_id_that_no_target_bears_is_named_also_in_a_batch(http):
    path = "/v1/collections/words/query"
    alone = http.post(path, json={"id": "nobody"})
    assert (alone.status_code, alone.json()["code"]) == (404, "point_not_found")
    batch = http.post(f"{path}/batch", json={"queries": [{"id": "a/b"}, {"id": "nobody"}]})
    assert (batch.status_code, batch.json()["code"]) == (404, "point_not_found")
    assert batch.json()["detail"] == "queries[1].id: no target has the id 'nobody'"


@pytest.mark.parametrize("way", [as_list, as_bytes])
def test_payload_and_vector_come_with_each_hit_when_asked_for(http, vector, way):
    data = catalogs.words()
    payloads = dict(zip(data.ids, catalogs.payload(), strict=True))
    vectors = dict(zip(data.ids, data.targets, strict=True))
    extras = {"with": "payload,vector" if way is as_bytes else ["payload", "vector"]}
    for hit in way(http, "/v1/collections/words/query", vector, extras).json()["hits"]:
        assert hit["payload"] == payloads[hit["id"]]
        np.testing.assert_allclose(hit["vector"], vectors[hit["id"]], atol=1e-6)


def test_payload_of_a_collection_without_one_is_null(http, vector):
    hits = as_list(http, "/v1/collections/numbers/query", vector, {"with": ["payload"]}).json()["hits"]
    assert {hit["payload"] for hit in hits} == {None}


def test_null_fields_are_fields_that_are_not_given_and_the_limit_is_ten(http, vector):
    nothing = dict.fromkeys(["text", "limit", "strength", "filter", "with", "params", "score_threshold"])
    answer = as_list(http, "/v1/collections/words/query", vector, nothing).json()
    assert answer == as_list(http, "/v1/collections/words/query", vector, {}).json()
    assert len(answer["hits"]) == 10


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


def test_pages_of_equal_targets_are_parts_of_the_longest_answer(tmp_path):
    rows = catalogs.numbers().targets[:30]
    hubless.build(tmp_path, "copies", np.vstack([rows, rows]), metric="dot", correction="none", index="flat")
    with serving_catalog(tmp_path) as url:

        def ids(**asked):
            answer = httpx.post(f"{url}/v1/collections/copies/query", json=asked).json()
            return [hit["id"] for hit in answer["hits"]]

        for vector in (np.zeros(catalogs.DIM).tolist(), rows[0].tolist()):
            pages = [ids(vector=vector, limit=7, skip=skip) for skip in range(0, 63, 7)]
            assert list(chain.from_iterable(pages)) == ids(vector=vector, limit=60)
