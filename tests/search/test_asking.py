import numpy as np
import pytest
from support import problems, small
from support.hubs import unit

import hubless
from hubless.errors import InputError
from hubless.search import question
from hubless.store import bundle

PROBLEM = problems.with_hubs(targets=120, bank=200, dim=16)
IDS = [f"t{row}" for row in range(120)]
PAYLOAD = [{"even": row % 2 == 0} for row in range(120)]
METHODS = ["none", "csls", "dis", "dual_dis", "sinkhorn"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("asking")


@pytest.fixture(scope="module")
def collections(path):
    for method in METHODS:
        options = {"ids": IDS, "payload": PAYLOAD, "correction": method}
        options |= {"target_bank": PROBLEM.target_bank} if method == "dual_dis" else {}
        hubless.build(path, method, PROBLEM.targets, PROBLEM.bank, **options)
    return {method: hubless.open(path, method) for method in METHODS}


@pytest.mark.parametrize("strength", [None, 0.0, 1.0])
@pytest.mark.parametrize("step", [1, 2], ids=["all", "even ones"])
def test_query_by_id_ranks_all_others_by_the_stored_vector(collections, strength, step):
    collection = collections["csls"]
    filter_ = None if step == 1 else {"field": "even", "eq": True}
    found = collection.query(ids=["t3", "t50"], limit=200, strength=strength, filter=filter_)
    targets, there = unit(PROBLEM.targets), np.arange(0, 120, step)
    assert found.rows.shape == (2, len(there) - 1)
    for line, own in enumerate((3, 50)):
        scores = targets @ targets[own] - (strength or 0) * collection.offsets
        ranked = there[np.argsort(-scores[there], kind="stable")]
        expected = ranked[ranked != own][: len(there) - 1]
        np.testing.assert_allclose(found.scores[line], scores[expected], atol=1e-5)
        assert own not in found.rows[line]


@pytest.mark.parametrize("method", METHODS)
def test_query_by_id_is_that_of_a_collection_without_the_target(collections, method):
    """With what was fitted to all of them."""
    collection = collections[method]
    by_id = collection.query(ids=["t3"], limit=5, strength=1.0)
    assert by_id.rows.shape == (1, 5)
    assert 3 not in by_id.rows[0]
    if method in ("none", "csls"):
        by_vector = collection.query(collection.vectors(np.array([3])), limit=6)
        assert [row for row in by_vector.rows[0] if row != 3][:5] == by_id.rows[0].tolist()
    if by_id.corrected is not None:
        others = unit(PROBLEM.targets) @ unit(PROBLEM.targets)[3]
        others[3] = -np.inf
        gate = collection.correction().query_time(collection.vectors(np.arange(collection.count)))
        # the gate goes by the best of the others, and not by the target itself
        assert by_id.corrected.tolist() == np.atleast_1d(gate.is_on(np.array([others.argmax()]))).tolist()


def test_prepared_vectors_get_the_same_hits_and_are_not_prepared_again(collections):
    collection = collections["csls"]
    prepared = collection.prepare(3 * PROBLEM.queries[:4])
    expected = collection.query(PROBLEM.queries[:4], strength=0.0)
    found = collection.query(prepared, strength=0.0, prepared=True)
    assert found.ids == expected.ids
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)
    twice = collection.query(2 * prepared, strength=0.0, prepared=True)
    np.testing.assert_allclose(twice.similarities, 2 * found.similarities, atol=1e-6)


@pytest.mark.parametrize("kind", ["flat_fp16", "fastscan", "hnsw_sq8", "ivf"])
def test_every_kind_of_index_leaves_the_target_out_and_explains(tmp_path, kind):
    rng = np.random.default_rng(0)
    targets, bank = (rng.normal(size=(rows, 16)).astype(np.float32) for rows in (400, 60))
    hubless.build(tmp_path, "any", targets, bank, correction="csls", index=kind)
    collection = hubless.open(tmp_path, "any")
    found = collection.query(ids=range(0, 400, 20), limit=10, skip=2, explain=True)
    assert not (found.rows == np.arange(0, 400, 20)[:, np.newaxis]).any()
    for hits in found:
        assert len({hit.row for hit in hits}) == 10
        assert [hit.explanation.rank for hit in hits] == list(range(3, 13))
        assert all(hit.explanation.raw_rank for hit in hits)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("filter_", [None, {"field": "even", "eq": True}])
def test_explanation_has_both_ranks_and_the_measured_occurrence(collections, method, filter_):
    collection = collections[method]
    found = collection.query(PROBLEM.queries, limit=4, skip=2, explain=True, filter=filter_)
    similarities = unit(PROBLEM.queries) @ unit(PROBLEM.targets).T
    if filter_:
        similarities[:, 1::2] = -np.inf
    raw = np.argsort(np.argsort(-similarities, axis=1, kind="stable"), axis=1) + 1
    for line, hits in enumerate(found):
        assert [hit.explanation.rank for hit in hits] == [3, 4, 5, 6]
        assert [hit.explanation.raw_rank for hit in hits] == [raw[line, hit.row] for hit in hits]
    measured = collection.manifest.measured
    occurrences = [[hit.explanation.raw_occurrence, hit.explanation.occurrence] for hits in found for hit in hits]
    assert np.max(occurrences, axis=0)[0] <= measured.hubness_raw.most
    assert np.max(occurrences, axis=0)[1] <= measured.hubness_corrected.most


def test_stored_occurrence_is_that_of_the_measuring_queries(path, collections):
    collection = collections["csls"]
    stored = np.load(small.path_of(hubless.Catalog(path).folder("csls"), bundle.OCCURRENCE))
    assert stored.sum(axis=1).tolist() == [10 * collection.manifest.measured.queries] * 2
    assert stored.max(axis=1).tolist() == [
        collection.manifest.measured.hubness_raw.most,
        collection.manifest.measured.hubness_corrected.most,
    ]


def test_raw_rank_that_is_too_deep_is_not_told(collections, monkeypatch):
    whole = collections["csls"].query(PROBLEM.queries, limit=2, explain=True)
    monkeypatch.setattr(question, "RAW_DEPTH", 3)
    found = collections["csls"].query(PROBLEM.queries, limit=2, explain=True)
    deep = 0
    for hit, known in zip(
        (hit for hits in found for hit in hits), (hit for hits in whole for hit in hits), strict=True
    ):
        raw_rank = known.explanation.raw_rank
        assert hit.explanation.raw_rank == (raw_rank if raw_rank <= 3 else None)
        deep += raw_rank > 3
    assert deep


def test_matches_from_before_a_change_are_refused_though_there_are_as_many_targets():
    index = hubless.Index("none", "cosine").fit(None, PROBLEM.targets, payload=PAYLOAD)
    matches = index.matches({"even": True})
    index.remove([0])
    index.add(PROBLEM.targets[:1], payload=PAYLOAD[:1])
    with pytest.raises(InputError, match="filter: expected matches among the 120 targets, got among 120 before a"):
        index.query(PROBLEM.queries, filter=matches)
