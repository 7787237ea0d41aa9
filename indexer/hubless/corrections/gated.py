"""`dis`: the inverted softmax, switched on only for queries that a hub would answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, check_at_least
from hubless.corrections.base import Details, State, Vectors, targets_beside
from hubless.corrections.inverted_softmax import InvertedSoftmax
from hubless.corrections.query_time import Flags, Gate
from hubless.corrections.softmax import FittedSoftmax
from hubless.kernels import nearest
from hubless.sources import VectorSource
from hubless.streaming import Advance, no_progress


def activation_set(bank: VectorSource, targets: VectorSource, k: int) -> Flags:
    """Which targets (n,) are among the k most similar of some row of a bank, by raw similarity."""
    active = np.zeros(targets.shape[0], np.bool_)
    active[nearest(bank, targets, k)] = True
    return active


@dataclass(frozen=True)
class FittedGatedSoftmax:
    """h(t) = τ·LSE_{q∈Bq}(q·t/τ), and a gate: the targets in the top k of some bank query."""

    softmax: FittedSoftmax
    k: int

    @property
    def details(self) -> Details:
        return self.softmax.details | {"k": int(self.k)}

    def offsets(self, targets: Vectors, advance: Advance = no_progress) -> F32:
        return self.softmax.offsets(targets, advance)

    def query_time(self, targets: Vectors, advance: Advance = no_progress) -> Gate:
        source = targets_beside(self.softmax.bank, targets)
        gate = Gate(activation_set(self.softmax.bank, source, self.k))
        advance(source.shape[0])
        return gate

    def state(self) -> State:
        return self.softmax.state()

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], details: Details) -> "FittedGatedSoftmax":
        rest = {key: value for key, value in details.items() if key != "k"}
        return cls(FittedSoftmax.from_state(state, rest), details["k"])


@dataclass(frozen=True)
class DynamicInvertedSoftmax:
    """Dynamic inverted softmax: `is` for a query whose raw top-1 is in the activation set, and else the raw ranking.

    h(t) = τ · LSE_{q∈Bq}(q·t/τ) where the gate is on. The activation set holds the targets that are in the top k of
    some bank query by raw similarity: those that were seen to attract queries. The switch is of the whole ranking of
    a query, not of single targets.

    Parameters
    ----------
    temperature : τ in units of similarity, or "auto" for the one of the given perplexity (published: 0.02)
    perplexity : effective bank queries per target, for "auto"; None is clip(0.1·b, 20, 100)
    k : how far down the ranking of a bank query a target is active

    Source: Bogolin et al., "Cross Modal Retrieval with Querybank Normalisation" (QB-Norm), CVPR 2022, equation 2.
    """

    temperature: float | Literal["auto"] = "auto"
    perplexity: float | None = None
    k: int = 1

    def __post_init__(self) -> None:
        self._softmax()
        check_at_least("k", self.k, 1)

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedGatedSoftmax:
        return FittedGatedSoftmax(self._softmax().fit(query_bank, targets, target_bank), self.k)

    def _softmax(self) -> InvertedSoftmax:
        return InvertedSoftmax(self.temperature, self.perplexity)
