"""The laboratory under metric euclidean: what it measures is that of an index, and of distances themselves."""

import numpy as np
import pytest
from support.by_distance import away_from_origin, check_ranking, similarities
from support.rescored import BY_DISTANCE, scores_by_distance

import hubless
from hubless.errors import InputError

PROBLEM = away_from_origin(seed=2, targets=240, bank=200, dim=16)
RNG = np.random.default_rng(1)
QUERIES = (PROBLEM.targets + 1.5 * RNG.normal(size=PROBLEM.targets.shape)).astype(np.float32)
RIGHT = np.arange(240)
GIVEN = {"metric": "euclidean", "query_bank": PROBLEM.bank, "progress": False}


def first_right(scores):
    return float(np.mean(scores.argmax(axis=1) == RIGHT))


def test_comparison_measures_the_distances_and_what_an_index_answers():
    found = hubless.compare(QUERIES, PROBLEM.targets, RIGHT, corrections=["none", "csls", "ls", "mp"], **GIVEN)
    rows = {row.name: row.quality["recall_at_1"] for row in found.rows}
    near = similarities(QUERIES, PROBLEM.targets)
    assert rows["none"] == pytest.approx(first_right(near))
    bank = similarities(PROBLEM.bank, PROBLEM.targets)
    assert rows["csls"] == pytest.approx(first_right(near - np.sort(bank, axis=0)[-10:].mean(axis=0) / 2))
    for name in ("ls", "mp"):
        index = hubless.Index(name, "euclidean").fit(PROBLEM.bank, PROBLEM.targets)
        assert rows[name] == pytest.approx(np.mean(index.query(QUERIES, 1).rows[:, 0] == RIGHT))


def test_collection_is_evaluated_as_it_answers():
    index = hubless.Index("csls", "euclidean").fit(PROBLEM.bank, PROBLEM.targets)
    rows = {
        row.label: row.quality["recall_at_1"] for row in hubless.evaluate(index, QUERIES, RIGHT, progress=False).rows
    }
    assert rows["raw"] == pytest.approx(first_right(similarities(QUERIES, PROBLEM.targets)))
    assert rows["corrected"] == pytest.approx(np.mean(index.query(QUERIES, 1).rows[:, 0] == RIGHT))


def test_items_that_search_for_each_other_have_no_bank_query_of_themselves():
    near = similarities(PROBLEM.targets, PROBLEM.targets)
    np.fill_diagonal(near, -np.inf)
    corrected = (near - np.sort(near, axis=0)[-10:].mean(axis=0) / 2).argmax(axis=1)
    given = GIVEN | {"query_bank": PROBLEM.targets, "bank_of_targets": True, "leave_self_out": True}
    found = hubless.compare(PROBLEM.targets, PROBLEM.targets, corrected, corrections=["csls"], **given)
    assert {row.name: row.quality["recall_at_1"] for row in found.rows}["csls"] == 1
    assert np.mean(near.argmax(axis=1) == corrected) < 1


def test_scan_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="metric: expected cosine or dot: a scan looks at directions"):
        hubless.scan(PROBLEM.targets, QUERIES, metric="euclidean", progress=False)


@pytest.mark.parametrize("name", BY_DISTANCE)
def test_rescorer_ranks_by_its_formula_on_distances_wherever_the_origin_lies(name):
    problem = away_from_origin()
    expected = scores_by_distance(name, problem)
    even = {"even": [row % 2 == 0 for row in range(len(problem.targets))]}
    for shift, tolerance in ((0, 1e-4), (20, 2e-3)):
        index = hubless.Index(name, "euclidean", parameters=BY_DISTANCE[name])
        index.fit(problem.bank + np.float32(shift), problem.targets + np.float32(shift), payload=even)
        queries = problem.queries + np.float32(shift)
        found = index.query(queries, limit=20)
        check_ranking(found.rows, expected, tolerance)
        some = index.query(queries, limit=10, filter={"even": True}, parameters={"exact": True}).rows
        check_ranking(some // 2, expected[:, ::2], tolerance)
        check_ranking(index.query(queries, 20, 0).rows, similarities(problem.queries, problem.targets), 2e-3)


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
