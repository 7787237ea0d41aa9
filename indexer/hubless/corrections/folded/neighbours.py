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
from hubless.corrections.folded.bank_index import AIM, FLAT, BankIndex, index_of
from hubless.errors import InputError
from hubless.kernels.reductions import top_k_mean_each
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, check_at_least, check_between
from hubless.vectors.comparing import COSINE, OF_TARGETS
from hubless.vectors.sources import held, in_memory, turned_vectors

PUBLISHED_K = 128
CSLS_WEIGHT = 0.5
"""CSLS ranks by 2 q·t − r(q) − r(t): halved, and without the query's own term, q·t − ½ r(t)."""

CELLS, WHERE_FASTER = "cells", "auto"
FORMER = "ivf", "hnsw", "fastscan"
"""Indexes of Faiss over the bank, which took longer than `flat`: cells take their place."""
LEAST_AUTO = 8_000
"""`auto` takes no cells of fewer bank queries, nor for fewer targets: to compare all takes no longer."""


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
        found = {
            name: value
            for name, value in super().details.items()
            if value is not None and name not in ("index", "metric")
        }
        if (index := self.index) is None:
            return found
        return found | {
            "bank_index": CELLS,
            "nearest": index.nearest,
            "offset_error": index.error,
            "metric": self.metric,
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
        return super().state() | (
            {} if (index := self.index) is None else {"centres": index.centres, "rows": index.rows}
        )

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> Self:
        bank = held(state["bank"], "query bank")
        metric = details.get("metric", COSINE)
        index = None
        if "rows" in state:  # a bank with an index of Faiss, from earlier versions, is compared with exactly
            compared = in_memory(turned_vectors(bank, metric, OF_TARGETS))
            index = BankIndex(compared, state["centres"], state["rows"], details["nearest"], details["offset_error"])
        return cls(bank, details["k"], details["weight"], details.get("note"), index, metric)


@dataclass(frozen=True)
class Nnn(SeesVectors):
    """Nearest Neighbor Normalization: h(t) = w · mean of the k largest q·t over the query bank.

    k None is 128, or all of a smaller bank, and then the details have a `note`. Source: Chowdhury et al., EMNLP 2024.

    Parameters
    ----------
    bank_index : how the k nearest are found: "flat" is exact. "cells" compares targets with all bank queries that are
        near their cell and few of the others, which leaves about nine of the ten best targets as they are. The details
        say the `offset_error`, in steps between scores of neighbouring ranks. "auto" takes cells where they are faster;
        "ivf", "hnsw" and "fastscan" are former names of cells
    """

    k: int | None = None
    weight: float = 0.75
    bank_index: str = FLAT

    def __post_init__(self) -> None:
        if self.k is not None:
            check_at_least("k", self.k, 1)
        check_between("weight", self.weight, 0, float("inf"))
        if self.bank_index not in (known := (FLAT, CELLS, WHERE_FASTER, *FORMER)):
            raise InputError("bank_index", f"one of {', '.join(known)}", self.bank_index)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNeighbours:
        """Take the bank, with an index of it where that is wanted. Raises `InputError` for fewer queries than k."""
        bank, source, _ = check_banks(query_bank, targets, target_bank, self.k or 1, f"as k is {self.k}")
        queries = bank.shape[0]
        k = int(self.k or min(PUBLISHED_K, queries))
        notes = []
        if self.k is None and k < PUBLISHED_K:
            notes.append(f"k is {k} instead of {PUBLISHED_K}, as there are {queries} bank queries")
        index = None
        least = LEAST_AUTO if self.bank_index == WHERE_FASTER else 0
        if self.bank_index != FLAT and min(queries, source.shape[0]) >= least:
            # the targets ask the bank
            sides = turned_vectors(bank, self.metric, OF_TARGETS), turned_vectors(source, self.metric)
            index = index_of(*sides, k, self.weight)
            if (error := index.error) > AIM:
                notes.append(f"bank_index is {FLAT}, as {CELLS} err by {error:.2g} steps between ranks, not {AIM:.2g}")
                index = None
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
