"""`nnn` and `csls`: the mean similarity of a target to its nearest bank queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from hubless.corrections.base import (
    BankKept,
    Details,
    Rows,
    SeesVectors,
    State,
    StateArrays,
    check_banks,
    targets_beside,
)
from hubless.corrections.folded.bank_index import AIM, BANK_INDEXES, FLAT, LEAST_INDEXED, BankIndex, index_of
from hubless.errors import InputError
from hubless.kernels.reductions import top_k_mean_each
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, check_at_least, check_between
from hubless.vectors.comparing import COSINE, OF_TARGETS
from hubless.vectors.sources import held, turned_vectors

PUBLISHED_K = 128
CSLS_WEIGHT = 0.5
"""CSLS ranks by 2 q·t − r(q) − r(t): halved, and without the query's own term, q·t − ½ r(t)."""


_INDEX = "index"


@dataclass(frozen=True, repr=False)
class FittedNeighbours(BankKept):
    """h(t) = w · mean of the k largest q·t over the bank; about that by an index."""

    k: int
    weight: float
    note: str | None = None
    index: BankIndex | None = None
    metric: str = COSINE

    @property
    def details(self) -> Details:
        left_out = (_INDEX, "metric")
        found = {name: value for name, value in super().details.items() if value is not None and name not in left_out}
        if (index := self.index) is None:
            return found
        return found | {
            "bank_index": index.kind,
            "bank_recall": index.recall,
            "metric": self.metric,
            BANK_INDEXES[index.kind].parameter: index.searched,
        }

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return self.offsets_each([self], targets, advance)[0]

    @staticmethod
    def offsets_each(fits: Sequence["FittedNeighbours"], targets: Rows, advance: Advance = no_progress) -> list[F32]:
        source = targets_beside(fits[0].bank, targets)
        compared = [each for each in fits if each.index is None]
        exact = iter(top_k_mean_each([each.bank for each in compared], source, [each.k for each in compared], advance))
        means: list[F64] = [
            next(exact)
            if each.index is None
            else each.index.top_k_mean(turned_vectors(source, each.metric), each.k, advance)
            for each in fits
        ]
        return [(each.weight * of_bank).astype(np.float32) for each, of_bank in zip(fits, means, strict=True)]

    def state(self) -> State:
        return super().state() | ({} if self.index is None else {_INDEX: self.index.packed})

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> Self:
        bank = held(state["bank"], "query bank")
        index = None
        if _INDEX in state:
            kind = details["bank_index"]
            index = BankIndex(kind, details[BANK_INDEXES[kind].parameter], details["bank_recall"], state[_INDEX])
            index.check(bank.shape[0])
        metric = details.get("metric", COSINE)
        return cls(bank, details["k"], details["weight"], details.get("note"), index, metric)


@dataclass(frozen=True)
class Nnn(SeesVectors):
    """Nearest Neighbor Normalization: h(t) = w · mean of the k largest q·t over the query bank.

    k None is 128, or all of a smaller bank, and then the details have a `note`. Source: Chowdhury et al., EMNLP 2024.

    Parameters
    ----------
    bank_index : how the k nearest are found: "flat" is exact. The others are Faiss' indexes over the bank, "ivf",
        "hnsw" and "fastscan", which are searched as cheaply as finds 0.95 of them; the details say the `bank_recall`
    """

    k: int | None = None
    weight: float = 0.75
    bank_index: str = FLAT

    def __post_init__(self) -> None:
        if self.k is not None:
            check_at_least("k", self.k, 1)
        check_between("weight", self.weight, 0, float("inf"))
        if self.bank_index not in (FLAT, *BANK_INDEXES):
            raise InputError("bank_index", f"one of {', '.join((FLAT, *BANK_INDEXES))}", self.bank_index)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNeighbours:
        """Take the bank, with an index of it where that is wanted. Raises `InputError` for fewer queries than k."""
        bank, source, _ = check_banks(query_bank, targets, target_bank, self.k or 1, f"as k is {self.k}")
        queries = bank.shape[0]
        k = int(self.k or min(PUBLISHED_K, queries))
        notes = []
        if self.k is None and k < PUBLISHED_K:
            notes.append(f"k is {k} instead of {PUBLISHED_K}, as there are {queries} bank queries")
        index = None
        if self.bank_index != FLAT and queries >= LEAST_INDEXED:
            # the targets ask the bank
            sides = turned_vectors(bank, self.metric, OF_TARGETS), turned_vectors(source, self.metric)
            index = index_of(*sides, self.bank_index, k)
        if self.bank_index != FLAT and index is None:
            needed = f"{self.bank_index} needs {LEAST_INDEXED} bank queries, and there are {queries}"
            notes.append(f"bank_index is {FLAT}, as {needed}")
        if index is not None and index.recall < AIM:
            notes.append(f"{self.bank_index} finds {index.recall:.2f} of the nearest bank queries, not {AIM}")
        return FittedNeighbours(bank, k, float(self.weight), "; ".join(notes) or None, index, self.metric)


@dataclass(frozen=True)
class Csls(SeesVectors):
    """Cross-domain similarity local scaling: h(t) = ½ · mean of the k largest q·t over the query bank.

    The query's own term is the same for all targets; `bank_index` is that of `Nnn`. Source: Conneau et al., ICLR 2018.
    """

    k: int = 10
    bank_index: str = FLAT

    def __post_init__(self) -> None:
        check_at_least("k", self.k, 1)
        self._as_nnn()

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNeighbours:
        return self._as_nnn().fit(query_bank, targets, target_bank)

    def _as_nnn(self) -> Nnn:
        return Nnn(self.k, CSLS_WEIGHT, self.bank_index).under(self.metric)
