"""`dn` and `cent`: the similarity of a target to the mean of the queries."""

from dataclasses import dataclass

import numpy as np

from hubless.corrections.base import Details, Fitted, Rows, State, StateArrays, check_banks
from hubless.kernels.reductions import products_with
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, check_between, check_dim
from hubless.vectors.sources import as_source, mean_row


@dataclass(frozen=True, repr=False)
class FittedMean(Fitted):
    """h(t) = w · mean·t."""

    mean: F64
    weight: float
    rows: int

    @property
    def details(self) -> Details:
        return {"weight": float(self.weight), "mean_of_rows": self.rows}

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        source = as_source(targets, "targets")
        check_dim(source.shape[1], len(self.mean), source.name, "the mean")
        return (self.weight * products_with(self.mean, source, advance)).astype(np.float32)

    def state(self) -> State:
        return {"mean": self.mean}

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> "FittedMean":
        return cls(state["mean"], details["weight"], details["mean_of_rows"])


@dataclass(frozen=True)
class DistributionNormalisation:
    """Distribution normalisation: h(t) = w · (mean of the query bank)·t.

    Of the published (q − w·q̄)·(t − w·t̄) the other terms are the same for all targets of a query. Source: Zhou et al.,
    "Test-Time Distribution Normalization for Contrastively Learned Vision-language Models", NeurIPS 2023.
    """

    weight: float = 0.5

    def __post_init__(self) -> None:
        check_between("weight", self.weight, 0, float("inf"))

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedMean:
        bank, _, _ = check_banks(query_bank, targets, target_bank, 1, "to take their mean")
        return FittedMean(mean_row(bank), self.weight, bank.shape[0])


@dataclass(frozen=True)
class Centring(DistributionNormalisation):
    """Centring: h(t) = w · (mean of the query bank)·t, what remains of (q − q̄)·(t − t̄) in the ranking of one query.

    The published (mean of the targets)·t presumes that both sides share one mean, and ruins rankings across modalities.
    Source: Suzuki et al., "Centering Similarity Measures to Reduce Hubs", EMNLP 2013.
    """

    weight: float = 1.0
