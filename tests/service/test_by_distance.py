"""Metric euclidean over HTTP: every correction, and a collection that is created, written to, corrected and merged."""

import httpx
import numpy as np
import pytest
from support import by_distance
from support.by_distance import PARAMETERS, TAKE_TARGETS, away_from_origin, check_ranking
from support.serving import serving_catalog
from support.until import until

import hubless
from hubless.corrections import CORRECTIONS

PROBLEM = away_from_origin(seed=8, targets=120)
TRAINED = away_from_origin(seed=3, targets=1000, bank=300, queries=30, dim=24)
NOTES = "/v1/collections/notes"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    path = tmp_path_factory.mktemp("distances")
    even = [{"even": row % 2 == 0} for row in range(len(PROBLEM.targets))]
    for name in CORRECTIONS:
        bank = PROBLEM.target_bank if name in TAKE_TARGETS else None
        more = {"metric": "euclidean", "correction": name, "parameters": PARAMETERS[name], "payload": even}
        hubless.build(path, name, PROBLEM.targets, PROBLEM.bank, target_bank=bank, progress=False, **more)
    more = {"metric": "euclidean", "correction": "csls", "index": "fastscan"}
    hubless.build(path, "trained", TRAINED.targets, TRAINED.bank, progress=False, **more)
    with serving_catalog(path) as url:
        yield path, url


def rows_of(url, name, queries, **more):
    """The ids and similarities (m, k) of the hits of each query."""
    asked = [{"vector": query.tolist(), "limit": 10} | more for query in queries]
    answer = httpx.post(f"{url}/v1/collections/{name}/query/batch", json={"queries": asked}, timeout=60)
    found = [[(hit["id"], hit["similarity"]) for hit in each["hits"]] for each in answer.json()["results"]]
    return np.array([[hit[0] for hit in line] for line in found]), np.array(
        [[hit[1] for hit in line] for line in found]
    )


@pytest.mark.parametrize("name", CORRECTIONS)
def test_correction_ranks_by_distances_over_http(built, name):
    path, url = built
    details = hubless.open(path, name).manifest.correction.details
    expected = by_distance.scores(name, PROBLEM, details)
    rows, similar = rows_of(url, name, PROBLEM.queries)
    check_ranking(rows, expected)
    near = by_distance.similarities(PROBLEM.queries, PROBLEM.targets)
    np.testing.assert_allclose(similar, np.take_along_axis(near, rows, axis=1), rtol=1e-5, atol=1e-4)
    filtered, _ = rows_of(url, name, PROBLEM.queries, filter={"even": True}, params={"exact": True})
    assert not (filtered % 2).any()
    if name not in ("dis", "dual_dis"):  # there the first of those that match opens the gate
        check_ranking(filtered // 2, expected[:, ::2])


def test_trained_index_ranks_by_distances_over_http(built):
    _, url = built
    near = by_distance.similarities(TRAINED.queries, TRAINED.targets)
    bank = np.sort(by_distance.similarities(TRAINED.bank, TRAINED.targets), axis=0)[-10:].mean(axis=0)
    expected = near - bank / 2
    for strength, ranked in ((1, expected), (0, near)):
        rows, _ = rows_of(url, "trained", TRAINED.queries, strength=strength)
        best = np.argsort(-ranked, axis=1)[:, :10]
        shared = [len(set(found) & set(right)) / 10 for found, right in zip(rows.tolist(), best.tolist(), strict=True)]
        assert np.mean(shared) > 0.93
    exact, _ = rows_of(url, "trained", TRAINED.queries, params={"exact": True})
    check_ranking(exact, expected)


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


def test_collection_that_is_written_to_ranks_by_distance_all_its_life(notes):
    client, path = notes
    assert client.get(NOTES).json()["metric"] == "euclidean"
    put(client, 0, 100)
    near = by_distance.similarities(PROBLEM.queries, PROBLEM.targets)
    found = np.array([[hit["id"] for hit in hits(client, query)] for query in PROBLEM.queries])
    check_ranking(found, near[:, :100])
    # a bank corrects it, as a build does
    give_bank(client, PROBLEM.bank, len(PROBLEM.bank), correction="csls")
    put(client, 100, 120)
    expected = by_distance.scores("csls", PROBLEM)
    found = np.array([[hit["id"] for hit in hits(client, query)] for query in PROBLEM.queries])
    check_ranking(found, expected)
    # more queries join those that it was fitted on
    give_bank(client, PROBLEM.queries, len(PROBLEM.bank) + len(PROBLEM.queries), mode="append")
    hubless.merge(path, "notes", progress=False)
    both = by_distance.similarities(np.concatenate([PROBLEM.bank, PROBLEM.queries]), PROBLEM.targets)
    expected = near - np.sort(both, axis=0)[-10:].mean(axis=0) / 2
    found = np.array([[hit["id"] for hit in hits(client, query)] for query in PROBLEM.queries])
    check_ranking(found, expected)
    version = hubless.open(path, "notes").version
    changed = client.get(f"{NOTES}/versions/{version}/diff").raise_for_status().json()
    assert changed["canaries"]
    assert all(len(each["after"]) == 10 and each["kept"] for each in changed["canaries"])
    # what is sent back is what was sent
    np.testing.assert_array_equal(vector(client, 7), PROBLEM.targets[7])
    hit = hits(client, PROBLEM.queries[0], explain=True, **{"with": ["vector"]})[0]
    np.testing.assert_array_equal(np.array(hit["vector"], np.float32), PROBLEM.targets[hit["id"]])
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


def test_binary_vectors_are_compared_by_distance(notes):
    client, _ = notes
    put(client, 0, 120)
    body = PROBLEM.queries[:4].astype("<f4").tobytes()
    headers = {"Content-Type": "application/octet-stream"}
    answer = client.post(f"{NOTES}/query/batch", content=body, headers=headers).raise_for_status().json()
    found = np.array([[hit["id"] for hit in each["hits"]] for each in answer["results"]])
    check_ranking(found, by_distance.similarities(PROBLEM.queries[:4], PROBLEM.targets))
