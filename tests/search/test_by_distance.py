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


@pytest.mark.parametrize("name", sorted(set(CORRECTIONS) - {"dsl", "dual_dis", "mp", "nicdm"}))
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
    assert set(PARAMETERS) == set(CORRECTIONS)


@pytest.mark.parametrize("name", CORRECTIONS)
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


KIEZ_TARGETS = [
    *([8, 2, 3], [8, 1, 5], [6, -5, -8], [-4, -4, 7], [8, -9, 0], [6, -7, 6]),
    *([-7, -1, 6], [-4, -3, -4], [4, -5, 9], [-1, 0, 0], [2, 1, 0], [9, 6, 6]),
]
KIEZ_BANK = [[4, 2, -3], [9, -1, -5], [7, -6, 7], [2, -7, -9], [-1, -9, -7], [0, 9, -1], [6, 8, 6], [2, -1, 0]]
KIEZ_QUERIES = [[-4, 0, -2], [4, 7, -6]]
KIEZ_DISTANCES = {
    "ls": [
        *(0.76198, 0.769414, 0.701298, 0.341767, 0.752474, 0.635042),
        *(0.267, 0.086368, 0.612907, 0.083325, 0.259879, 0.757523),
        *(0.578641, 0.672759, 0.62243, 0.72831, 0.798786, 0.750906),
        *(0.692437, 0.630893, 0.759225, 0.466636, 0.37892, 0.534438),
    ],
    "nicdm": [
        *(1.476793, 1.522086, 1.536397, 0.867677, 1.513582, 1.553203),
        *(0.714346, 0.386875, 1.446393, 0.437766, 0.89063, 1.669632),
        *(1.082046, 1.254095, 1.30251, 1.446248, 1.531554, 1.722212),
        *(1.314195, 1.213451, 1.672856, 1.111055, 1.057988, 1.158078),
    ],
    "mp": [
        *(0.923035, 0.935926, 0.870629, 0.414784, 0.957176, 0.930491),
        *(0.288893, 0.057548, 0.908264, 0.067988, 0.375812, 0.968892),
        *(0.629374, 0.793345, 0.71164, 0.993391, 0.980607, 0.986384),
        *(0.976707, 0.760038, 0.98955, 0.656318, 0.540737, 0.657191),
    ],
}


class TestKiez:
    """kiez 0.5.0 on whole numbers: LocalScaling "standard" and "nicdm" of k=3, MutualProximity "normal" of all."""

    @pytest.mark.parametrize("name", KIEZ_DISTANCES)
    def test_ranking_is_that_of_kiez_on_the_same_numbers(self, name):
        targets, bank, queries = (np.array(rows, np.float32) for rows in (KIEZ_TARGETS, KIEZ_BANK, KIEZ_QUERIES))
        parameters = {"k": None if name == "mp" else 3}
        index = hubless.Index(name, "euclidean", parameters=parameters).fit(bank, targets)
        expected = np.reshape(KIEZ_DISTANCES[name], (2, 12))
        np.testing.assert_array_equal(index.query(queries, limit=12).rows, expected.argsort(axis=1))


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
