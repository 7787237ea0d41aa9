from math import comb

import numpy as np
import pytest

from hubless import measures
from hubless.errors import InputError


def hits(*runs):
    """Hits of two rankings: (first, second, how many queries) each."""
    pairs = [(first, second) for first, second, count in runs for _ in range(count)]
    return tuple(np.array(column, bool) for column in zip(*pairs, strict=True))


def test_paired_difference_is_narrower_than_the_two_intervals_where_queries_agree():
    rng = np.random.default_rng(4)
    first = rng.random(400) < 0.5
    second = first | (rng.random(400) < 0.05)
    paired = measures.paired_difference(first, second)
    (alone,) = measures.bootstrap_means(second[:, np.newaxis].astype(float))
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
        measures.bootstrap_means(np.zeros((0, 1)))
