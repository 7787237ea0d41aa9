"""Every method, and a collection of fewer dimensions, answer over HTTP as they do in the library."""

import httpx
import numpy as np
import pytest
from support.problems import with_hubs
from support.serving import serving_catalog

import hubless
from hubless.corrections import CORRECTIONS, Gate, folds, registered

LIMIT = 5
GATED = {"dis", "dual_dis"}
RESCORED = {name for name in CORRECTIONS if not folds(name) and registered(name).live is not Gate}
SMALL = {"nnn": {"k": 8}, "mp": {"k": 8}}


@pytest.fixture(scope="module")
def methods(tmp_path_factory):
    path, problem = tmp_path_factory.mktemp("methods"), with_hubs(targets=150, bank=80, target_bank=60, seed=3)
    given = problem.targets, problem.bank
    for name in CORRECTIONS:
        more = {"target_bank": problem.target_bank, "parameters": SMALL.get(name)}
        hubless.build(path, name, *given, correction=name, **more)
    hubless.build(path, "few", *given, correction="csls", dims=5)
    with serving_catalog(path) as url:
        yield path, url, problem.queries


@pytest.mark.parametrize("name", [*CORRECTIONS, "few"])
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
    expected = ["parse", "queue", "search", "serialise", "total"]
    assert stages == ([*expected[:3], "rescore", *expected[3:]] if name in RESCORED else expected)


def test_points_of_fewer_dimensions_are_found_where_the_library_puts_them(tmp_path):
    given, url = with_hubs(targets=150, bank=60, queries=4, dim=12, seed=6), "/v1/collections/wide"
    points = [{"id": f"t{row}", "vector": vector.tolist()} for row, vector in enumerate(given.targets)]
    settings = {"dim": 12, "metric": "cosine", "id_type": "string", "dims": 5}
    with serving_catalog(tmp_path, hubness=False) as base, httpx.Client(base_url=base, timeout=60) as http:
        refused = http.put(url, json=settings)
        assert (refused.status_code, "keep_full" in refused.json()["detail"]) == (422, True)
        about = http.put(url, json=settings | {"keep_full": True}).json()
        assert (about["dim"], about["dims"], about["index"]["candidates"]) == (12, 5, 50)
        http.put(f"{url}/points", json={"points": points[:100]}).raise_for_status()
        hubless.merge(tmp_path, "wide", progress=False)
        index = hubless.open(tmp_path, "wide")
        assert (index.manifest.dims, index.stored_dim, index.manifest.index.candidates) == (5, 12, 50)
        http.put(f"{url}/points", json={"points": points[100:]}).raise_for_status()
        index.add(given.targets[100:], ids=[point["id"] for point in points[100:]])
        for vector in given.queries:
            hits = http.post(f"{url}/query", json={"vector": vector.tolist()}).json()["hits"]
            found = index.query(vector, 10)
            assert [hit["id"] for hit in hits] == found.ids[0]
            assert [hit["score"] for hit in hits] == pytest.approx(found.scores[0].tolist(), abs=1e-5)
