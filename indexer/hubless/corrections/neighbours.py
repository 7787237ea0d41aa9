"""`nnn` and `csls`: the mean similarity of a target to its nearest bank queries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, check_at_least, check_between
from hubless.corrections.base import Details, State, Vectors, check_banks, targets_beside
from hubless.kernels import top_k_mean
from hubless.sources import ArrayVectors, VectorSource, in_memory
from hubless.streaming import Advance, no_progress

CSLS_WEIGHT = 0.5
"""CSLS ranks by 2 q·t − r(q) − r(t): halved, and without the query's own term, q·t − ½ r(t)."""


@dataclass(frozen=True)
class FittedNeighbours:
    """h(t) = w · mean of the k largest q·t over the bank."""

    bank: VectorSource
    k: int
    weight: float

    @property
    def details(self) -> Details:
        return {"k": int(self.k), "weight": float(self.weight), "bank_queries": self.bank.shape[0]}

    def offsets(self, targets: Vectors, advance: Advance = no_progress) -> F32:
        means = top_k_mean(self.bank, targets_beside(self.bank, targets), self.k, advance)
        return (self.weight * means).astype(np.float32)

    def query_time(self, targets: Vectors, advance: Advance = no_progress) -> None:
        return None

    def state(self) -> State:
        return {"bank": in_memory(self.bank)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], details: Details) -> "FittedNeighbours":
        return cls(ArrayVectors(state["bank"], "query bank"), details["k"], details["weight"])


@dataclass(frozen=True)
class Nnn:
    """Nearest Neighbor Normalization: h(t) = w · mean of the k largest q·t over the query bank.

    Parameters
    ----------
    k : number of nearest bank queries
    weight : w

    Source: Chowdhury et al., "Nearest Neighbor Normalization Improves Multimodal Retrieval", EMNLP 2024, equation 2.
    """

    k: int = 128
    weight: float = 0.75

    def __post_init__(self) -> None:
        check_at_least("k", self.k, 1)
        check_between("weight", self.weight, 0, float("inf"))

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedNeighbours:
        bank, _, _ = check_banks(query_bank, targets, target_bank, self.k, f"as k is {self.k}")
        return FittedNeighbours(bank, self.k, self.weight)


@dataclass(frozen=True)
class Csls:
    """Cross-domain similarity local scaling: h(t) = ½ · mean of the k largest q·t over the query bank.

    The query's own term of CSLS is the same for all targets, so it does not change the ranking.

    Source: Conneau et al., "Word Translation Without Parallel Data", ICLR 2018, equation 3.
    """

    k: int = 10

    def __post_init__(self) -> None:
        check_at_least("k", self.k, 1)

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedNeighbours:
        return Nnn(self.k, CSLS_WEIGHT).fit(query_bank, targets, target_bank)
