from itertools import pairwise

import numpy as np
import pytest
from support.problems import with_hubs
from support.segments import chosen

import hubless
from hubless.builder.indexing import in_segments
from hubless.corrections import CORRECTIONS, Gate
from hubless.corrections.query_time import Candidates, rescore
from hubless.knn import INDEXES, selected
from hubless.knn.augment import AugmentedVectors, centre, pivot_of
from hubless.knn.exhaustive import openmp_threads
from hubless.knn.index_files import make_index
from hubless.search.engines.embedded import FaissIndex
from hubless.search.ranker import Question, Ranker
from hubless.vectors.arrays import unit_rows
from hubless.vectors.sources import as_source

COUNT, DIM, K = 1500, 16, 10
SHARES = [1, 0.5, 0.1, 0.02, 0.003]


@pytest.fixture(scope="module")
def problem():
    made = with_hubs(targets=COUNT, bank=200, target_bank=60, queries=20, dim=DIM, seed=5)
    for name, rows in vars(made).items():
        object.__setattr__(made, name, unit_rows(rows, name))
    return made


@pytest.fixture(scope="module", params=[*INDEXES, "flat, cut", "fastscan_fp16, cut", "ivf, cut", "hnsw_sq8, cut"])
def made(request, problem):
    """A ranker over an index of the kind, or over segments, with its cheapest parameters; and the exact scores."""
    kind, cut = INDEXES[request.param.partition(",")[0]], request.param.endswith("cut")
    offsets = centre((problem.targets @ problem.bank.T).max(axis=1))
    targets, bank = as_source(problem.targets, "targets"), as_source(problem.bank, "bank")
    pivot = pivot_of(bank, targets, offsets) if kind.pivoted else None
    half = kind.precision == "float16"
    with openmp_threads(1):  # more would wait for one another where the machine is busy
        vectors, bounds = AugmentedVectors(targets, offsets, pivot, half), [0, 640, COUNT] if cut else [0, COUNT]
        parts = [make_index(kind, vectors.rows(*each), 0) for each in pairwise(bounds)]
    made = in_segments([FaissIndex(kind, part, DIM, kind.ladder(COUNT)[0], pivot) for part in parts], offsets)
    exact = problem.queries.astype(np.float64) @ made.vectors(np.arange(COUNT)).T - offsets
    return Ranker(made), exact


class TestKinds:
    @pytest.mark.parametrize("share", SHARES)
    @pytest.mark.parametrize("together", [1, 20])
    def test_hits_are_matches_as_many_as_asked_for_with_exact_scores(self, made, problem, share, together):
        ranker, exact = made
        mask = np.random.default_rng(3).random(COUNT) < share
        matches = chosen(ranker.targets, mask)
        k = min(K, matches.count)
        assert k > 0
        best = -np.sort(-np.where(mask, exact, -np.inf), axis=1)[:, :k]
        for start in range(0, len(problem.queries), together):
            part = slice(start, start + together)
            found = ranker.rank(Question(problem.queries[part], 1.0, {}, matches), k)
            assert found.rows.shape == (together, k)
            assert mask[found.rows].all()
            assert all(len(set(line)) == k for line in found.rows.tolist())
            np.testing.assert_allclose(
                found.scores, np.take_along_axis(exact[part], found.rows, axis=1), rtol=0, atol=1e-3
            )
            if k < K or share < 0.01:  # few enough to be compared with
                np.testing.assert_allclose(found.scores, best[part], rtol=0, atol=1e-3)

    @pytest.mark.parametrize("share", [None, 0.5])
    def test_exact_search_finds_the_best_with_any_index(self, made, problem, share):
        ranker, exact = made
        mask = np.random.default_rng(4).random(COUNT) < (share or 1)
        found = ranker.rank(Question(problem.queries, 1.0, {"exact": True}, share and chosen(ranker.targets, mask)), K)
        best = -np.sort(-np.where(mask, exact, -np.inf), axis=1)[:, :K]
        np.testing.assert_allclose(found.scores, best, rtol=0, atol=1e-3)

    def test_vectors_are_taken_out_block_by_block(self, made, problem, monkeypatch):
        ranker, exact = made
        monkeypatch.setattr(selected, "rows_of_a_part", lambda dim: 7)  # fewer than k
        rows = np.arange(0, COUNT, 60)
        matches = chosen(ranker.targets, np.isin(np.arange(COUNT), rows))
        found = ranker.rank(Question(problem.queries, 1.0, {"exact": True}, matches), K)
        np.testing.assert_allclose(found.scores, -np.sort(-exact[:, rows], axis=1)[:, :K], rtol=0, atol=1e-3)


