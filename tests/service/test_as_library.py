"""Over HTTP comes what the library says, whichever way a query goes in and whatever it asks for: a table of calls."""

import base64
import json
from dataclasses import asdict
from itertools import chain

import numpy as np
import pytest
from support import by_distance, catalogs
from support.photos import COLOURS, built_photos, in_base64, solid
from support.problems import with_hubs
from support.serving import serving_catalog

import hubless
from hubless.corrections import CORRECTIONS, Gate, folds, registered

QUERIES = catalogs.words().query_bank[:8]
FEW = {"field": "rank", "lt": 9}
EVERYWHERE = [
    {},
    {"limit": 3, "strength": 0.0},
    {"limit": catalogs.COUNT + 100, "strength": 1.7},
    {"skip": 7},
    {"min_confidence": 0.25},
    {"min_presence": 0.5, "limit": 5},
]
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
    {"with_payload": True},
    {"with_payload": ["rank"], "limit": 2},
]
SMALL = {"nnn": {"k": 8}, "mp": {"k": 8}}
OTHERS = {
    "few": {"correction": "csls", "dims": 5},
    "far": {"correction": "csls", "metric": "euclidean"},
    "graph": {"correction": "none", "index": "hnsw"},
    "copies": {"correction": "none", "index": "flat", "metric": "dot"},
}
"""Collections that are built otherwise. Of `copies`, each target is there twice."""
CALLS = [
    *(("numbers", each) for each in EVERYWHERE),
    *(("words", each) for each in (*EVERYWHERE, *WITH_PAYLOAD)),
    *((name, {"limit": 5}) for name in (*CORRECTIONS, *OTHERS)),
    ("copies", {"limit": 7, "skip": 7}),
    *(("sure", {"min_accuracy": least, "limit": 2}) for least in (0, 0.9)),
    ("sure", {"coverage": 0.8, "limit": 3}),
    ("plain", {"min_presence": 0}),
    ("graph", {"parameters": {"ef": 99}}),
]
RESCORED = {name for name in CORRECTIONS if not folds(name) and registered(name).live is not Gate}


def calibrated():
    """An index whose first hits are right where they are far ahead."""
    problem = with_hubs(targets=60, bank=400, dim=catalogs.DIM, seed=1)
    index = hubless.Index("none", "cosine").fit(problem.bank, problem.targets)
    best = index.query(problem.bank, 2)
    sure = best.confidence > np.quantile(best.confidence, 0.4)
    return index.calibrate(problem.bank, np.where(sure, best.rows[:, 0], best.rows[:, 1])) or index


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = catalogs.build(tmp_path_factory.mktemp("asked"))
    problem = with_hubs(targets=150, bank=80, target_bank=60, dim=catalogs.DIM, seed=3)
    for name in CORRECTIONS:
        more = {"target_bank": problem.target_bank, "parameters": SMALL.get(name)}
        hubless.build(path, name, problem.targets, problem.bank, correction=name, **more)
    for name, options in OTHERS.items():
        rows = np.vstack([problem.targets[:30]] * 2) if name == "copies" else problem.targets
        hubless.build(path, name, rows, problem.bank, **options)
    calibrated().save(path, "sure")
    hubless.Index("none", "cosine").fit(None, problem.targets).save(path, "plain")
    return path


@pytest.fixture(scope="module")
def http(path, contract):
    with serving_catalog(path) as url, contract.client(url, timeout=60) as client:
        yield client


@pytest.fixture(scope="module")
def library(path):
    opened = {}
    return lambda name: opened.get(name) or opened.setdefault(name, hubless.open(path, name))


def said(collection, given, **options):
    """What the library says of each query, as HTTP has it."""
    found = (
        collection.query(given, **options) if isinstance(given, np.ndarray) else collection.query(ids=given, **options)
    )
    answers = [{"hits": []} for _ in range(len(found))]
    for line, answer in enumerate(answers):
        for rank, hit in enumerate(found[line]):
            made = {name: getattr(hit, name) for name in ("id", "score", "similarity", "offset")}
            if hit.share is not None:
                made["share"] = hit.share
            if options.get("explain"):
                made["explanation"] = asdict(found.explanations[line][rank])
            if "with_payload" in options:
                made["payload"] = hit.payload
            answer["hits"].append(made)
        if found.confidence is not None:
            sure = {name: float(getattr(found, name)[line]) for name in ("confidence", "presence")}
            answer |= sure | {"calibrated": found.calibrated, "answered": bool(found.answered[line])}
        if found.corrected is not None:
            answer["corrected"] = bool(found.corrected[line])
    return answers


