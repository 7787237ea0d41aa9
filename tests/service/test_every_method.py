"""Every method, and a collection of fewer dimensions, answer over HTTP as they do in the library."""

import base64

import httpx
import numpy as np
import pytest
from support.problems import with_hubs
from support.serving import serving_catalog

import hubless
from hubless.corrections import CORRECTIONS, QUERY_TIMES, Gate

LIMIT = 5
GATED = {"dis", "dual_dis"}
RESCORED = {name for name, kind in QUERY_TIMES.items() if not issubclass(kind, Gate)}
SMALL = {"nnn": {"k": 8}, "mp": {"k": 8}}


@pytest.fixture(scope="module")
def methods(tmp_path_factory):
    rng = np.random.default_rng(3)
    lean = rng.normal(size=12)
    targets = rng.normal(size=(150, 12)) + rng.exponential(size=(150, 1)) * lean
    queries = rng.normal(size=(120, 12)) + 2 * lean
    path = tmp_path_factory.mktemp("methods")
    for name in CORRECTIONS:
        hubless.build(
            path,
            name,
            targets.astype(np.float32),
            queries[:80].astype(np.float32),
            target_bank=rng.normal(size=(60, 12)).astype(np.float32),
            correction=name,
            parameters=SMALL.get(name),
        )
    with serving_catalog(path) as url:
        yield path, url, queries[80:].astype(np.float32)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_method_gives_the_same_hits_over_http_as_in_the_library(methods, name):
    path, url, queries = methods
    collection = hubless.open(path, name)
    expected = collection.query(queries[:6], limit=LIMIT)
    body = {"queries": [{"vector": query.tolist(), "limit": LIMIT} for query in queries[:6]]}
    results = httpx.post(f"{url}/v1/collections/{name}/query/batch", json=body).raise_for_status().json()["results"]
    for line, result in enumerate(results):
        assert [hit["id"] for hit in result["hits"]] == expected.ids[line]
        for hit in result["hits"]:
            assert hit["score"] == pytest.approx(hit["similarity"] - hit["offset"], abs=1e-5)
        scores = [hit["score"] for hit in result["hits"]]
        np.testing.assert_allclose(scores, expected.scores[line], atol=1e-5)
    # only gated methods say whether they were switched on, and only some rescore
    answer = httpx.post(f"{url}/v1/collections/{name}/query", json={"vector": queries[0].tolist()}).raise_for_status()
    assert answer.json().get("corrected") == (expected.corrected[0] if name in GATED else None)
    stages = [stage.partition(";")[0] for stage in answer.headers["server-timing"].split(", ")]
    expected = ["parse", "queue", "search", "payload", "serialise", "total"]
    assert stages == ([*expected[:3], "rescore", *expected[3:]] if name in RESCORED else expected)


D, K = 12, 5
GIVEN = with_hubs(targets=150, bank=60, queries=12, dim=D, seed=6)
POINTS, FEW_QUERY = "/v1/collections/few/points", "/v1/collections/few/query"


@pytest.fixture
def client(tmp_path):
    ids = [f"t{row}" for row in range(100)]
    options = {"correction": "csls", "dims": K, "index": "flat"}
    hubless.build(tmp_path, "few", GIVEN.targets[:100], GIVEN.bank, ids=ids, progress=False, **options)
    with serving_catalog(tmp_path, hubness=False) as url, httpx.Client(base_url=url, timeout=60) as client:
        yield client, tmp_path


def hits(client, **body):
    answer = client.post(FEW_QUERY, json=body)
    answer.raise_for_status()
    return [(hit["id"], hit["score"]) for hit in answer.json()["hits"]]


def expected(path, vector):
    found = hubless.open(path, "few").query(vector, 10)
    return list(zip(found.ids[0], found.scores[0].tolist(), strict=True))


def assert_same(found, wanted):
    assert [one for one, _ in found] == [one for one, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-5)


def test_queries_have_all_dimensions_as_numbers_and_as_bytes(client):
    http, path = client
    about = http.get("/v1/collections/few").json()
    assert (about["dim"], about["dims"]) == (D, K)
    for vector in GIVEN.queries[:3]:
        wanted = expected(path, vector)
        assert_same(hits(http, vector=vector.tolist()), wanted)
        assert_same(hits(http, vector=base64.b64encode(vector.tobytes()).decode()), wanted)
        binary = http.post(FEW_QUERY, content=vector.tobytes(), headers={"content-type": "application/octet-stream"})
        assert_same([(hit["id"], hit["score"]) for hit in binary.json()["hits"]], wanted)
    assert http.post(FEW_QUERY, json={"vector": [1.0] * (D - 1)}).status_code == 422


def test_written_points_are_found_in_the_same_places_as_the_library_puts_them(client):
    http, path = client
    points = [{"id": f"t{row}", "vector": GIVEN.targets[row].tolist()} for row in range(100, 150)]
    http.put(POINTS, json={"points": points}).raise_for_status()
    index = hubless.open(path, "few", version=hubless.open(path, "few").version)
    index.add(GIVEN.targets[100:], ids=[f"t{row}" for row in range(100, 150)])
    for vector in GIVEN.queries[:4]:
        found = index.query(vector, 10)
        assert_same(hits(http, vector=vector.tolist()), list(zip(found.ids[0], found.scores[0].tolist(), strict=True)))


def test_collection_is_created_with_an_index_of_fewer_dimensions(client):
    http, path = client
    url, settings = "/v1/collections/wide", {"dim": D, "metric": "cosine", "id_type": "string", "dims": K}
    refused = http.put(url, json=settings)
    assert (refused.status_code, "keep_full" in refused.json()["detail"]) == (422, True)
    about = http.put(url, json=settings | {"keep_full": True}).json()
    assert (about["dims"], about["index"]["candidates"]) == (K, 50)
    points = [{"id": f"t{row}", "vector": GIVEN.targets[row].tolist()} for row in range(100)]
    http.put(f"{url}/points", json={"points": points}).raise_for_status()
    hubless.merge(path, "wide", progress=False)
    opened = hubless.open(path, "wide")
    assert (opened.manifest.dims, opened.stored_dim, opened.manifest.index.candidates) == (K, D, 50)
