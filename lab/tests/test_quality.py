import numpy as np
import pytest

from hubless_lab.experiments.quality import answered_shares, auroc, calibration_error, cut_for

RNG = np.random.default_rng(0)


def test_auroc_is_the_share_of_pairs_in_the_right_order():
    scores, right = RNG.integers(0, 6, 60).astype(float), RNG.random(60) < 0.4
    pairs = [(a > b) + (a == b) / 2 for a in scores[right] for b in scores[~right]]
    assert auroc(scores, right) == pytest.approx(np.mean(pairs))


def test_auroc_of_one_kind_is_not_a_number():
    assert np.isnan(auroc(np.arange(3.0), np.ones(3, bool)))


def test_coverage_answers_queries_of_one_score_together():
    thresholds, shares, accuracies = answered_shares(
        np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])
    )
    assert thresholds.tolist() == [0.9, 0.5, 0.1]
    assert shares.tolist() == [0.25, 0.75, 1.0]
    assert accuracies.tolist() == pytest.approx([1, 2 / 3, 0.5])


def test_cut_answers_the_most_queries_that_keep_the_accuracy():
    scores, right = np.array([6, 5, 4, 3, 2, 1]) / 10, np.array([True, False, True, True, True, False])
    assert cut_for(scores, right, 0.8) == (0.2, pytest.approx(5 / 6))
    assert cut_for(scores, right, 1.0) == (0.6, pytest.approx(1 / 6))
    assert cut_for(scores, ~right & False, 0.5) == (1.0, 0.0)


def test_calibration_error_of_one_wrong_probability_is_how_wrong_it_is():
    right = np.arange(100) % 10 < 3
    assert calibration_error(np.full(100, 0.3), right[RNG.permutation(100)], parts=1) == pytest.approx(0)
    assert calibration_error(np.full(100, 0.8), right, parts=1) == pytest.approx(0.5)


def test_calibration_error_of_right_probabilities_is_as_small_as_chance_allows():
    p = RNG.random(20_000)
    assert calibration_error(p, RNG.random(20_000) < p) < 0.015
    assert calibration_error(p**2, RNG.random(20_000) < p) > 0.1
