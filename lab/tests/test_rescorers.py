"""Rescorers beside their published formulas in support/rescored.py, on a problem with hubs."""

from dataclasses import replace

import numpy as np
import pytest
from support import rescored
from support.problems import Problem
from support.rankings import best, check_zeros_between, dense, similarities

from hubless import CORRECTIONS
from hubless.corrections.query_time import Candidates
from hubless.errors import InputError
from hubless_lab.rescorers import globally_corrected
from hubless_lab.rescorers.dual_softmax_loss import SimilarityTimesSoftmax
from hubless_lab.rescorers.mutual_proximity import MutualProximities


def test_ranking_of_gc_is_that_of_the_published_formula(problem):
    s, b, _ = similarities(problem)
    np.testing.assert_array_equal(best(dense(problem, "gc"), 40), best(rescored.gc(s, b), 40))


class TestRanksAmongTheBank:
    def test_query_that_is_in_the_bank_shares_its_rank(self, problem):
        """The same vector on either side, so the same similarity but for rounding."""
        live = replace(problem, queries=problem.bank[:5])
        s, b, _ = similarities(live)
        found = dense(live, "gc")
        np.testing.assert_allclose(found, rescored.gc(s, np.round(b, 12)).round(6), atol=0.51)
        fractions = np.abs(s - found) % 1
        np.testing.assert_allclose(fractions, 0.5, atol=1e-4)

    @pytest.mark.parametrize("most", [0, 2**27])
    def test_blocks_change_nothing(self, problem, monkeypatch, most):
        monkeypatch.setattr(globally_corrected, "MOST_SORTED", most)
        expected = dense(problem, "gc")
        monkeypatch.setattr("hubless_lab.rescorers.globally_corrected.HELD_SIMILARITIES", 700)
        np.testing.assert_array_equal(dense(problem, "gc"), expected)

    @pytest.mark.parametrize("bank", [1, 2, 7, 64, 90])
    def test_binary_search_ranks_as_counting_does(self, problem, bank, monkeypatch):
        """Banks whose size is a power of two or not, and queries above and below all of it."""
        given = replace(problem, bank=problem.bank[:bank], queries=np.vstack([problem.queries, 5 * problem.queries]))
        s, b, _ = similarities(given)
        found = dense(given, "gc")
        monkeypatch.setattr(globally_corrected, "MOST_SORTED", 0)
        np.testing.assert_array_equal(found, dense(given, "gc"))
        # similarities of 400 targets are within rounding of each other here and there
        assert (np.abs(found - rescored.gc(s, b)) < 1e-4).mean() > 0.999
        ranks = np.round(s - found)
        assert {1, bank + 1} <= set(ranks.ravel().tolist())

    def test_binary_search_gives_tied_queries_their_average_rank(self, monkeypatch):
        """Whole numbers, so that every similarity is exact and many are equal."""
        rng = np.random.default_rng(0)
        rows = [rng.integers(-1, 2, size=(count, 4)).astype(np.float32) for count in (30, 50, 50, 20)]
        given = Problem(*rows)
        s, b, _ = similarities(given)
        ties = (b[np.newaxis] == s[:, np.newaxis]).sum(axis=1)
        assert (ties > 3).mean() > 0.5
        for most in (2**27, 0):
            monkeypatch.setattr(globally_corrected, "MOST_SORTED", most)
            np.testing.assert_array_equal(dense(given, "gc"), rescored.gc(s, b))


class TestLocalScaling:
    @pytest.mark.parametrize("name", ["ls", "nicdm"])
    def test_target_that_lies_upon_a_bank_query_stays_finite_and_low(self, problem, name):
        targets = problem.targets.copy()
        targets[0] = problem.bank[0]
        found = dense(replace(problem, targets=targets), name, k=1)
        assert np.isfinite(found).all()
        assert (found[:, 0] < found[:, 1:].min(axis=1)).all()

    @pytest.mark.parametrize("name", ["ls", "nicdm"])
    def test_score_of_a_target_of_typical_radius_is_its_similarity(self, problem, name):
        fitted = CORRECTIONS[name](k=4).fit(problem.bank, problem.targets)
        weights = fitted.query_time(problem.targets).weights
        assert np.log(weights).mean() == pytest.approx(0, abs=1e-5)
        assert weights.min() < 0.95 < 1.05 < weights.max()


