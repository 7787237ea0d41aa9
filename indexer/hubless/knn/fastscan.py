"""`fastscan`: scan 4-bit product codes in registers (André et al., IEEE TPAMI 2021), and rescore the best."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import faiss

from hubless.knn.base import (
    LEAST_TRAINED,
    NUMBER_BYTES,
    Found,
    IndexType,
    SearchParameters,
    Selector,
    halving,
    search_refined,
    with_storage,
)
from hubless.knn.ivf import list_count, list_training_rows, narrowed_probes, probes, probing
from hubless.knn.leading import has_halves, most_codes
from hubless.knn.training_sample import TrainingSample
from hubless.vectors.arrays import F32

TRAINING_ROWS = 16_384
K_FACTORS = (*sorted({2**power * (4 + step) // 4 for power in range(8) for step in range(4)}), 256)
"""Numbers of candidates to try, 1 to 256: four for each power of 2."""
STEPS = 2
"""Numbers of lists to try for each power of 2: the time of neighbours differs by a quarter or so."""
SCANNED_A_COMPARED = 32
"""Scanning this many codes takes as long as comparing with one vector."""


@dataclass(frozen=True)
class FastScan(IndexType):
    """Scans all codes, in one list, as Faiss' scan without lists takes no selector.

    `k_factor` is the number of candidates to rescore per requested hit. A `fine` one has twice as many codes: a scan
    takes longer, and needs fewer candidates.
    """

    name: str = "fastscan"
    fine: bool = False
    pivoted = True
    least = LEAST_TRAINED
    known: ClassVar[tuple[str, ...]] = ("k_factor",)
    made = "IndexRefine.* of IndexIVFPQFastScan"

    @property
    def label(self) -> str:
        return f"{self.name}_fine" if self.fine else self.name

    def variants(self, dim: int) -> Sequence[IndexType]:
        return (self, replace(self, fine=True)) if has_halves(dim - 2) else (self,)

    def size(self, count: int, dim: int) -> int:
        codes = (1 + self.fine) * most_codes(dim) // 2
        return count * (dim * NUMBER_BYTES[self.precision] + codes + 8) + self.lists(count) * dim * 4

    def training_rows(self, count: int) -> int:
        return min(count, TRAINING_ROWS)

    def new(self, count: int, dim: int, sample: TrainingSample | None) -> faiss.Index:
        if sample is None:
            raise TypeError("codes are trained")
        return with_storage(sample.coded_index(self.lists(count), self.fine), self.precision)

    def ladder(self, count: int) -> list[dict[str, Any]]:
        return [{"k_factor": factor} for factor in halving(K_FACTORS)]

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        return None if selected * SCANNED_A_COMPARED <= count else parameters

    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        return search_refined(index, queries, k, how["k_factor"], probing(how.get("nprobe", 1), only))


@dataclass(frozen=True)
class IvfFastScan(FastScan):
    """Scans the codes in the `nprobe` lists nearest to the query."""

    name: str = "ivf_fastscan"
    known = ("nprobe", "k_factor")
    narrowed = staticmethod(narrowed_probes)

    def lists(self, count: int) -> int:
        return list_count(count)

    def training_rows(self, count: int) -> int:
        return max(list_training_rows(count), super().training_rows(count))

    def ladder(self, count: int) -> list[dict[str, Any]]:
        # a staircase: with more lists, as few candidates as still suffice. The most tell first whether any do
        factors = [K_FACTORS[-1], *halving(K_FACTORS)]
        return [{"nprobe": nprobe, "k_factor": factor} for nprobe in probes(count, STEPS) for factor in factors]
