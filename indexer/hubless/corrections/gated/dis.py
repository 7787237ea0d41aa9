"""`dis`: the inverted softmax, switched on only for queries that a hub would answer."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.corrections.base import Details, Fitted, Rows, State, StateArrays, targets_beside
from hubless.corrections.folded.softmax import FittedSoftmax, InvertedSoftmax
from hubless.corrections.query_time import Gate
from hubless.corrections.temperature import AtTemperature
from hubless.errors import InputError
from hubless.kernels.reductions import reaches, top_k_similarities
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, Flags, check_at_least
from hubless.vectors.sources import VectorSource, as_source

GATES = ("query", "target")
_ROUNDING = 1e-5
"""Similarities that differ by less, relative to them, tie: products of float32 are about as exact."""


def activation_set(bank: VectorSource, targets: VectorSource, k: int) -> Flags:
    """Return which targets (n,) are among the k most similar of some row of a bank, or tie with these.

    So copies of a target are active together, and the gate does not depend on which of them an index returns first.
    """
    return reaches(bank, targets, reached_from(bank, targets, k))


def reached_from(bank: VectorSource, targets: VectorSource, k: int) -> F32:
    """Return the k-th best similarity (b,) of each bank query, less rounding: −∞ with k targets or fewer."""
    if targets.shape[0] <= k:
        return np.full(bank.shape[0], -np.inf, np.float32)
    last = top_k_similarities(targets, bank, k).min(axis=1)
    thresholds: F32 = last - np.float32(_ROUNDING) * np.abs(last)
    return thresholds


@dataclass(frozen=True, repr=False)
class FittedGatedSoftmax(Fitted):
    """h(t) = τ·LSE_{q∈Bq}(q·t/τ), and a gate on queries, or on targets, which has `thresholds` (b,)."""

    softmax: FittedSoftmax
    k: int
    thresholds: F32 | None = None
    active_mean: float = 0.0

    @property
    def details(self) -> Details:
        return self.softmax.details | {"k": int(self.k), "gate": "query" if self.thresholds is None else "target"}

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        if self.thresholds is None:
            return self.softmax.offsets(targets, advance)
        source = targets_beside(self.softmax.bank, targets)
        active = reaches(self.softmax.bank, source, self.thresholds)
        above = self.softmax.offsets(source, advance) - np.float32(self.active_mean)
        return np.where(active, above, np.float32(0))

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> Gate | None:
        if self.thresholds is not None:
            return None
        source = targets_beside(self.softmax.bank, targets)
        gate = Gate(activation_set(self.softmax.bank, source, self.k))
        advance(source.shape[0])
        return gate

    def state(self) -> State:
        state = self.softmax.state()
        if self.thresholds is None:
            return state
        return state | {"thresholds": self.thresholds, "active_mean": np.array(self.active_mean)}

    @classmethod
    def from_state(cls, state: StateArrays, details: Details) -> "FittedGatedSoftmax":
        rest = {key: value for key, value in details.items() if key not in ("k", "gate")}
        mean = float(state.get("active_mean", 0.0))
        return cls(FittedSoftmax.from_state(state, rest), details["k"], state.get("thresholds"), mean)


@dataclass(frozen=True)
class DynamicInvertedSoftmax(AtTemperature):
    """Dynamic inverted softmax: `is` where a hub would answer, and else the raw ranking.

    The activation set holds the targets in the top k of some bank query by raw similarity. With gate "query", as in
    QB-Norm, a query whose raw top-1 is in it is corrected by h(t) = τ·LSE_{q∈Bq}(q·t/τ). With gate "target", as in
    DBSN, its members have, for every query, this offset less its mean over the set, others 0: it folds. Equation 15 of
    DBSN, taken literally, compares softmax and similarity, which are on different scales.

    Source: Bogolin et al. (QB-Norm), CVPR 2022, equation 2, τ = 0.05; Pan et al. (DBSN), ACM MM 2025, equation 15.
    """

    k: int = 1
    gate: Literal["query", "target"] = "query"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("k", self.k, 1)
        if self.gate not in GATES:
            raise InputError("gate", f"one of {', '.join(GATES)}", repr(self.gate))

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedGatedSoftmax:
        softmax = InvertedSoftmax(self.temperature, self.perplexity).fit(query_bank, targets, target_bank)
        if self.gate == "query":
            return FittedGatedSoftmax(softmax, self.k)
        source = as_source(targets, "targets")
        thresholds = reached_from(softmax.bank, source, self.k)
        of_active = softmax.offsets(source)[reaches(softmax.bank, source, thresholds)]
        return FittedGatedSoftmax(softmax, self.k, thresholds, float(of_active.mean(dtype=np.float64)))
