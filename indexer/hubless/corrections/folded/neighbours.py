"""`nnn` and `csls`: the mean similarity of a target to its nearest bank queries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubless.corrections.base import BankKept, Rows, check_banks, targets_beside
from hubless.corrections.query_time import Details
from hubless.kernels.reductions import top_k_mean_each
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, check_at_least, check_between

PUBLISHED_K = 128
CSLS_WEIGHT = 0.5
"""CSLS ranks by 2 q·t − r(q) − r(t): halved, and without the query's own term, q·t − ½ r(t)."""


@dataclass(frozen=True, repr=False)
class FittedNeighbours(BankKept):
    """h(t) = w · mean of the k largest q·t over the bank."""

    k: int
    weight: float
    note: str | None = None

    @property
    def details(self) -> Details:
        return {name: value for name, value in super().details.items() if value is not None}

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return self.offsets_each([self], targets, advance)[0]

    @staticmethod
    def offsets_each(fits: Sequence["FittedNeighbours"], targets: Rows, advance: Advance = no_progress) -> list[F32]:
        source = targets_beside(fits[0].bank, targets)
        means = top_k_mean_each([each.bank for each in fits], source, [each.k for each in fits], advance)
        return [(each.weight * of_bank).astype(np.float32) for each, of_bank in zip(fits, means, strict=True)]


@dataclass(frozen=True)
class Nnn:
    """Nearest Neighbor Normalization: h(t) = w · mean of the k largest q·t over the query bank.

    k None is 128, or all of a smaller bank, and then the details have a `note`. Source: Chowdhury et al., EMNLP 2024.
    """

    k: int | None = None
    weight: float = 0.75

    def __post_init__(self) -> None:
        if self.k is not None:
            check_at_least("k", self.k, 1)
        check_between("weight", self.weight, 0, float("inf"))

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNeighbours:
        bank, _, _ = check_banks(query_bank, targets, target_bank, self.k or 1, f"as k is {self.k}")
        queries = bank.shape[0]
        k = self.k or min(PUBLISHED_K, queries)
        note = None
        if self.k is None and k < PUBLISHED_K:
            note = f"k is {k} instead of {PUBLISHED_K}, as there are {queries} bank queries"
        return FittedNeighbours(bank, int(k), float(self.weight), note)


@dataclass(frozen=True)
class Csls:
    """Cross-domain similarity local scaling: h(t) = ½ · mean of the k largest q·t over the query bank.

    The query's own term is the same for all targets. Source: Conneau et al., ICLR 2018.
    """

    k: int = 10

    def __post_init__(self) -> None:
        check_at_least("k", self.k, 1)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNeighbours:
        return Nnn(self.k, CSLS_WEIGHT).fit(query_bank, targets, target_bank)
