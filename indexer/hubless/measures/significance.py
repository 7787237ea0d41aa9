"""Certainty of a number: bootstrap intervals, and paired tests of two rankings of the same queries."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.measures.chance import binomial
from hubless.vectors.arrays import F64, Flags

_CONFIDENCE = 0.95
RESAMPLES = 2000
_HELD = 2**22


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
    values: F64, seed: int = 0, resamples: int = RESAMPLES, weights: F64 | None = None
) -> list[Interval]:
    """Return 95 % percentile intervals of the weighted means of columns (m, c), by resampling the queries alike."""
    return percentiles(resampled_means(values, seed, resamples, weights))


def paired_difference(
    first: NDArray[np.generic], second: NDArray[np.generic], weights: F64 | None = None
) -> PairedDifference:
    """Return how much better the second ranking is, by values (m,) of the same queries, such as hits at 1."""
    check_paired(first, second)
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
    check_paired(first, second)
    only_first = int(np.count_nonzero(first & ~second))
    only_second = int(np.count_nonzero(second & ~first))
    tail = binomial(min(only_first, only_second), only_first + only_second, 0.5).sum()
    return McNemar(only_first, only_second, min(1.0, 2 * float(tail)))


def resampled_means(values: F64, seed: int, resamples: int, weights: F64 | None) -> F64:
    """Return the weighted means (r, c) of columns (m, c), by resampling the queries."""
    count = len(values)
    rng = np.random.default_rng(seed)
    given = 1.0 if weights is None else weights
    found = []
    for size in blocks(count, resamples):
        times = np.stack([np.bincount(rng.integers(count, size=count), minlength=count) for _ in range(size)]) * given
        found.append(times @ values / times.sum(axis=1, keepdims=True))
    return np.concatenate(found)


def blocks(count: int, resamples: int) -> list[int]:
    """Return how many resamples of some values to hold at once. Raises `InputError` for none."""
    if not count:
        raise InputError("values", "at least one, to resample", "none")
    step = max(1, _HELD // count)
    return [min(step, resamples - start) for start in range(0, resamples, step)]


def percentiles(drawn: F64) -> list[Interval]:
    """Return the 95 % interval of each column of numbers (r, c)."""
    ends = np.quantile(drawn, [(1 - _CONFIDENCE) / 2, (1 + _CONFIDENCE) / 2], axis=0)
    return [Interval(*pair) for pair in ends.T.tolist()]


def check_paired(first: NDArray[np.generic], second: NDArray[np.generic]) -> None:
    """Raise `InputError` unless there are as many values of both."""
    if first.shape != second.shape:
        raise InputError("second", f"values of the same {len(first)} queries", f"{len(second)}")
