"""Measures of a ranking: gathered block by block, then over trials, and tested against a baseline."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubless import measures
from hubless.corrections import Details
from hubless.measures import Interval, McNemar, PairedDifference
from hubless.vectors.arrays import F64, I64, check_at_least
from hubless_lab import measures as lab_measures
from hubless_lab.measures import Groups

_K_OCCURRENCE = 10
"""mAP and nDCG are measured over the first 10, and hubness unless another depth is asked for."""
RANKED_DEPTHS = (_K_OCCURRENCE,)
RECALLS = (1, 5, 10)
TWO = 2

Quality: TypeAlias = dict[str, float]
"""Measures of one ranking by name: `recall_at_1`, …, `mean_rank`, …, `skewness`, …; shares are from 0 to 1."""

_OCCURRENCE_MEASURES = {
    "skewness": measures.skewness,
    "truncated_skewness": lab_measures.truncated_skewness,
    "kurtosis": lab_measures.kurtosis,
    "mean_deviation": measures.mean_deviation,
    "most": lambda occurrence: float(occurrence.max()),
    "robin_hood": measures.robin_hood,
    "gini": lab_measures.gini,
    "atkinson": lab_measures.atkinson,
    "antihubs": measures.antihub_occurrence,
    "hubs": lab_measures.hub_occurrence,
    "groupie_ratio": lab_measures.groupie_ratio,
}


@dataclass(frozen=True)
class Attribute:
    """An attribute of the targets whose groups are counted among the first `top` of each query."""

    groups: Groups
    top: int

    def taken(self, rows: I64) -> "Attribute":
        """Return the attribute of some of the targets."""
        return replace(self, groups=replace(self.groups, codes=self.groups.codes[rows]))


@dataclass(frozen=True, kw_only=True)
class Row:
    """The quality of one method: the mean over the splits, with their standard deviation as `spread`.

    Intervals are over the queries. `group_histogram` counts queries that show 0, 1, … of a group. `change` is that of
    R@1 against the baseline, `p_value` of McNemar's test or, over several trials, of sign flips.
    """

    label: str
    name: str
    parameters: dict[str, Any]
    details: Details
    quality: Quality
    spread: Quality | None
    intervals: dict[str, Interval]
    change: PairedDifference | None
    mcnemar: McNemar | None
    p_value: float | None
    seconds: float
    group_shares: dict[str, float]
    group_histogram: dict[str, list[int]]


def counted_depths(recalls: Sequence[int], depths: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return the k of R@k, 1 among them, and of N_k, each once. Raises `InputError` for one below 1."""
    for name, numbers in {"recall at": recalls, "depth": depths}.items():
        for number in numbers:
            check_at_least(name, number, 1)
    return sorted({1, *recalls}), list(dict.fromkeys(depths))


class Tally:
    """Ranks, k-occurrence and groups of one ranking of n targets, gathered block by block."""

    def __init__(
        self,
        targets: int,
        recalls: Sequence[int] = RECALLS,
        attribute: Attribute | None = None,
        depths: Sequence[int] = RANKED_DEPTHS,
    ) -> None:
        self._recalls = recalls
        self._attribute = attribute
        self._relevant: list[F64] = []
        self._occurrences = {depth: np.zeros(targets) for depth in depths}
        self._zeros = 0
        self._scores = 0
        self.histogram = np.zeros((0, 1), np.int64)
        """Number of queries that show 0, 1, … targets of each group among their first, (g, top + 1)."""

    def add(self, scores: NDArray[np.floating], relevant: list[I64]) -> None:
        """Add scores (m, n) of queries, and the rows of the right targets of each."""
        self._relevant += lab_measures.relevant_ranks(scores, relevant)
        self._zeros += int(np.count_nonzero(scores == 0))
        self._scores += scores.size
        for depth, occurrence in self._occurrences.items():
            occurrence += lab_measures.k_occurrence_of_scores(scores, depth)
        if self._attribute is not None:
            top = min(self._attribute.top, scores.shape[1])
            first = np.argpartition(-scores, top - 1, axis=1)[:, :top]
            shares = lab_measures.group_shares(first, self._attribute.groups)
            counts = lab_measures.group_histogram(shares, top)
            self.histogram = counts + (self.histogram if self.histogram.size else 0)

    @property
    def ranks(self) -> F64:
        return np.array([found[0] for found in self._relevant])

    @property
    def occurrence(self) -> F64:
        return next(iter(self._occurrences.values()))

    def per_query(self) -> dict[str, F64]:
        """Return the measures that each query has, (m,) by name."""
        ranks = self.ranks
        found = self._relevant
        return {
            **{f"recall_at_{k}": (ranks <= k).astype(np.float64) for k in self._recalls},
            "mean_rank": ranks,
            "mean_reciprocal_rank": 1 / ranks,
            f"mean_average_precision_at_{_K_OCCURRENCE}": lab_measures.average_precision_at(found, _K_OCCURRENCE),
            f"ndcg_at_{_K_OCCURRENCE}": lab_measures.ndcg_at(found, _K_OCCURRENCE),
            **{f"precision_at_{k}": lab_measures.precision_at(found, k) for k in self._recalls},
        }

    def quality(self, per_query: dict[str, F64]) -> Quality:
        """Return the measures of all queries, those of `per_query` as their means."""
        quality = {name: float(values.mean()) for name, values in per_query.items()}
        quality["median_rank"] = lab_measures.median_rank(self.ranks)
        quality["sparsity"] = self._zeros / self._scores
        if len(shares := list(self.group_shares().values())) == TWO:
            quality["bias"] = shares[0] - shares[1]
        quality["geometric_mean_recall"] = lab_measures.geometric_mean_recall(self.ranks, RECALLS)
        for place, (depth, occurrence) in enumerate(self._occurrences.items()):
            ending = f"_at_{depth}" if place else ""
            quality |= {f"{name}{ending}": measure(occurrence) for name, measure in _OCCURRENCE_MEASURES.items()}
        return quality

    def group_shares(self) -> dict[str, float]:
        """Return the share of each group among the first targets; nothing without an attribute."""
        if self._attribute is None:
            return {}
        top = self.histogram.shape[1] - 1
        return self._attribute.groups.by_name(self.histogram @ np.arange(top + 1) / (top * len(self._relevant)))

    def group_histogram(self) -> dict[str, I64]:
        """Return how many queries show 0, 1, … of each group among their first; nothing without an attribute."""
        return {} if self._attribute is None else dict(zip(self._attribute.groups.names, self.histogram, strict=True))


