"""`gc`: how highly a target would rank the query among the bank queries."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubless.corrections.base import Rows, check_banks, no_offsets
from hubless.corrections.query_time import Candidates
from hubless.corrections.state import Details, State, in_a_line
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory

TIE = 1e-6
"""Similarities this near to each other are one: the same product is not always rounded alike."""
HELD_SIMILARITIES = 2**22


@dataclass(frozen=True)
class RankAmongBank:
    """s − rank: the rank of s among the bank's similarities to the target, 1 the first; ties share their average.

    Parameters
    ----------
    bank : (b, d); each query is compared with all of it, at a cost of 2·b·c·d floating point operations
    """

    bank: F32

    def scores(self, query: F32, candidates: Candidates) -> F64:
        s = candidates.similarities
        tie = np.float32(TIE) * np.maximum(1, np.abs(s))
        counts = np.empty(len(s))
        vectors = candidates.vectors()
        for block in _blocks(len(s), max(1, HELD_SIMILARITIES // len(self.bank))):
            of_bank = vectors[block] @ self.bank.T
            above = np.count_nonzero(of_bank > (s + tie)[block, np.newaxis], axis=1)
            not_below = np.count_nonzero(of_bank >= (s - tie)[block, np.newaxis], axis=1)
            counts[block] = (above + not_below) / 2
        ranked: F64 = s - (1 + counts)
        return ranked

    def arrays(self) -> State:
        return {}  # the bank is the fitted correction's

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], details: Details) -> Self:
        return cls(arrays["bank"])


def _blocks(count: int, step: int) -> Iterator[slice]:
    return (slice(start, start + step) for start in range(0, count, step))


@dataclass(frozen=True)
class FittedBank:
    """The query bank itself."""

    __repr__ = in_a_line

    bank: VectorSource

    @property
    def details(self) -> Details:
        return {"bank_queries": self.bank.shape[0]}

    def offsets(self, targets: Rows, advance: Advance = no_progress) -> F32:
        return no_offsets(self.bank, targets)

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> RankAmongBank:
        return RankAmongBank(in_memory(self.bank))

    def state(self) -> State:
        return {"bank": in_memory(self.bank)}

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]], details: Details) -> "FittedBank":
        return cls(ArrayVectors(state["bank"], "query bank"))


@dataclass(frozen=True)
class GloballyCorrected:
    """Globally corrected retrieval: η = −(rank − s), the rank of s(q, t) among the bank's similarities to t.

    Ranks are whole numbers, so s decides among targets that rank the query alike. A score is not in units of
    similarity: a strength well below 1 mixes the two.

    Source: Dinu, Lazaridou and Baroni, "Improving Zero-Shot Learning by Mitigating the Hubness Problem", ICLR 2015
    workshop.
    """

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedBank:
        bank, _, _ = check_banks(query_bank, targets, target_bank, 1, "to rank a query among")
        return FittedBank(bank)
