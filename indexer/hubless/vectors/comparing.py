"""Metrics, a record each: how vectors become *compared* ones, whose inner product is the similarity.

Euclidean distance folds into it. A target t is compared as [t, c, r, ε], a query q as [q, 4096, 1, −½|q|²/ε], with
4096·c + r = −½|t|²: their product is −½|q − t|². These coordinates of a target are small, so graphs, lists and
duplicates go by t; there are two for |t|², as float16 would round one away.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F32, F64, I64, LONGEST, Flags, half_rows, short_rows, unit_rows

Metric: TypeAlias = Literal["cosine", "dot", "euclidean"]
ComparedSide: TypeAlias = Literal["target", "query"]
OF_TARGETS: ComparedSide = "target"
OF_QUERIES: ComparedSide = "query"
COSINE: Metric = "cosine"
_LIFTED_ALREADY = cast(Metric, "euclidean, compared")
_AS_SIMILARITIES = cast(Metric, "euclidean, similarities")
_COARSE = np.float32(4096)
_EPSILON = np.float32(2**-14)
_HALF = 65504.0
SMALLEST = 1e-30
"""Stands for a similarity that is not above 0, where a published score takes its logarithm."""

Check: TypeAlias = Callable[[F32, str, "int | I64 | None"], F32]


@dataclass(frozen=True)
class MetricRecord:
    """A metric: what checks vectors, how many `lifted` coordinates come behind them, and whether they are there.

    `squared` says that similarities are −½ of squared distances. `about` is for a message that lists metrics.
    `of_compared` is the metric of vectors that are compared ones already, `of_similarities` that of similarities.
    """

    check: Check
    about: str
    of_compared: Metric = "dot"
    lifted: int = 0
    squared: bool = False
    of_similarities: Metric = "dot"
    ready: bool = False
    takes_zero: bool = True

    def width(self, dim: int) -> int:
        """Return the coordinates of compared vectors of so many dimensions."""
        return dim if self.ready else dim + self.lifted

    def compared(self, rows: F32, name: str, numbers: int | I64 | None = 0, side: ComparedSide = OF_TARGETS) -> F32:
        """Return rows (m, d) as they are compared. Raises `ZeroVector` or `NotFinite` naming the first bad row."""
        checked = self.check(rows, name, numbers)
        if not self.lifted or self.ready:
            return checked
        return _LIFTS[side](checked)

    def plain(self, rows: F32) -> F32:
        """Return compared rows (m, d') as they were before they were lifted, (m, d)."""
        return np.ascontiguousarray(rows[:, : -self.lifted]) if self.lifted else rows

    def turned(self, rows: F32, side: ComparedSide = OF_QUERIES) -> F32:
        """Return compared rows (m, d') as the other side is compared: targets as queries, or queries as targets."""
        return _LIFTS[side](self.plain(rows)) if self.lifted else rows

    def halved(self, rows: F32, name: str, numbers: int | I64 = 0) -> F32:
        """Return compared targets (m, d') with their numbers rounded to float16, and their lengths those of these."""
        if not self.lifted:
            return half_rows(rows, name, numbers)
        return half_rows(_as_targets(half_rows(self.plain(rows), name, numbers)), name, numbers)

    def comparable(self, squared: F64) -> Flags:
        """Return which of these squared lengths (m,) vectors may have."""
        fits: Flags = squared > 0
        return squared <= LONGEST**2 if self.takes_zero else fits

    def factors(self, similarities: F64, temperature: float) -> tuple[F64, F64]:
        """Return sign and logarithm of a factor s of a published score: e^(s/τ) where s is never above 0."""
        if self.squared:
            return np.ones_like(similarities), similarities / temperature
        return similarities, np.log(np.maximum(np.abs(similarities), SMALLEST))


def _as_targets(rows: F32) -> F32:
    half = -_half_squares(rows)
    coarse = np.clip(half / _COARSE, -_HALF, _HALF).astype(np.float16).astype(np.float32)
    rest = (half - np.float64(_COARSE) * coarse).astype(np.float32)
    return np.column_stack([rows, coarse, rest, np.full(len(rows), _EPSILON)])


def _as_queries(rows: F32) -> F32:
    half = (-_half_squares(rows) / _EPSILON).astype(np.float32)
    return np.column_stack([rows, np.full(len(rows), _COARSE), np.ones(len(rows), np.float32), half])


def _half_squares(rows: F32) -> F64:
    wide = rows.astype(np.float64)
    squares: F64 = np.vecdot(wide, wide) / 2
    return squares


LENGTHS = np.array([_COARSE, 1], np.float32) / np.hypot(_COARSE, np.float32(1))
"""The direction of the two lifted coordinates that hold |t|², and of those of queries."""
_LIFTS: dict[ComparedSide, Callable[[F32], F32]] = {OF_TARGETS: _as_targets, OF_QUERIES: _as_queries}
_RECORDS: dict[str, MetricRecord] = {
    "cosine": MetricRecord(unit_rows, "lengths do not count", takes_zero=False),
    "dot": MetricRecord(short_rows, "they do"),
    "euclidean": MetricRecord(short_rows, "distances count", _LIFTED_ALREADY, 3, True, _AS_SIMILARITIES),
    _LIFTED_ALREADY: MetricRecord(short_rows, "", _LIFTED_ALREADY, 3, True, _AS_SIMILARITIES, ready=True),
    _AS_SIMILARITIES: MetricRecord(short_rows, "", _AS_SIMILARITIES, 0, True, _AS_SIMILARITIES),
}


def side_of(name: str) -> ComparedSide:
    """Return the side of an input, by its name: that of targets and the target bank, or of queries."""
    return OF_TARGETS if name.startswith("target") else OF_QUERIES


def comparison(metric: str) -> MetricRecord:
    """Return the record of a metric."""
    return _RECORDS[metric]


def check_metric(metric: str | None) -> Metric:
    """Return the metric, or raise an `InputError` that names all. A wrong default would rank wrongly in silence."""
    if metric in _RECORDS:
        return metric  # type: ignore[return-value]
    meaning = ", ".join(f'metric="{each}" ({_RECORDS[each].about})' for each in get_args(Metric))
    raise InputError("metric", meaning, "none" if metric is None else repr(metric))
