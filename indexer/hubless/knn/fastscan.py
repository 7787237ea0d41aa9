"""`fastscan`: scan 4-bit product codes in registers (André et al., IEEE TPAMI 2021), and rescore the best."""

from dataclasses import dataclass
from typing import Any, ClassVar

import faiss

from hubless.knn.base import (
    LEAST_TRAINED,
    NUMBER_BYTES,
    Found,
    IndexType,
    SearchParameters,
    Selector,
    TrainingSample,
    search_refined,
    with_storage,
)
from hubless.knn.ivf import list_count, list_training_rows, narrowed_probes, probes, probing
from hubless.knn.leading import leading_directions, most_codes
from hubless.vectors.arrays import F32

CODED_TOGETHER = 4
"""Dimensions that share a code if none is the offset: then they are not turned."""
TRAINING_ROWS = 16_384
K_FACTORS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 256)
IVF_K_FACTORS = (4, 8, 16, 64, 256)
SCANS_A_K = 2000
"""Rescoring the 10 candidates of one `k_factor` takes as long as scanning this many codes."""

SCANNED_A_COMPARED = 32
"""Scanning this many codes takes as long as comparing with one vector."""


@dataclass(frozen=True)
class FastScan(IndexType):
    """Scans all codes, in one list, as Faiss' scan without lists takes no selector.

    `k_factor` is the number of candidates to rescore per requested hit.
    """

    name: str = "fastscan"
    pivoted = True
    least = LEAST_TRAINED
    known: ClassVar[tuple[str, ...]] = ("k_factor",)

    def size(self, count: int, dim: int) -> int:
        return count * (dim * NUMBER_BYTES[self.precision] + most_codes(dim) // 2 + 8) + self.lists(count) * dim * 4

    def lists(self, count: int) -> int:
        return 1

    def training_rows(self, count: int) -> int:
        return min(count, TRAINING_ROWS)

    def new(self, count: int, dim: int, seed: int, sample: TrainingSample | None) -> faiss.Index:
        turned, coded, together = None, dim, CODED_TOGETHER
        if sample is not None and sample.columns is not None:
            turned, together = leading_directions(sample.vectors, sample.columns)
            coded = turned.d_out
        codes = f"IVF{self.lists(count)},PQ{coded // together}x4fs"
        compressed = faiss.index_factory(coded, codes, faiss.METRIC_INNER_PRODUCT)
        compressed.cp.seed = compressed.pq.cp.seed = seed
        if turned is not None:
            compressed = faiss.IndexPreTransform(turned, compressed)
        return with_storage(compressed, self.precision)

    def ladder(self, count: int) -> list[dict[str, Any]]:
        return [{"k_factor": factor} for factor in K_FACTORS]

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        return None if selected * SCANNED_A_COMPARED <= count else parameters

    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        return search_refined(index, queries, k, how["k_factor"], probing(1, only))


@dataclass(frozen=True)
class IvfFastScan(FastScan):
    """Scans the codes in the `nprobe` lists nearest to the query."""

    name: str = "ivf_fastscan"
    known = ("nprobe", "k_factor")

    def lists(self, count: int) -> int:
        return list_count(count)

    def training_rows(self, count: int) -> int:
        return max(list_training_rows(count), super().training_rows(count))

    def ladder(self, count: int) -> list[dict[str, Any]]:
        scanned_a_list = count / self.lists(count)
        tried = [{"nprobe": nprobe, "k_factor": factor} for nprobe in probes(count, 2) for factor in IVF_K_FACTORS]
        return sorted(tried, key=lambda each: each["nprobe"] * scanned_a_list + SCANS_A_K * each["k_factor"])

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        return narrowed_probes(parameters, selected, count)

    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        return search_refined(index, queries, k, how["k_factor"], probing(how["nprobe"], only))
