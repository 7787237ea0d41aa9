import shutil

import numpy as np
import pytest
from support import small
from support.rankings import best

import hubless
from hubless.corrections import CORRECTIONS, folds, registered
from hubless.corrections.query_time import Candidates
from hubless.errors import BundleDamaged, InputError
from hubless.search.parts import all_scores

RESCORED = sorted(name for name in CORRECTIONS if not folds(name) and name != "dis")
GATED = ["dis", "dual_dis"]
PARAMETERS = {"dual_dis": {"query_temperature": 0.1}}
LIMIT = 10


@pytest.fixture(scope="module")
def catalog(problem, tmp_path_factory):
    path = tmp_path_factory.mktemp("methods")
    for name in CORRECTIONS:
        options = {"correction": name, "target_bank": problem.target_bank, "index": "flat"}
        options["parameters"] = PARAMETERS.get(name, {}) | ({"k": 20} if name == "nnn" else {})
        hubless.build(path, name, problem.targets, problem.bank, **options)
    return path


@pytest.fixture(scope="module")
def collections(catalog):
    return {name: hubless.open(catalog, name) for name in CORRECTIONS}


def assert_same_but_for_ties(rows, scores):
    """The rows are those of the highest scores of each line, in their order."""
    found = np.take_along_axis(scores, rows, axis=1)
    expected = -np.sort(-scores, axis=1)[:, : rows.shape[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CORRECTIONS)
class TestEveryCorrection:
    @pytest.mark.parametrize("strength", [0, 0.5, 1, 2])
    def test_answers_are_the_best_by_the_dense_reference_and_scores_similarity_less_offset(
        self, collections, problem, name, strength
    ):
        opened = collections[name]
        (scores,) = all_scores(opened.parts, problem.queries, (strength,))
        found = opened.query(problem.queries, LIMIT, strength)
        assert_same_but_for_ties(found.rows, scores)
        np.testing.assert_allclose(found.scores, np.take_along_axis(scores, found.rows, axis=1), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(found.scores, found.similarities - strength * found.offsets, rtol=1e-6, atol=1e-5)
        exact = np.take_along_axis(problem.queries @ problem.targets.T, found.rows, axis=1)
        np.testing.assert_allclose(found.similarities, exact, atol=1e-5)

    def test_stored_correction_gives_the_offsets_that_were_folded_in(self, collections, problem, name):
        offsets = collections[name].correction().offsets(problem.targets)
        np.testing.assert_allclose(offsets, collections[name].offsets, atol=1e-6)


@pytest.mark.parametrize("name", RESCORED)
class TestCandidates:
    def test_number_of_candidates_is_taken_from_the_query(self, collections, problem, name):
        opened, fitted = collections[name], collections[name].correction()
        offsets, rescorer = opened.offsets, fitted.query_time(problem.targets)
        found = opened.query(problem.queries, 5, parameters={"candidates": 5})
        raw = problem.queries @ problem.targets.T
        for line, query in enumerate(problem.queries):
            allowed = set(best(raw[[line]] - offsets, 5)[0])
            if name in GATED:
                allowed |= set(best(raw[[line]], 5)[0])
            assert set(found.rows[line]) <= allowed
            rows = np.sort(list(allowed))
            asked = Candidates(rows, raw[line, rows], lambda rows=rows: problem.targets[rows])
            expected = rows[np.argsort(-rescorer.scores(query, asked), kind="stable")][:5]
            np.testing.assert_array_equal(found.rows[line], expected)

    def test_fewer_candidates_than_hits_are_asked_for_do_not_shorten_the_answer(self, collections, problem, name):
        found = collections[name].query(problem.queries, 30, 0.5, {"candidates": 1})
        assert found.rows.shape == (25, 30)
        np.testing.assert_allclose(found.scores, found.similarities - 0.5 * found.offsets, atol=1e-5)


@pytest.mark.parametrize("name", ["auto", "csls", "dis"])
def test_candidates_are_refused_where_nothing_is_rescored(collections, problem, name):
    with pytest.raises(InputError, match="candidates"):
        collections[name].query(problem.queries, parameters={"candidates": 9})


class TestGates:
    @pytest.fixture
    def switched(self, problem):
        """Queries near a target that attracts bank queries, and near one that attracts none."""
        tops = (problem.bank @ problem.targets.T).argmax(axis=1)
        attracts = np.bincount(tops).argmax()
        no_one = np.setdiff1d(np.arange(400), np.argsort(-problem.bank @ problem.targets.T, axis=1)[:, :50])[:3]
        return problem.targets[[attracts, *no_one]]

    @pytest.mark.parametrize("name", GATED)
    def test_answer_says_whether_it_was_corrected(self, collections, switched, name):
        corrected = collections[name].query(switched).corrected
        assert corrected.dtype == np.bool_
        assert corrected[0]
        if name == "dis":
            assert not corrected[1:].any()

    def test_query_that_is_not_corrected_is_ranked_raw_and_without_offsets(self, collections, switched):
        found = collections["dis"].query(switched[1:], LIMIT)
        raw = collections["dis"].query(switched[1:], LIMIT, 0)
        np.testing.assert_array_equal(found.rows, raw.rows)
        np.testing.assert_array_equal(found.offsets, 0)

    def test_query_that_is_corrected_is_ranked_as_by_is(self, collections, switched):
        found = collections["dis"].query(switched[0], LIMIT)
        np.testing.assert_array_equal(found.rows, collections["is"].query(switched[0], LIMIT).rows)


@pytest.mark.parametrize("name", ["dis", *RESCORED])
class TestQueryTime:
    def test_it_goes_through_plain_arrays(self, problem, name, tmp_path):
        fitted = CORRECTIONS[name]().fit(problem.bank, problem.targets, problem.target_bank)
        query_time = fitted.query_time(problem.targets)
        np.savez(tmp_path / "arrays.npz", allow_pickle=False, **fitted.state(), **query_time.arrays())
        with np.load(tmp_path / "arrays.npz", allow_pickle=False) as arrays:
            restored = registered(name).live.from_arrays(dict(arrays), fitted.details)
        tops = np.arange(0, 400, 7)
        if name == "dis":
            np.testing.assert_array_equal(restored.is_on(tops), query_time.is_on(tops))
            return
        raw = problem.queries[0] @ problem.targets.T
        asked = Candidates(np.arange(400), raw, lambda: problem.targets)
        for one, other in ((restored, query_time),):
            np.testing.assert_array_equal(
                one.scores(problem.queries[0], asked), other.scores(problem.queries[0], asked)
            )


def test_collection_whose_activation_set_was_changed_fails_its_canaries(catalog, tmp_path):
    """As it would with a file mixed up that has the right size and a hash to match."""
    shutil.copytree(catalog / "dis", tmp_path / "dis")
    folder = hubless.Catalog(tmp_path).folder("dis")
    with np.load(folder / "query_time.npz") as arrays:
        gate = dict(arrays)
    np.savez(folder / "query_time.npz", active=~gate["active"], count=gate["count"])
    small.reseal(folder)
    with pytest.raises(BundleDamaged, match="canary"):
        hubless.open(tmp_path, "dis").check_canaries()
