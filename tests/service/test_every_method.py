"""Every method that a service can have answers over HTTP as it does in the library."""

import httpx
import numpy as np
import pytest
from support.serving import serving_catalog

import hubless
from hubless.corrections import CORRECTIONS, QUERY_TIMES, Gate

LIMIT = 5
GATED = {"dis", "dual_dis"}
RESCORED = {name for name, kind in QUERY_TIMES.items() if not issubclass(kind, Gate)}
SMALL = {"nnn": {"k": 8}, "mp": {"k": 8}}


@pytest.fixture(scope="module")
def methods(tmp_path_factory):
    """One collection a method, over the same targets, and its URL."""
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
    expected = hubless.open(path, name).query(queries[:6], limit=LIMIT)
    body = {"queries": [{"vector": query.tolist(), "limit": LIMIT} for query in queries[:6]]}
    results = httpx.post(f"{url}/v1/collections/{name}/query/batch", json=body).raise_for_status().json()["results"]
    for line, result in enumerate(results):
        assert [hit["id"] for hit in result["hits"]] == expected.ids[line]
        for hit in result["hits"]:
            assert hit["score"] == pytest.approx(hit["similarity"] - hit["offset"], abs=1e-5)
        scores = [hit["score"] for hit in result["hits"]]
        np.testing.assert_allclose(scores, expected.scores[line], atol=1e-5)


@pytest.mark.parametrize("name", CORRECTIONS)
def test_only_gated_methods_say_whether_they_were_switched_on(methods, name):
    path, url, queries = methods
    expected = hubless.open(path, name).query(queries, limit=LIMIT).corrected
    single = [
        httpx.post(f"{url}/v1/collections/{name}/query", json={"vector": query.tolist()}).raise_for_status().json()
        for query in queries[:4]
    ]
    assert all(("corrected" in answer) == (name in GATED) for answer in single)
    if name in GATED:
        assert expected is not None
        assert [answer["corrected"] for answer in single] == expected[:4].tolist()


@pytest.mark.parametrize("name", CORRECTIONS)
def test_server_timing_has_rescoring_apart_from_the_search_where_there_is_any(methods, name):
    _, url, queries = methods
    answer = httpx.post(f"{url}/v1/collections/{name}/query", json={"vector": queries[0].tolist()})
    stages = [stage.partition(";")[0] for stage in answer.headers["server-timing"].split(", ")]
    expected = ["parse", "queue", "search", "payload", "serialise", "total"]
    assert stages == ([*expected[:3], "rescore", *expected[3:]] if name in RESCORED else expected)