@pytest.fixture(scope="module", params=CORRECTIONS)
def corrected(request, problem, tmp_path_factory):
    count, path = 300, tmp_path_factory.mktemp("filtered")
    options = {"correction": request.param, "target_bank": problem.target_bank, "index": "flat"}
    options["payload"] = [{"n": row} for row in range(count)]
    options["parameters"] = {"query_temperature": 0.1} if request.param == "dual_dis" else {}
    hubless.build(path, "c", problem.targets[:count], problem.bank, **options)
    opened = hubless.open(path, "c")
    return opened, opened.correction().query_time(opened.vectors(np.arange(count)))


class TestCorrections:
    @pytest.mark.parametrize("strength", [0, 1, 1.5])
    @pytest.mark.parametrize("count", [250, 30, 3])
    def test_ranking_is_that_of_a_collection_of_the_matches_alone(self, corrected, problem, strength, count):
        rows = np.arange(300 - count, 300)
        opened, query_time = corrected
        rescored = query_time is not None and not isinstance(query_time, Gate)
        everything = {"candidates": 300} if rescored else {}
        found = opened.query(problem.queries, K, strength, everything, filter={"field": "n", "gte": 300 - count})
        scores, on = brute_force(opened, query_time, problem.queries, rows, strength)
        expected = -np.sort(-scores, axis=1)[:, : min(K, count)]
        np.testing.assert_allclose(found.scores, expected, rtol=1e-5, atol=1e-5)
        assert found.rows.min() >= 300 - count
        if on is not None and strength:
            np.testing.assert_array_equal(found.corrected, on)

    def test_filter_that_nothing_meets_gives_no_hits(self, corrected, problem):
        found = corrected[0].query(problem.queries, K, filter={"field": "n", "lt": 0})
        assert found.rows.shape == found.scores.shape == (20, 0)
        assert list(found) == [[]] * 20


def brute_force(opened, query_time, queries, rows, strength):
    """Scores (m, r) of some rows, and whether a gate was on, one query after the other."""
    similarities = queries @ opened.vectors(rows).T
    folded = similarities - np.float32(strength) * opened.offsets[rows]
    top = rows[similarities.argmax(axis=1)]
    on = query_time.is_on(top) if hasattr(query_time, "is_on") else None
    if query_time is None or strength == 0:
        return folded, on
    if isinstance(query_time, Gate):
        return np.where(on[:, np.newaxis], folded, similarities), on
    scores = [
        rescore(query_time, query, Candidates(rows, line, lambda: opened.vectors(rows)), strength)[1]
        for query, line in zip(queries, similarities, strict=True)
    ]
    return np.array(scores), on


@pytest.fixture(scope="module")
def words(catalog):
    return hubless.open(catalog, "words", filter_cache=100)


class TestCollection:
    def test_hits_meet_the_filter_and_are_in_the_order_of_the_whole_ranking(self, words):
        query = words.encode(["amber cedar"])
        every = words.query(query, limit=words.count)[0]
        asked = {"and": [{"field": "tags", "contains": "amber"}, {"not": {"field": "rank", "lt": 50}}]}
        wanted = [hit.id for hit, row in zip(every, words.payload([hit.row for hit in every]), strict=True)
                  if "amber" in row["tags"] and row["rank"] >= 50]  # fmt: skip
        assert len(wanted) > 5
        assert [hit.id for hit in words.query(query, limit=100, filter=asked)[0]] == wanted
