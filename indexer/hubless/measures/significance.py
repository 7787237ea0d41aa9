"""How sure a number is: bootstrap intervals, and paired tests between two rankings of the same queries."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F64
from hubless.errors import InputError

LEVEL = 0.95
RESAMPLES = 2000
EXACT_BELOW = 25
"""McNemar's test counts the binomial exactly for fewer discordant queries than this."""
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
    """How many queries only one of two rankings answers, and the two-sided probability of that if both are as good."""

    only_first: int
    only_second: int
    p_value: float
    exact: bool


def bootstrap_means(
    values: F64, seed: int = 0, resamples: int = RESAMPLES, weights: F64 | None = None
) -> list[Interval]:
    """95 % percentile intervals of the means of the columns, with the rows (queries) resampled.

    Parameters
    ----------
    values : (m, c), all columns resampled alike
    weights : (m,) of the rows in the means, such as how often a query was tested

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 13.3.
    """
    given = np.ones(len(values)) if weights is None else weights
    drawn = _chosen(len(values), seed, resamples)
    means = np.concatenate([_weighted_means(values, _counts(chosen) * given) for chosen in drawn])
    low, high = np.quantile(means, _TAILS, axis=0)
    return [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]


def bootstrap_interval(
    values: F64, statistic: Statistic | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """95 % percentile interval of a statistic of the values (m,), with the values resampled.

    Parameters
    ----------
    statistic : (r, m) → (r,), such as a median over the last axis; None is the mean
    """
    if statistic is None:
        return bootstrap_means(values[:, np.newaxis].astype(np.float64), seed, resamples)[0]
    found = np.concatenate([statistic(values[chosen]) for chosen in _chosen(len(values), seed, resamples)])
    low, high = np.quantile(found, _TAILS)
    return Interval(float(low), float(high))


def paired_difference(
    first: NDArray[np.generic], second: NDArray[np.generic], seed: int = 0, weights: F64 | None = None
) -> PairedDifference:
    """How much better the second ranking is than the first, by values of the same queries (m,), such as hits at 1.

    Parameters
    ----------
    weights : (m,) of the queries in the mean, such as how often each was tested
    """
    _check_paired(first, second)
    differences = second.astype(np.float64) - first.astype(np.float64)
    given = np.ones(len(differences)) if weights is None else weights
    value = float(np.average(differences, weights=given))
    (interval,) = bootstrap_means(differences[:, np.newaxis], seed, weights=given)
    m = len(differences)
    if m == 1:
        return PairedDifference(value, math.inf, interval)
    error = math.sqrt(float(np.sum((given * (differences - value)) ** 2)) * m / (m - 1)) / float(given.sum())
    return PairedDifference(value, error, interval)


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> McNemar:
    """McNemar's test of two rankings by their hits (m,) on the same queries.

    With b and c the queries that only one of them answers: two-sided binomial(b + c, ½) for b + c < 25, else χ² with
    one degree of freedom of (|b − c| − 1)²/(b + c).

    Source: McNemar, Psychometrika 1947; Edwards, Psychometrika 1948, for the correction by 1.
    """
    _check_paired(first, second)
    only_first = int(np.count_nonzero(first & ~second))
    only_second = int(np.count_nonzero(second & ~first))
    discordant = only_first + only_second
    if discordant < EXACT_BELOW:
        tail = sum(math.comb(discordant, i) for i in range(min(only_first, only_second) + 1)) / 2**discordant
        return McNemar(only_first, only_second, min(1.0, 2 * tail), exact=True)
    squared = max(0, abs(only_first - only_second) - 1) ** 2 / discordant
    return McNemar(only_first, only_second, math.erfc(math.sqrt(squared / 2)), exact=False)


_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def _chosen(count: int, seed: int, resamples: int) -> Iterator[NDArray[np.int64]]:
    """Rows (r, m) drawn with replacement, some resamples at a time."""
    if count == 0:
        raise InputError("values", "at least one, to resample", "none")
    rng = np.random.default_rng(seed)
    step = max(1, _HELD // count)
    for start in range(0, resamples, step):
        yield rng.integers(0, count, size=(min(step, resamples - start), count))


def _weighted_means(values: F64, weights: F64) -> F64:
    """Means (r, c) of values (m, c) by weights (r, m)."""
    means: F64 = weights @ values / weights.sum(axis=1, keepdims=True)
    return means


def _counts(chosen: NDArray[np.int64]) -> F64:
    """How often each row is in each resample."""
    first = chosen.shape[1] * np.arange(len(chosen))[:, np.newaxis]
    flat = (chosen + first).ravel()
    return np.bincount(flat, minlength=chosen.size).reshape(chosen.shape).astype(np.float64)


def _check_paired(first: NDArray[np.generic], second: NDArray[np.generic]) -> None:
    if first.shape != second.shape:
        raise InputError("second", f"values of the same {len(first)} queries", f"{len(second)}")