def check(answers, expected):
    """Fail unless answers say the same; numbers of rescorers are sums in another order."""
    assert len(answers) == len(expected)
    for answer, wanted in zip(answers, expected, strict=True):
        assert without_place(answer) == approximately(wanted)


def without_place(answer):
    return {name: each for name, each in answer.items() if name not in ("collection", "version")}


def approximately(value):
    if isinstance(value, dict):
        return {name: approximately(each) for name, each in value.items()}
    if isinstance(value, list):
        return [approximately(each) for each in value]
    return pytest.approx(value, abs=1e-5) if isinstance(value, float) else value


def of_http(options):
    """Options by their names over HTTP."""
    sent = dict(options)
    if "parameters" in sent:
        sent["params"] = sent.pop("parameters")
    if columns := sent.pop("with_payload", None):
        sent["with"] = ["payload"] if columns is True else [f"payload.{column}" for column in columns]
    return sent


def as_list(http, path, vector, options):
    return http.post(path, json={"vector": vector.tolist(), **options})


def as_base64(http, path, vector, options):
    return http.post(path, json={"vector": base64.b64encode(vector.astype("<f4").tobytes()).decode(), **options})


def as_bytes(http, path, vector, options):
    params = {name: ",".join(each) if isinstance(each, list) else each for name, each in options.items()}
    headers = {"content-type": "application/octet-stream"}
    return http.post(path, content=vector.astype("<f4").tobytes(), params=params, headers=headers)


def name_of(call):
    return f"{call[0]} {json.dumps(call[1])}"


@pytest.mark.parametrize("call", CALLS, ids=name_of)
def test_answers_are_those_of_the_library_alone_and_in_a_batch(http, library, call):
    name, options = call
    collection, path, sent = library(name), f"/v1/collections/{name}/query", of_http(options)
    expected = said(collection, QUERIES, **options)
    in_a_url = not {"filter", "params"} & sent.keys()
    for way in (as_list, as_base64, as_bytes) if in_a_url else (as_list, as_base64):
        for line in range(2):
            answer = way(http, path, QUERIES[line], sent)
            check([answer.json()], expected[line : line + 1])
            assert (answer.json()["collection"], answer.json()["version"]) == (name, collection.version)
    assert ("rescore" in answer.headers["server-timing"]) == (name in RESCORED)
    batches = [http.post(f"{path}/batch", json={"queries": [{"vector": each.tolist(), **sent} for each in QUERIES]})]
    if in_a_url:
        batches.append(as_bytes(http, f"{path}/batch", QUERIES, sent))
    for batch in batches:
        check(batch.json()["results"], expected)


def test_thresholds_of_the_table_leave_out_some_answers(library):
    for name, options in [("words", EVERYWHERE[4]), ("words", EVERYWHERE[5]), ("sure", {"min_accuracy": 0.9})]:
        assert 0 < sum(answer["answered"] for answer in said(library(name), QUERIES, **options)) < len(QUERIES)


@pytest.mark.parametrize("options", [{}, {"group_by": "rank"}, {"explain": True}])
def test_threshold_cuts_the_hits_below_it(http, vector, options):
    whole = as_list(http, "/v1/collections/words/query", vector, options).json()["hits"]
    cut = {**options, "score_threshold": whole[3]["score"]}
    for way in (as_list, as_bytes):
        assert way(http, "/v1/collections/words/query", vector, cut).json()["hits"] == whole[:4]


@pytest.mark.parametrize(("name", "wanted"), [("words", "target-50"), ("numbers", catalogs.LARGEST_ID)])
def test_query_by_id_is_that_of_the_library(http, library, name, wanted):
    for options in ({"limit": 5, "strength": 0.5}, {"limit": catalogs.COUNT}):
        answer = http.post(f"/v1/collections/{name}/query", json={"id": wanted, **options}).json()
        check([answer], said(library(name), [wanted], **options))
    assert wanted not in [hit["id"] for hit in answer["hits"]]


