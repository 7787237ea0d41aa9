"""What is measured of a ranking, gathered block by block."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubless import measures
from hubless.measures import Groups
from hubless.vectors.arrays import F64, I64

K_OCCURRENCE = 10
"""mAP and nDCG are measured over the first 10, and hubness unless another depth is asked for."""
DEPTHS = (K_OCCURRENCE,)
RECALLS = (1, 5, 10)

Quality: TypeAlias = dict[str, float]
"""Measures of one ranking by name: `recall_at_1`, …, `mean_rank`, …, `skewness`, …; shares are from 0 to 1."""

_OCCURRENCE_MEASURES = {
    "skewness": measures.skewness,
    "truncated_skewness": measures.truncated_skewness,
    "kurtosis": measures.kurtosis,
    "mean_deviation": measures.mean_deviation,
    "most": lambda occurrence: float(occurrence.max()),
    "robin_hood": measures.robin_hood,
    "gini": measures.gini,
    "atkinson": measures.atkinson,
    "antihubs": measures.antihub_occurrence,
    "hubs": measures.hub_occurrence,
    "groupie_ratio": measures.groupie_ratio,
}


@dataclass(frozen=True)
class Attribute:
    """An attribute of the targets whose groups are counted among the first `top` of each query."""

    groups: Groups
    top: int

    def within(self, rows: I64) -> "Attribute":
        """The same for a gallery of some of the targets."""
        return Attribute(Groups(self.groups.names, self.groups.codes[rows]), self.top)


class Tally:
    """Ranks, k-occurrence and shares of groups of one ranking, gathered block by block.

    Parameters
    ----------
    targets : n
    recalls : the k of R@k
    attribute : of the targets, whose groups are counted
    depths : the k of N_k. Measures of the first have their plain names, those of the others end in `_at_k`
    """

    def __init__(
        self,
        targets: int,
        recalls: Sequence[int] = RECALLS,
        attribute: Attribute | None = None,
        depths: Sequence[int] = DEPTHS,
    ) -> None:
        self._recalls = recalls
        self._attribute = attribute
        self._relevant: list[F64] = []
        self._shares: list[F64] = []
        self._occurrences = {depth: np.zeros(targets) for depth in depths}

    def add(self, scores: NDArray[np.floating], relevant: list[I64]) -> None:
        """Add the scores (m, n) of some queries, each with a relevant target at least."""
        if not len(scores):
            return
        self._relevant += measures.relevant_ranks(scores, relevant)
        for depth, occurrence in self._occurrences.items():
            occurrence += measures.k_occurrence_of_scores(scores, depth)
        if self._attribute is not None:
            top = min(self._attribute.top, scores.shape[1])
            first = np.argpartition(-scores, top - 1, axis=1)[:, :top]
            self._shares.append(measures.group_shares(first, self._attribute.groups))

    @property
    def ranks(self) -> F64:
        """Rank of the best relevant target of each query, (m,)."""
        return np.array([found[0] for found in self._relevant])

    def per_query(self) -> dict[str, F64]:
        """What is measured of each query and averaged over them, (m,) each."""
        ranks = self.ranks
        hits = {f"recall_at_{k}": (ranks <= k).astype(np.float64) for k in self._recalls}
        precisions = {f"precision_at_{k}": measures.precision_at(self._relevant, k) for k in self._recalls}
        return hits | {
            "mean_rank": ranks,
            "mean_reciprocal_rank": 1 / ranks,
            f"mean_average_precision_at_{K_OCCURRENCE}": measures.average_precision_at(self._relevant, K_OCCURRENCE),
            f"ndcg_at_{K_OCCURRENCE}": measures.ndcg_at(self._relevant, K_OCCURRENCE),
            **precisions,
        }

    def quality(self, per_query: dict[str, F64] | None = None) -> Quality:
        """All measures over all that was added; `per_query`, if it is known already, is not computed anew."""
        hubness: Quality = {}
        for place, (depth, occurrence) in enumerate(self._occurrences.items()):
            ending = f"_at_{depth}" if place else ""
            hubness |= {f"{name}{ending}": measure(occurrence) for name, measure in _OCCURRENCE_MEASURES.items()}
        averaged = {name: float(values.mean()) for name, values in (per_query or self.per_query()).items()}
        ranks = self.ranks
        overall = {
            "median_rank": measures.median_rank(ranks),
            "geometric_mean_recall": measures.geometric_mean_recall(ranks, RECALLS),
        }
        return averaged | overall | hubness

    def group_shares(self) -> dict[str, float]:
        """Mean share of each group among the first of a query; nothing without an attribute."""
        return self._of_groups(lambda shares: shares.mean(axis=0))

    def group_spread(self) -> dict[str, float]:
        """Standard deviation over the queries of each group's share; nothing without an attribute."""
        return self._of_groups(lambda shares: shares.std(axis=0))

    def group_histogram(self) -> dict[str, list[int]]:
        """How many queries show 0, 1, … of each group among their first; nothing without an attribute."""
        if self._attribute is None:
            return {}
        top = min(self._attribute.top, len(self._attribute.groups.codes))
        counts = measures.group_histogram(np.concatenate(self._shares), top)
        return dict(zip(self._attribute.groups.names, counts.tolist(), strict=True))

    def _of_groups(self, statistic: Callable[[F64], F64]) -> dict[str, float]:
        if self._attribute is None:
            return {}
        return self._attribute.groups.by_name(statistic(np.concatenate(self._shares)))