class Result:
    """Measures of one method: of each trial, and for each query the sum over the trials that test it."""

    def __init__(self, label: str, name: str, parameters: Mapping[str, Any], queries: int) -> None:
        self.label = label
        self._name = name
        self._parameters = dict(parameters)
        self._details: Details = {}
        self._qualities: list[Quality] = []
        self._shares: list[dict[str, float]] = []
        self._histogram: dict[str, I64] = {}
        self._sums: dict[str, F64] = {}
        self._seconds: list[float] = []
        self._occurrences: list[F64] = []
        self._tested = np.zeros(queries)
        self._ranks = np.empty(0)

    def add(
        self, rows: I64, tally: Tally, details: Details, seconds: float = 0.0, of_bank: Quality | None = None
    ) -> None:
        """Add a trial: its test queries `rows`, their tally, how the method was fitted, and in how many seconds."""
        self._seconds.append(seconds)
        self._occurrences.append(tally.occurrence)
        self._details = self._details or details
        per_query = tally.per_query()
        self._qualities.append(tally.quality(per_query) | (of_bank or {}))
        self._shares.append(tally.group_shares())
        for group, counts in tally.group_histogram().items():
            self._histogram[group] = counts + self._histogram.get(group, 0)
        self._ranks = tally.ranks
        np.add.at(self._tested, rows, 1)  # a log asks some again and again
        for name, values in per_query.items():
            np.add.at(self._sums.setdefault(name, np.zeros(len(self._tested))), rows, values)

    def row(self, baseline: "Result") -> Row:
        """Return the means over the trials, with intervals over the queries, and tests against the baseline.

        Of one trial the test is McNemar's; of several, which share queries, sign flips of the means of each query.
        """
        several = len(self._qualities) > 1
        columns, weights = self._per_query(*self._sums)
        intervals = dict(zip(self._sums, measures.bootstrap_means(columns, weights=weights), strict=True))
        hits = [f"recall_at_{k}" for k in RECALLS]
        if set(hits) <= set(self._sums):
            intervals["geometric_mean_recall"] = lab_measures.bootstrap_geometric_mean(
                self._per_query(*hits)[0], weights=weights
            )
        if not several:
            median: Callable[[F64], F64] = lambda drawn: np.median(drawn, axis=1)  # noqa: E731
            intervals["median_rank"] = lab_measures.bootstrap_interval(self._ranks, median)
        change = None
        test = None
        p_value = None
        quality = _over(self._qualities, np.mean)
        found = [np.concatenate(result._occurrences) for result in (baseline, self)]
        quality["ks"], quality["ks_p"] = lab_measures.kolmogorov_smirnov(found[0], found[1])
        if self is not baseline:
            (mine, _), (theirs, _) = self._per_query("recall_at_1"), baseline._per_query("recall_at_1")
            change = measures.paired_difference(theirs[:, 0], mine[:, 0], weights=weights)
            test = None if several else measures.mcnemar(baseline._ranks <= 1, self._ranks <= 1)
            p_value = test.p_value if test else lab_measures.sign_flip_test(theirs[:, 0], mine[:, 0])
        return Row(
            label=self.label,
            name=self._name,
            parameters=self._parameters,
            details=self._details,
            quality=quality,
            spread=_over(self._qualities, lambda values: np.std(values, ddof=1)) if several else None,
            intervals=intervals,
            change=change,
            mcnemar=test,
            p_value=p_value,
            seconds=float(np.mean(self._seconds)),
            group_shares=_over(self._shares, np.mean),
            group_histogram={group: counts.tolist() for group, counts in self._histogram.items()},
        )

    def _per_query(self, *names: str) -> tuple[F64, F64]:
        tested = self._tested > 0
        times = self._tested[tested]
        return np.stack([self._sums[name][tested] / times for name in names], axis=1), times


def _over(splits: Sequence[Mapping[str, float]], statistic: Callable[[list[float]], Any]) -> dict[str, float]:
    return {name: float(statistic([split[name] for split in splits])) for name in splits[0]}