def test_batch_of_all_kinds_of_questions_answers_each_as_if_it_were_alone(http, library, vector):
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
    batch = http.post(f"{path}/batch", json={"queries": queries}).json()["results"]
    check(batch, [without_place(http.post(path, json=query).json()) for query in queries])
    assert [len(result["hits"]) for result in batch] == [10, 10, 9, 8, 10, 10, 10]
    words = library("words")
    check(batch[4:5], said(words, words.encode(["amber"]), skip=2))


def test_picture_gets_the_answer_of_its_vector(tmp_path, contract):
    with built_photos(tmp_path) as catalog, serving_catalog(catalog) as url, contract.client(url) as client:
        photos = hubless.open(catalog, "photos")
        sent = [solid(colour, "JPEG") for colour in COLOURS]
        body = {"queries": [{"image": in_base64(each), "limit": 5} for each in sent]}
        answer = client.post("/v1/collections/photos/query/batch", json=body).json()
        check(answer["results"], said(photos, photos.encode_pictures(sent), limit=5))


@pytest.mark.parametrize("way", [as_list, as_bytes])
def test_vector_comes_with_each_hit_when_asked_for(http, vector, way):
    vectors = dict(zip(catalogs.words().ids, catalogs.words().targets, strict=True))
    for hit in way(http, "/v1/collections/words/query", vector, {"with": ["payload", "vector"]}).json()["hits"]:
        np.testing.assert_allclose(hit["vector"], vectors[hit["id"]], atol=1e-6)
    hits = as_list(http, "/v1/collections/numbers/query", vector, {"with": ["payload"]}).json()["hits"]
    assert {hit["payload"] for hit in hits} == {None}


def test_null_fields_are_fields_that_are_not_given_and_the_limit_is_ten(http, vector):
    nothing = dict.fromkeys(["text", "limit", "strength", "filter", "with", "params", "score_threshold"])
    answer = as_list(http, "/v1/collections/words/query", vector, nothing).json()
    assert answer == as_list(http, "/v1/collections/words/query", vector, {}).json()
    assert len(answer["hits"]) == 10


def test_whole_numbers_and_zeros_are_numbers(http, library):
    for vector in (np.arange(catalogs.DIM), np.zeros(catalogs.DIM, int)):
        answer = http.post("/v1/collections/numbers/query", json={"vector": vector.tolist()}).json()
        check([answer], said(library("numbers"), vector.astype(np.float32)))


def test_pages_of_equal_targets_are_parts_of_the_longest_answer(http):
    def ids(**asked):
        hits = http.post("/v1/collections/copies/query", json={"vector": [0.0] * catalogs.DIM, **asked}).json()["hits"]
        return [hit["id"] for hit in hits]

    pages = [ids(limit=7, skip=skip) for skip in range(0, 63, 7)]
    assert list(chain.from_iterable(pages)) == ids(limit=60)


def test_collection_by_distance_that_is_written_to_and_corrected_ranks_as_the_formula(tmp_path, contract):
    problem, notes = by_distance.away_from_origin(seed=8, targets=120), "/v1/collections/notes"
    points = [{"id": row, "vector": vector.tolist()} for row, vector in enumerate(problem.targets)]
    with serving_catalog(tmp_path) as url, contract.client(url, timeout=60) as client:
        client.put(notes, json={"dim": 12, "metric": "euclidean", "id_type": "int64"}).raise_for_status()
        for part, given in ((points[:100], {"correction": "csls"}), (points[100:], None)):
            client.put(f"{notes}/points", json={"points": part}).raise_for_status()
            if given:
                bank = {"vectors": problem.bank.tolist(), "timeout_ms": 60_000, **given}
                assert client.put(f"{notes}/bank", json=bank).json()["correction"] == "csls"
        ask = {"queries": [{"vector": query.tolist()} for query in problem.queries]}
        results = client.post(f"{notes}/query/batch", json=ask).json()["results"]
        found = np.array([[hit["id"] for hit in each["hits"]] for each in results])
        by_distance.check_ranking(found, by_distance.scores("csls", problem))
        stored = client.get(f"{notes}/points/7", params={"with": "vector"}).json()["vector"]
        np.testing.assert_array_equal(np.array(stored, np.float32), problem.targets[7])
