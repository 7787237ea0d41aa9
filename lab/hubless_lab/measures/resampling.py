"""Certainty of what experiments compare: intervals of any statistic, and tests of two rankings or distributions."""

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ks_2samp

from hubless.measures.significance import (
    RESAMPLES,
    Interval,
    blocks,
    bootstrap_means,
    check_paired,
    percentiles,
    resampled_means,
)
from hubless.vectors.arrays import F64

FLIPS = 9999

Statistic = Callable[[F64], F64]


def bootstrap_geometric_mean(columns: F64, weights: F64 | None = None) -> Interval:
    """Return the 95 % interval of the geometric mean of the columns' means, such as hits at 1, 5 and 10."""
    means = resampled_means(columns, 0, RESAMPLES, weights)
    return percentiles(np.prod(means, axis=1, keepdims=True) ** (1 / columns.shape[1]))[0]


def bootstrap_interval(
    values: F64, statistic: Statistic | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """Return the 95 % interval of a statistic (r, m) → (r,) of values (m,), by resampling; None is the mean."""
    if statistic is None:
        return bootstrap_means(values[:, np.newaxis].astype(np.float64), seed, resamples)[0]
    rng = np.random.default_rng(seed)
    count = len(values)
    found = [statistic(values[rng.integers(count, size=(size, count))]) for size in blocks(count, resamples)]
    return percentiles(np.concatenate(found)[:, np.newaxis])[0]


def sign_flip_test(first: F64, second: F64) -> float:
    """Return the two-sided p-value that two rankings are equally good, by values (m,) of the same queries.

    The sign of each difference is flipped at random, 9,999 times (Fisher, The Design of Experiments, 1935, section 21).
    """
    check_paired(first, second)
    differences = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    differences = differences[differences != 0]
    rng = np.random.default_rng(0)
    reached = 1
    for size in blocks(len(differences), FLIPS) if len(differences) else ():
        flipped = (2.0 * rng.integers(2, size=(size, len(differences))) - 1) @ differences
        reached += int(np.count_nonzero(np.abs(flipped) >= abs(differences.sum()) - 1e-9))
    return reached / (FLIPS + 1) if len(differences) else 1.0


def kolmogorov_smirnov(first: NDArray[np.generic], second: NDArray[np.generic]) -> tuple[float, float]:
    """Return the two-sample statistic, the largest distance of two distributions such as of N_k, and its p-value."""
    with warnings.catch_warnings():  # of its step from the exact p-value to the asymptotic one
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ks_2samp(first, second)
    return float(found.statistic), float(found.pvalue)
