"""Metric euclidean: similarity is −½|q − t|², in every correction, kind of index and change."""

import numpy as np
import pytest
from support import by_distance
from support.by_distance import PARAMETERS, TAKE_TARGETS, away_from_origin, check_ranking

import hubless
from hubless import CORRECTIONS
from hubless.knn import INDEXES

PROBLEM = away_from_origin()
FITTED = {}
LARGE = away_from_origin(seed=5, targets=1000, bank=300, queries=60, dim=24)


def fitted(name, **more):
    """An index of the problem, fitted once for each correction."""
    if (key := (name, *sorted(more.items()))) not in FITTED:
        bank = PROBLEM.target_bank if name in TAKE_TARGETS else None
        index = hubless.Index(name, "euclidean", parameters=PARAMETERS[name], **more)
        payload = {"even": [row % 2 == 0 for row in range(len(PROBLEM.targets))]}
        FITTED[key] = index.fit(PROBLEM.bank, PROBLEM.targets, target_bank=bank, payload=payload)
    return FITTED[key]


@pytest.mark.parametrize("name", sorted(set(PARAMETERS) - {"dual_dis"}))
def test_vectors_of_length_1_are_answered_as_by_cosines(name):
    """There −½|q − t|² is the cosine less 1. Left out are those that take another distance, or multiply by s."""
    given = PROBLEM.targets, PROBLEM.bank, PROBLEM.target_bank, PROBLEM.queries
    targets, bank, more, queries = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in given)
    made = []
    for metric in ("cosine", "euclidean"):
        index = hubless.Index(name, metric)
        made.append(index.fit(bank, targets, target_bank=more if name in TAKE_TARGETS else None))
    by_cosine, near = made
    np.testing.assert_allclose(near.offsets, by_cosine.offsets, atol=1e-5)
    found, expected = (index.query(queries, 10) for index in (near, by_cosine))
    np.testing.assert_array_equal(found.rows, expected.rows)
    np.testing.assert_allclose(found.confidence, expected.confidence, atol=1e-3)


def test_every_correction_has_parameters_here():
    ours = {name for name in CORRECTIONS if CORRECTIONS[name].__module__.startswith("hubless.")}
    assert set(PARAMETERS) == ours


