"""Target priors: how often each target should be found, for the corrections that would find all equally often.

A prior p takes the place of 1/n in Sinkhorn's half step over the targets: h_j = τ·LSE_i(q_i·t_j/τ + a_i) − τ·log p_j +
const. So it folds, and only ratios count. Source: Shin et al., "OTTER: Effortless Label Distribution Adaptation of
Zero-shot Models", NeurIPS 2024, which solves it exactly for a batch of items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections.base import Correction, FittedCorrection, Rows
from hubless.errors import InputError
from hubless.measures.occurrence import unexplained_variation
from hubless.vectors.arrays import F64, I64, Flags, as_array, to_arrow
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.columns import Column, listed, read_column

TARGET_PRIOR = "target prior"


class NumberOfTarget(NamedTuple):
    """A kind of number that each target has, and above what it has to be."""

    name: str
    expected: str
    above: float

    def holds(self, values: F64) -> Flags:
        return np.isfinite(values) & (values > self.above)


PRIOR = NumberOfTarget(TARGET_PRIOR, "a finite number above 0; add 1 to counts that may be 0", 0.0)
OWN_OFFSETS = NumberOfTarget("offsets", "a finite number", -np.inf)
TAKES_PRIOR = ("sn", "dbsn", "auto")
BY_CHANCE = 0.2
"""Clicks whose targets differ by no more than this say nothing of what is popular."""

PriorLike: TypeAlias = str | Path | NDArray[Any] | list[float]
"""Forms of a prior: a file, or anything that NumPy makes an array of."""


@dataclass(frozen=True)
class TargetPrior:
    """Frequencies with which n targets should be found, (n,) above 0, in any unit: counts, shares, sales.

    Of the correction `offsets` they are the offsets themselves. `usual` is the value of targets whose own nobody knows;
    None for the median.
    """

    values: F64
    usual: float | None = None

    @property
    def median(self) -> float:
        """The value of targets whose own nobody knows."""
        return float(np.median(self.values)) if self.usual is None else self.usual

    @property
    def weights(self) -> F64:
        """The values relative to their mean. So targets keep their share of a sum with others that count 1 each."""
        weights: F64 = self.values / self.values.mean()
        return weights

    def taken(self, rows: I64 | None) -> "TargetPrior":
        """Return the values of some rows; None for all."""
        return self if rows is None else TargetPrior(self.values[rows], self.usual)


def click_prior(counts: F64, power: float = 1.0) -> TargetPrior | None:
    """Return how often each target should be found, (c_j + 1/D)^power, by its clicks c (n,); None if they say nothing.

    D = (var c − mean c)/(mean c)² is what the counts vary by beyond chance. If demand is drawn from a Gamma
    distribution, and clicks from Poisson's with this mean, c_j + 1/D is the expected demand given the clicks, but for a
    factor. So it is for a target without clicks, 1/D, and for those that come later. Powers below 1 trust clicks less.
    None where D is at most 0.2.

    Source: Robbins, "An Empirical Bayes Approach to Statistics", 1956, section 2, with a Gamma prior.
    """
    spread = unexplained_variation(counts)
    if not spread > BY_CHANCE:
        return None
    return TargetPrior((counts + 1 / spread) ** power, spread**-power)


@runtime_checkable
class TakesPrior(Protocol):
    """A correction that takes a target prior."""

    takes_prior: ClassVar[bool]

    def fit(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None, target_prior: TargetPrior | None
    ) -> FittedCorrection:
        """As `Correction.fit`, with how often each target should be found."""


def fit(
    method: Correction,
    query_bank: Rows,
    targets: Rows,
    target_bank: Rows | None = None,
    target_prior: TargetPrior | None = None,
) -> FittedCorrection:
    """Fit a correction, with a target prior if there is one. Raises `InputError` if it takes none, and as its `fit`."""
    if target_prior is None:
        return method.fit(query_bank, targets, target_bank)
    return taking_prior(method).fit(query_bank, targets, target_bank, target_prior)


def prior_offsets(fitted: FittedCorrection, values: F64) -> F64:
    """Return the part that a target prior (m,) adds to offsets, or raise `InputError` if it was fitted without one."""
    of_prior: Callable[[F64], F64] | None = getattr(fitted, "of_prior", None)
    if of_prior is None:
        raise InputError(TARGET_PRIOR, "none, as the correction was fitted without one", "one")
    return of_prior(values)


def taking_prior(method: Correction, parameter: str = TARGET_PRIOR) -> TakesPrior:
    """The correction itself, or an `InputError` if it takes no target prior, or what makes one."""
    if not isinstance(method, TakesPrior):
        raise InputError(parameter, f"none with this correction ({', '.join(TAKES_PRIOR)} take one)", "one")
    return method


def as_prior(
    values: PriorLike, count: int, kind: NumberOfTarget = PRIOR, *, ids: pa.Array | None = None
) -> TargetPrior:
    """A target prior of n targets from a file, or an array of numbers above 0. Raises `StorageError`, `InputError`.

    Or another kind of number. Numbers of a table with ids go to the targets of these `ids`, without them row numbers.
    """
    if isinstance(values, str | Path):
        known = to_arrow(np.arange(count)) if ids is None else ids
        column = read_column(values, kind.name, lone=True).joined("target", known)
        return checked_prior(_numbers(column), count, column.name, kind)
    return checked_prior(as_array(values, kind.name), count, kind.name, kind)


def checked_prior(values: NDArray[Any], count: int, name: str, kind: NumberOfTarget = PRIOR) -> TargetPrior:
    """A target prior from an array, with the checks of `as_prior`. Raises `InputError`."""
    if values.dtype.kind not in "iuf":
        raise InputError(name, "numbers", f"{values.dtype}")
    if values.shape != (count,):
        received = f"{len(values)}" if values.ndim == 1 else f"an array of shape {values.shape}"
        raise InputError(name, f"{count} numbers, one a target", received)
    numbers = values.astype(np.float64)
    if (wrong := ~kind.holds(numbers)).any():
        row = int(np.argmax(wrong))
        raise InputError(f"{name}, row {row}", kind.expected, values[row])
    return TargetPrior(numbers)


def _numbers(column: Column) -> NDArray[Any]:
    values = column.values if isinstance(column.values, np.ndarray) else listed(column, "numbers, one a target")
    if column.as_text:
        values = [_number(text, f"{column.name}, row {row}") for row, text in enumerate(values)]
    return as_array(values, column.name)


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(place, "a number", brief(text)) from error
