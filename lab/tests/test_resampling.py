import numpy as np
import pytest

from hubless import measures


def test_interval_of_a_mean_is_near_the_one_of_the_normal_distribution():
    values = np.random.default_rng(0).normal(3, 2, 2000)
    interval = measures.bootstrap_interval(values)
    half = 1.96 * values.std() / np.sqrt(2000)
    assert interval.low == pytest.approx(values.mean() - half, abs=0.15 * half)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.15 * half)


def test_interval_covers_the_truth_about_95_times_in_100():
    rng = np.random.default_rng(1)
    covered = 0
    for draw in range(200):
        interval = measures.bootstrap_interval((rng.random(150) < 0.3).astype(float), seed=draw, resamples=300)
        covered += interval.low <= 0.3 <= interval.high
    assert 0.9 * 200 <= covered <= 0.99 * 200


def test_sign_flips_agree_with_mcnemar_on_hits_and_with_all_flips_of_means():
    rng = np.random.default_rng(0)
    first, second = rng.random(300) < 0.5, rng.random(300) < 0.58
    assert measures.sign_flip_test(first, second) == pytest.approx(measures.mcnemar(first, second).p_value, abs=0.015)
    better = np.arange(1.0, 7)
    assert measures.sign_flip_test(np.zeros(6), better) == pytest.approx(2 / 2**6, abs=0.005)
    assert measures.sign_flip_test(better, better) == 1


def test_kolmogorov_smirnov_is_the_largest_distance_of_two_distributions():
    statistic, p = measures.kolmogorov_smirnov(np.arange(100), np.arange(100) + 30)
    assert statistic == pytest.approx(0.3)
    assert p < 0.001
    assert measures.kolmogorov_smirnov(np.arange(50), np.arange(50)) == (0, 1)
