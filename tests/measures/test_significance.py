from math import comb

import numpy as np
import pytest

from hubless import measures
from hubless.errors import InputError


def hits(*runs):
    """Hits of two rankings: (first, second, how many queries) each."""
    pairs = [(first, second) for first, second, count in runs for _ in range(count)]
    return tuple(np.array(column, bool) for column in zip(*pairs, strict=True))


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


def test_paired_difference_is_narrower_than_the_two_intervals_where_queries_agree():
    rng = np.random.default_rng(4)
    first = rng.random(400) < 0.5
    second = first | (rng.random(400) < 0.05)
    paired = measures.paired_difference(first, second)
    alone = measures.bootstrap_interval(second.astype(float))
    assert paired.value == pytest.approx(second.mean() - first.mean())
    assert paired.error == pytest.approx(np.std(second.astype(int) - first.astype(int), ddof=1) / 20)
    assert paired.interval.above_zero
    assert paired.interval.high - paired.interval.low < (alone.high - alone.low) / 2


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 0), (5, 5), (2, 11), (20, 4), (25, 0), (13, 12), (40, 70)])
def test_mcnemar_is_the_two_sided_binomial_of_the_discordant_queries(b, c):
    found = measures.mcnemar(*hits((True, True, 30), (True, False, b), (False, True, c), (False, False, 30)))
    as_rare = sum(comb(b + c, i) for i in range(min(b, c) + 1)) / 2 ** (b + c)
    assert (found.only_first, found.only_second) == (b, c)
    assert found.p_value == pytest.approx(min(1, 2 * as_rare))


def test_weighted_interval_is_that_of_the_rows_repeated_as_often():
    rng = np.random.default_rng(6)
    values, weights = rng.random((300, 2)), rng.integers(1, 4, 300).astype(float)
    for found, column in zip(measures.bootstrap_means(values, weights=weights), values.T, strict=True):
        mean = np.average(column, weights=weights)
        half = 1.96 * np.sqrt(np.sum((weights * (column - mean)) ** 2)) / weights.sum()
        assert (mean - found.low, found.high - mean) == pytest.approx((half, half), rel=0.2)


@pytest.mark.parametrize("test", [measures.mcnemar, measures.paired_difference])
def test_rankings_of_different_queries_cannot_be_paired(test):
    with pytest.raises(InputError, match="same 3 queries, got 2"):
        test(np.ones(3, bool), np.ones(2, bool))
    with pytest.raises(InputError, match="values: expected at least one, to resample"):
        measures.bootstrap_interval(np.zeros(0))


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
