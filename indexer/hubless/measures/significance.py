"""Certainty of a number: bootstrap intervals, and paired tests of two rankings of the same queries."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError, not_installed
from hubless.measures.chance import binomial
from hubless.vectors.arrays import F64, Flags

_CONFIDENCE = 0.95
_RESAMPLES = 2000
FLIPS = 9999
_HELD = 2**22

Statistic = Callable[[F64], F64]


@dataclass(frozen=True)
class Interval:
    """A 95 % interval."""

    low: float
    high: float

    @property
    def above_zero(self) -> bool:
        return self.low > 0


@dataclass(frozen=True)
class PairedDifference:
    """The mean of second − first over the queries, its standard error and its bootstrap interval."""

    value: float
    error: float
    interval: Interval


@dataclass(frozen=True)
class McNemar:
    """Numbers of queries that only one of two rankings answers, and their probability if both are equally good."""

    only_first: int
    only_second: int
    p_value: float


def bootstrap_means(
    values: F64, seed: int = 0, resamples: int = _RESAMPLES, weights: F64 | None = None
) -> list[Interval]:
    """Return 95 % percentile intervals of the weighted means of columns (m, c), by resampling the queries alike."""
    return _percentiles(_resampled_means(values, seed, resamples, weights))


def bootstrap_geometric_mean(columns: F64, weights: F64 | None = None) -> Interval:
    """Return the 95 % interval of the geometric mean of the columns' means, such as hits at 1, 5 and 10."""
    means = _resampled_means(columns, 0, _RESAMPLES, weights)
    return _percentiles(np.prod(means, axis=1, keepdims=True) ** (1 / columns.shape[1]))[0]


def bootstrap_interval(
    values: F64, statistic: Statistic | None = None, seed: int = 0, resamples: int = _RESAMPLES
) -> Interval:
    """Return the 95 % interval of a statistic (r, m) → (r,) of values (m,), by resampling; None is the mean."""
    if statistic is None:
        return bootstrap_means(values[:, np.newaxis].astype(np.float64), seed, resamples)[0]
    rng = np.random.default_rng(seed)
    count = len(values)
    found = [statistic(values[rng.integers(count, size=(size, count))]) for size in _blocks(count, resamples)]
    return _percentiles(np.concatenate(found)[:, np.newaxis])[0]


def paired_difference(
    first: NDArray[np.generic], second: NDArray[np.generic], weights: F64 | None = None
) -> PairedDifference:
    """Return how much better the second ranking is, by values (m,) of the same queries, such as hits at 1."""
    _check_paired(first, second)
    differences = second.astype(np.float64) - first.astype(np.float64)
    given = np.ones(len(differences)) if weights is None else weights
    value = float(np.average(differences, weights=given))
    (interval,) = bootstrap_means(differences[:, np.newaxis], weights=given)
    m = len(differences)
    if m == 1:
        return PairedDifference(value, math.inf, interval)
    error = math.sqrt(float(np.sum((given * (differences - value)) ** 2)) * m / (m - 1)) / float(given.sum())
    return PairedDifference(value, error, interval)


def mcnemar(first: Flags, second: Flags) -> McNemar:
    """Test two rankings by their hits (m,) on the same queries: two-sided binomial(b + c, ½), McNemar's exact test.

    b and c count the queries that only one ranking answers. Source: Agresti, Categorical Data Analysis, section 11.1.
    """
    _check_paired(first, second)
    only_first = int(np.count_nonzero(first & ~second))
    only_second = int(np.count_nonzero(second & ~first))
    tail = binomial(min(only_first, only_second), only_first + only_second, 0.5).sum()
    return McNemar(only_first, only_second, min(1.0, 2 * float(tail)))


def sign_flip_test(first: F64, second: F64) -> float:
    """Return the two-sided p-value that two rankings are equally good, by values (m,) of the same queries.

    The sign of each difference is flipped at random, 9,999 times (Fisher, The Design of Experiments, 1935, section 21).
    """
    _check_paired(first, second)
    differences = np.asarray(second, np.float64) - np.asarray(first, np.float64)
    differences = differences[differences != 0]
    rng = np.random.default_rng(0)
    reached = 1
    for size in _blocks(len(differences), FLIPS) if len(differences) else ():
        flipped = (2.0 * rng.integers(2, size=(size, len(differences))) - 1) @ differences
        reached += int(np.count_nonzero(np.abs(flipped) >= abs(differences.sum()) - 1e-9))
    return reached / (FLIPS + 1) if len(differences) else 1.0


def kolmogorov_smirnov(first: NDArray[np.generic], second: NDArray[np.generic]) -> tuple[float, float]:
    """Return the two-sample statistic, the largest distance of two distributions such as of N_k, and its p-value.

    Raises `HublessError` without scipy, which the lab brings.
    """
    try:
        from scipy.stats import ks_2samp
    except ImportError:
        raise not_installed("kolmogorov_smirnov", "lab") from None
    with warnings.catch_warnings():  # of its step from the exact p-value to the asymptotic one
        warnings.simplefilter("ignore", RuntimeWarning)
        found = ks_2samp(first, second)
    return float(found.statistic), float(found.pvalue)


def _resampled_means(values: F64, seed: int, resamples: int, weights: F64 | None) -> F64:
    count = len(values)
    rng = np.random.default_rng(seed)
    given = 1.0 if weights is None else weights
    found = []
    for size in _blocks(count, resamples):
        times = np.stack([np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(size)]) * given
        found.append(times @ values / times.sum(axis=1, keepdims=True))
    return np.concatenate(found)


def _blocks(count: int, resamples: int) -> list[int]:
    if not count:
        raise InputError("values", "at least one, to resample", "none")
    step = max(1, _HELD // count)
    return [min(step, resamples - start) for start in range(0, resamples, step)]


def _percentiles(drawn: F64) -> list[Interval]:
    ends = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2], axis=0)
    return [Interval(*pair) for pair in ends.T.tolist()]


def _check_paired(first: NDArray[np.generic], second: NDArray[np.generic]) -> None:
    if first.shape != second.shape:
        raise InputError("second", f"values of the same {len(first)} queries", f"{len(second)}")