class TestMutualProximity:
    def test_scores_are_apart_where_the_product_of_probabilities_is_one(self):
        """Far above all others the product rounds to 1; the order is still that of the similarities."""
        spread = np.full(4, 0.01, np.float32)
        near = MutualProximities(np.zeros(4, np.float32), spread, np.zeros(2, np.float32), 1e-4 * np.eye(2, dtype="f4"))
        s = np.array([0.3, 0.2, 0.25, 0.1], np.float32)
        found = near.scores(np.array([1, 0], np.float32), Candidates(np.arange(4), s, lambda: None))
        assert np.argsort(-found).tolist() == [0, 2, 1, 3]
        np.testing.assert_allclose(found, s, atol=0.01)

    def test_target_unlike_all_queries_keeps_its_similarity(self, problem):
        lonely = np.linalg.svd(np.vstack([problem.bank.mean(axis=0)]))[2][-1].astype(np.float32)
        bank = problem.bank - np.outer(problem.bank @ lonely, lonely)  # no bank query has any of it
        s, _b, _ = similarities(replace(problem, bank=bank, targets=np.vstack([problem.targets, lonely])))
        found = dense(replace(problem, bank=bank, targets=np.vstack([problem.targets, lonely])), "mp")
        positive = s[:, -1] > 0.01
        np.testing.assert_allclose(found[positive, -1], s[positive, -1], atol=1e-4)


class TestDualSoftmax:
    def test_scores_are_finite_and_still_corrected_at_a_low_temperature(self, problem):
        """exp(1/0.003) is beyond any float of 32 bits."""
        found = dense(problem, "dsl", temperature=0.003)
        assert np.isfinite(found).all()
        assert not np.array_equal(best(found), best(similarities(problem)[0]))

    @pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
    @pytest.mark.parametrize("temperature", [1e-4, 1e-2, 1.0])
    def test_similarities_of_zero_rank_between_those_above_and_below(self, temperature, length):
        """In float32, too, as hits have it."""
        rng = np.random.default_rng(3)
        s = (length * rng.integers(-3, 4, 40) * rng.choice([1, 1e-9], 40)).astype(np.float32)
        offsets = (10 * length**2 * rng.normal(size=40)).astype(np.float32)
        own = s.astype(np.float64) / temperature
        factor = own - np.logaddexp(offsets.astype(np.float64) / temperature, own)
        live = SimilarityTimesSoftmax(offsets, temperature, "dot")
        found = live.scores(np.empty(0), Candidates(np.arange(40), s, None))
        check_zeros_between(found, s, factor)


@pytest.mark.parametrize("name", ["ls", "nicdm"])
def test_similarities_above_one_have_no_distance_and_are_refused(problem, name):
    long = np.float32(30) * problem.targets
    fitted = CORRECTIONS[name](k=1).fit(problem.bank, long)
    with pytest.raises(InputError, match=r"similarities: expected at most 1.*metric cosine"):
        fitted.query_time(long)


def test_bank_of_another_kind_than_the_targets_is_refused_where_both_are_counted():
    """Texts are nearer to each other than any is to its image."""
    rng = np.random.default_rng(0)
    bank, targets = (rng.normal(size=(60, 8)).astype(np.float32) for _ in range(2))
    bank[:, 0], targets[:, 0] = 9, -9
    with pytest.raises(InputError, match=r"^query bank: expected items like the targets, .* got rows that are nearer"):
        CORRECTIONS["mp_empiric"]().fit(bank, targets)


def test_targets_beyond_the_candidates_come_after_them_in_the_dense_reference(problem):
    few, all_of_them = dense(problem, "ls", candidates=100), dense(problem, "ls")
    np.testing.assert_array_equal(best(few), best(all_of_them))
    raw = problem.queries @ problem.targets.T
    np.testing.assert_array_equal(best(few, 400)[:, 100:], best(raw, 400)[:, 100:])