@pytest.mark.parametrize("name", PARAMETERS)
class TestEveryCorrection:
    def test_ranking_is_that_of_the_formula_on_distances(self, name):
        index = fitted(name)
        expected = by_distance.scores(name, PROBLEM, index.manifest.correction.details)
        results = index.query(PROBLEM.queries, limit=20)
        check_ranking(results.rows, expected)

    def test_similarity_is_minus_half_the_squared_distance(self, name):
        results = fitted(name).query(PROBLEM.queries, limit=20)
        expected = by_distance.similarities(PROBLEM.queries, PROBLEM.targets)
        np.testing.assert_allclose(
            results.similarities, np.take_along_axis(expected, results.rows, axis=1), rtol=1e-5, atol=1e-4
        )
        np.testing.assert_allclose(results.scores, results.similarities - results.offsets, rtol=1e-4, atol=1e-4)

    def test_filter_leaves_the_ranking_of_what_matches(self, name):
        index = fitted(name)
        expected = by_distance.scores(name, PROBLEM, index.manifest.correction.details)
        found = index.query(PROBLEM.queries, limit=10, filter={"even": True}, parameters={"exact": True}).rows
        assert not (found % 2).any()
        if name in ("dis", "dual_dis"):  # the first of those that match opens the gate
            return
        check_ranking(found // 2, expected[:, ::2])

    def test_raw_ranking_is_by_distance(self, name):
        found = fitted(name).query(PROBLEM.queries, limit=20, strength=0).rows
        check_ranking(found, by_distance.similarities(PROBLEM.queries, PROBLEM.targets))

    def test_ranking_stays_where_all_vectors_are_moved(self, name):
        """Distances stay, though lengths are ten times as long."""
        moved = away_from_origin()
        shift = np.float32(20)
        bank = moved.target_bank + shift if name in TAKE_TARGETS else None
        index = hubless.Index(name, "euclidean", parameters=PARAMETERS[name])
        index.fit(moved.bank + shift, moved.targets + shift, target_bank=bank)
        found = index.query(moved.queries + shift, limit=10).rows
        expected = by_distance.scores(name, PROBLEM, fitted(name).manifest.correction.details)
        check_ranking(found, expected, 2e-3)


class TestKinds:
    """1,000 targets whose lengths differ by half, with and without the correction."""

    @pytest.mark.parametrize("kind", INDEXES)
    def test_kind_reaches_its_recall_at_both_strengths_with_the_scores_of_distances(self, kind):
        index = hubless.Index("csls", "euclidean", index=kind).fit(LARGE.bank, LARGE.targets)
        assert index.manifest.index.type == kind
        assert index.manifest.measured.recall_at_10 >= 0.98
        similarities = by_distance.similarities(LARGE.queries, LARGE.targets)
        rounding = 0.02 if "16" in kind or "sq8" in kind else 1e-3
        for strength in (0.0, 1.0):
            exact = index.query(LARGE.queries, 10, strength, {"exact": True})
            expected = np.take_along_axis(similarities - strength * index.offsets, exact.rows, axis=1)
            np.testing.assert_allclose(exact.scores, expected, rtol=1e-4, atol=rounding)
            found = index.query(LARGE.queries, 10, strength).scores
            assert np.mean(found >= exact.scores[:, -1:] - 1e-3) > 0.93


class TestChanges:
    def test_added_targets_have_the_offsets_and_places_of_a_build(self):
        whole = fitted("nnn")
        index = hubless.Index("nnn", "euclidean", parameters=PARAMETERS["nnn"])
        index.fit(PROBLEM.bank, PROBLEM.targets[:50])
        index.add(PROBLEM.targets[50:])
        apart = index.offsets - whole.offsets
        np.testing.assert_allclose(apart, apart.mean(), atol=1e-3)
        expected = whole.query(PROBLEM.queries, 10).rows
        np.testing.assert_array_equal(index.query(PROBLEM.queries, 10).rows, expected)

    def test_point_and_vectors_are_as_they_were_given(self):
        index = fitted("csls")
        np.testing.assert_array_equal(index.point(7, vector=True).vector, PROBLEM.targets[7])
        np.testing.assert_array_equal(index.vectors(np.array([1, 5])), PROBLEM.targets[[1, 5]])

    def test_targets_like_a_target_are_the_nearest_others(self):
        found = fitted("csls").query(ids=[4], limit=5).rows[0]
        near = by_distance.similarities(PROBLEM.targets[[4]], PROBLEM.targets)[0]
        np.testing.assert_array_equal(found, np.argsort(-near)[1:6])

    def test_diverse_hits_lie_apart(self):
        index, query = fitted("none"), PROBLEM.queries[0]
        plain, diverse = (index.query(query, 5, diversity=diversity).rows[0] for diversity in (0.0, 0.6))
        among = [by_distance.similarities(PROBLEM.targets[rows], PROBLEM.targets[rows]) for rows in (plain, diverse)]
        nearest = [float(np.max(each - 1e9 * np.eye(5))) for each in among]
        assert nearest[1] < nearest[0]

    @pytest.mark.parametrize(("built", "grown"), [(1400, 100), (1300, 0)])
    def test_merge_of_a_graph_with_more_beside_it_keeps_its_recall(self, tmp_path, built, grown):
        problem = away_from_origin(seed=5, targets=1500, bank=200, queries=50, dim=16)
        index = hubless.Index("csls", "euclidean", index="hnsw").fit(problem.bank, problem.targets[:built])
        index.save(tmp_path, "graph")
        index.add(problem.targets[built:])
        index.save(tmp_path, "graph")
        opened = hubless.open(tmp_path, "graph")
        assert opened.manifest.grown == grown  # more than a tenth trains it anew
        check_ranking(
            opened.query(problem.queries, 10, 0.0, {"exact": True}).rows,
            by_distance.similarities(problem.queries, problem.targets),
        )
        assert opened.manifest.measured.recall_at_10 >= 0.98
