"""What is measured of a correction, put together: over queries, over splits, and against a baseline."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import Details
from hubless.lab.charts import Chart
from hubless.lab.experiments import drawing, tables
from hubless.lab.experiments.measured import Measured, Row
from hubless.lab.experiments.tally import RECALLS, Quality, Tally
from hubless.measures import (
    Interval,
    PairedDifference,
    bootstrap_geometric_mean,
    bootstrap_interval,
    bootstrap_means,
    mcnemar,
    paired_difference,
)
from hubless.vectors.arrays import F64, I64


@dataclass(frozen=True)
class Comparison(Measured):
    """Corrections side by side on the same queries. A notebook shows it as a table."""

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(row.label for row in self.rows)} on {self.queries:,} queries>"

    def _repr_html_(self) -> str:
        return tables.as_html(self)

    def plot(self, measure: str = "recall_at_1") -> Chart:
        """Draw one measure of each correction, with its 95 % interval where there is one.

        Parameters
        ----------
        measure : as in `quality` of a row: "recall_at_5", "skewness"

        Raises
        ------
        InputError
            if the measure was not measured.
        """
        return drawing.quality(self, measure)


class Result:
    """What was measured of one entry: each trial, and for each query the sum over the trials that test it."""

    def __init__(self, label: str, name: str, parameters: Mapping[str, Any], queries: int) -> None:
        self.label = label
        self._name = name
        self._parameters = dict(parameters)
        self._details: Details = {}
        self.qualities: list[Quality] = []
        self._shares: list[dict[str, float]] = []
        self._spreads: list[dict[str, float]] = []
        self._histogram: dict[str, I64] = {}
        self._sums: dict[str, F64] = {}
        self._tested = np.zeros(queries)
        self._ranks = np.empty(0)

    def add(self, rows: I64, tally: Tally, details: Details) -> None:
        """Add a trial: which queries it tests, what was measured, and the details of the fitted correction."""
        self._details = self._details or details
        per_query = tally.per_query()
        self.qualities.append(tally.quality(per_query))
        self._shares.append(tally.group_shares())
        self._spreads.append(tally.group_spread())
        for group, counts in tally.group_histogram().items():
            self._histogram[group] = np.array(counts) + self._histogram.get(group, np.zeros(1, np.int64))
        self._ranks = tally.ranks
        self._tested[rows] += 1
        for name, values in per_query.items():
            self._sums.setdefault(name, np.zeros(len(self._tested)))[rows] += values

    @property
    def times_tested(self) -> F64:
        """How often each query was tested, of those that were."""
        return self._tested[self._tested > 0]

    def per_query(self, name: str) -> F64:
        """The mean over its trials, of each query that was tested."""
        means: F64 = self._sums[name][self._tested > 0] / self.times_tested
        return means

    def row(self, baseline: "Result") -> Row:
        """All of it, with the change against the baseline."""
        several = len(self.qualities) > 1
        return Row(
            label=self.label,
            name=self._name,
            parameters=self._parameters,
            details=self._details,
            quality=_over(self.qualities, np.mean),
            spread=_over(self.qualities, _deviation) if several else None,
            intervals=self._intervals(),
            change=None if self is baseline else self._change(baseline),
            mcnemar=None if several or self is baseline else mcnemar(baseline.hits, self.hits),
            group_shares=_over(self._shares, np.mean),
            group_spread=_over(self._spreads, np.mean),
            group_histogram={group: counts.tolist() for group, counts in self._histogram.items()},
        )

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Whether each query of a single trial has a relevant target in the first place."""
        found: NDArray[np.bool_] = self._ranks <= 1
        return found

    def _intervals(self) -> dict[str, Interval]:
        names = list(self._sums)
        columns = np.stack([self.per_query(name) for name in names], axis=1)
        intervals = dict(zip(names, bootstrap_means(columns, weights=self.times_tested), strict=True))
        hits = [f"recall_at_{k}" for k in RECALLS]
        if set(hits) <= set(names):
            columns = np.stack([self.per_query(name) for name in hits], axis=1)
            intervals["geometric_mean_recall"] = bootstrap_geometric_mean(columns, weights=self.times_tested)
        if len(self.qualities) == 1:
            intervals["median_rank"] = bootstrap_interval(self._ranks, lambda drawn: np.median(drawn, axis=1))
        return intervals

    def _change(self, baseline: "Result") -> PairedDifference:
        mine, theirs = (result.per_query("recall_at_1") for result in (self, baseline))
        return paired_difference(theirs, mine, weights=self.times_tested)


def _over(splits: Sequence[Mapping[str, float]], statistic: Callable[[list[float]], Any]) -> dict[str, float]:
    return {name: float(statistic([split[name] for split in splits])) for name in splits[0]}


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1))
