"""Metric euclidean over HTTP: a collection that is created, written to, corrected and merged."""

import httpx
import numpy as np
import pytest
from support import by_distance
from support.by_distance import away_from_origin, check_ranking
from support.serving import serving_catalog
from support.until import until

import hubless

PROBLEM = away_from_origin(seed=8, targets=120)
NOTES = "/v1/collections/notes"


@pytest.fixture
def notes(tmp_path):
    """A client of an empty collection by distance, and the catalog."""
    with serving_catalog(tmp_path) as url, httpx.Client(base_url=url, timeout=60) as client:
        settings = {"dim": 12, "metric": "euclidean", "id_type": "int64"}
        until(lambda: client.put(NOTES, json=settings).is_success)
        yield client, tmp_path


def put(client, first, last):
    rows = range(first, last)
    points = [{"id": row, "vector": PROBLEM.targets[row].tolist(), "payload": {"even": row % 2 == 0}} for row in rows]
    client.put(f"{NOTES}/points", json={"points": points}).raise_for_status()


def give_bank(client, queries, count, **more):
    """Put bank queries, and wait until the process that fits them has ended."""
    client.put(f"{NOTES}/bank", json={"vectors": queries.tolist()} | more).raise_for_status()

    def ended():
        bank = client.get(f"{NOTES}/bank").json()
        return bank["waiting"] is None and bank["work"]["state"] == "done" and bank["queries"] == count and bank

    assert until(ended)["correction"] == "csls"


def vector(client, row):
    """The vector of a target, as it is sent."""
    return np.array(client.get(f"{NOTES}/points/{row}", params={"with": "vector"}).json()["vector"], np.float32)


def hits(client, vector, **more):
    answer = client.post(f"{NOTES}/query", json={"vector": vector.tolist(), "limit": 10} | more)
    return answer.raise_for_status().json()["hits"]


def ranking(client, **more):
    """The ids (m, k) of the hits of each query: one by one, and all in a batch of bytes."""
    found = [[hit["id"] for hit in hits(client, query, **more)] for query in PROBLEM.queries]
    if not more:
        body, kind = PROBLEM.queries.astype("<f4").tobytes(), {"Content-Type": "application/octet-stream"}
        answer = client.post(f"{NOTES}/query/batch", content=body, headers=kind).raise_for_status().json()
        assert [[hit["id"] for hit in each["hits"]] for each in answer["results"]] == found
    return np.array(found)


def test_collection_that_is_written_to_ranks_by_distance_all_its_life(notes):
    client, path = notes
    assert client.get(NOTES).json()["metric"] == "euclidean"
    put(client, 0, 100)
    near = by_distance.similarities(PROBLEM.queries, PROBLEM.targets)
    check_ranking(ranking(client), near[:, :100])
    check_ranking(ranking(client, filter={"even": True}) // 2, near[:, :100:2])
    # a bank corrects it, as a build does
    give_bank(client, PROBLEM.bank, len(PROBLEM.bank), correction="csls")
    put(client, 100, 120)
    expected = by_distance.scores("csls", PROBLEM)
    check_ranking(ranking(client), expected)
    check_ranking(ranking(client, strength=0), near)
    # more queries join those that it was fitted on
    give_bank(client, PROBLEM.queries, len(PROBLEM.bank) + len(PROBLEM.queries), mode="append")
    hubless.merge(path, "notes", progress=False)
    both = by_distance.similarities(np.concatenate([PROBLEM.bank, PROBLEM.queries]), PROBLEM.targets)
    expected = near - np.sort(both, axis=0)[-10:].mean(axis=0) / 2
    check_ranking(ranking(client), expected)
    version = hubless.open(path, "notes").version
    changed = client.get(f"{NOTES}/versions/{version}/diff").raise_for_status().json()
    assert changed["canaries"]
    assert all(len(each["after"]) == 10 and each["kept"] for each in changed["canaries"])
    # what is sent back is what was sent
    np.testing.assert_array_equal(vector(client, 7), PROBLEM.targets[7])
    hit = hits(client, PROBLEM.queries[0], explain=True, **{"with": ["vector"]})[0]
    np.testing.assert_array_equal(np.array(hit["vector"], np.float32), PROBLEM.targets[hit["id"]])
    assert hit["similarity"] == pytest.approx(near[0, hit["id"]], rel=1e-5)
    assert hit["explanation"]["raw_rank"] == 1 + int((near[0] > near[0, hit["id"]]).sum())
    stored = client.get(f"{NOTES}/bank/0").json()["vector"]
    assert (
        np.abs(PROBLEM.bank - np.array(stored, np.float32)).sum(axis=1).min() == 0 or stored in PROBLEM.queries.tolist()
    )
    # a change of payload leaves the vector
    client.patch(f"{NOTES}/points", json={"points": [{"id": 7, "payload": {"even": True}}]}).raise_for_status()
    np.testing.assert_array_equal(vector(client, 7), PROBLEM.targets[7])
    like = client.post(f"{NOTES}/query", json={"id": 7, "limit": 5}).json()["hits"]
    apart = by_distance.similarities(PROBLEM.targets[[7]], PROBLEM.targets)[0]
    assert [hit["id"] for hit in like] == np.argsort(-apart)[1:6].tolist()
    answer = client.post(f"{NOTES}/query", json={"vector": PROBLEM.queries[0].tolist()}).json()
    assert 0 <= answer["confidence"] <= 1
