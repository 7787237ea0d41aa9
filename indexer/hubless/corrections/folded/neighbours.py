"""`nnn` and `csls`: the mean similarity of a target to its nearest bank queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.corrections.base import Rows, check_banks, targets_beside
from hubless.corrections.folded.bank_index import EXACT, KINDS, BankIndex, measured_error
from hubless.corrections.state import Details, State, in_a_line
from hubless.errors import InputError
from hubless.kernels.reductions import top_k_mean_each
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, check_at_least, check_between
from hubless.vectors.sources import VectorSource, held, in_memory

PUBLISHED_K = 128
CSLS_WEIGHT = 0.5
"""CSLS ranks by 2 q·t − r(q) − r(t): halved, and without the query's own term, q·t − ½ r(t)."""
ERRORS = ("offset_error", "largest_offset_error", "offset_spread")
"""Of an approximate bank index: how far offsets are too small, on average and at most, and how far they spread."""


@dataclass(frozen=True)
class FittedNeighbours:
    """h(t) = w · mean of the k largest q·t over the bank; about that with a `bank_index` other than "exact"."""

    __repr__ = in_a_line

    bank: VectorSource
    k: int
    weight: float
    bank_index: str = EXACT
    extra: Details = field(default_factory=dict)
    index: BankIndex | None = field(default=None, repr=False, compare=False)

    @property
    def details(self) -> Details:
        fixed = {"k": int(self.k), "weight": float(self.weight), "bank_queries": self.bank.shape[0]}
        return fixed | {"bank_index": self.bank_index} | self.extra

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return self.offsets_each([self], targets, advance)[0]

    @staticmethod
    def offsets_each(fits: Sequence["FittedNeighbours"], targets: Rows, advance: Advance = no_progress) -> list[F32]:
        """The offsets by fits of one method, each (n,). Banks that are parts of one bank share its products."""
        banks, depths = [each.bank for each in fits], [each.k for each in fits]
        source = targets_beside(banks[0], targets)
        if fits[0].bank_index == EXACT:
            means = top_k_mean_each(banks, source, depths, advance)
        else:
            means = [each._codes.top_k_mean(source, each.k, advance) for each in fits]
        return [(each.weight * of_bank).astype(np.float32) for each, of_bank in zip(fits, means, strict=True)]

    @cached_property
    def _codes(self) -> BankIndex:
        return self.index or BankIndex(self.bank)

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> None:
        return None

    def state(self) -> State:
        return {"bank": in_memory(self.bank)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], details: Details) -> "FittedNeighbours":
        return cls(
            held(state["bank"], "query bank"),
            details["k"],
            details["weight"],
            details["bank_index"],
            {key: details[key] for key in (*ERRORS, "note") if key in details},
        )


@dataclass(frozen=True)
class Nnn:
    """Nearest Neighbor Normalization: h(t) = w · mean of the k largest q·t over the query bank.

    Parameters
    ----------
    k : number of nearest bank queries; None is 128, or all of a smaller bank, and then the details have a `note`
    weight : w
    bank_index : "exact", or "fastscan" for an approximate mean by way of short codes of the bank. That is several times
        faster; how far offsets are off is measured on some targets, and stands in the details. A bank of fewer than 624
        or 4·k queries is compared with exactly

    Source: Chowdhury et al., "Nearest Neighbor Normalization Improves Multimodal Retrieval", EMNLP 2024.
    """

    k: int | None = None
    weight: float = 0.75
    bank_index: str = EXACT

    def __post_init__(self) -> None:
        if self.k is not None:
            check_at_least("k", self.k, 1)
        check_between("weight", self.weight, 0, float("inf"))
        if self.bank_index not in KINDS:
            raise InputError("bank_index", f"one of {', '.join(KINDS)}", self.bank_index)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNeighbours:
        bank, some, _ = check_banks(query_bank, targets, target_bank, self.k or 1, f"as k is {self.k}")
        queries = bank.shape[0]
        k = self.k or min(PUBLISHED_K, queries)
        if self.k is None and k < PUBLISHED_K:
            note = f"k is {k} instead of {PUBLISHED_K}, as there are {queries} bank queries"
            return FittedNeighbours(bank, k, self.weight, extra={"note": note})
        if self.bank_index == EXACT or not BankIndex.serves(bank, k):
            return FittedNeighbours(bank, k, self.weight)
        index = BankIndex(bank)
        error = (self.weight * value for value in measured_error(index, bank, some, k))
        return FittedNeighbours(bank, k, self.weight, self.bank_index, dict(zip(ERRORS, error, strict=True)), index)


@dataclass(frozen=True)
class Csls:
    """Cross-domain similarity local scaling: h(t) = ½ · mean of the k largest q·t over the query bank.

    The query's own term of CSLS is the same for all targets, so it does not change the ranking. `bank_index` as for
    `nnn`.

    Source: Conneau et al., "Word Translation Without Parallel Data", ICLR 2018.
    """

    k: int = 10
    bank_index: str = EXACT

    def __post_init__(self) -> None:
        check_at_least("k", self.k, 1)  # nnn takes None
        self._nnn()

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedNeighbours:
        return self._nnn().fit(query_bank, targets, target_bank)

    def _nnn(self) -> Nnn:
        return Nnn(self.k, CSLS_WEIGHT, self.bank_index)
