"""`hnsw`: walk a graph towards the query. Approximate, fast for large collections.

Source: Malkov and Yashunin, IEEE TPAMI 2020.
"""

import math
from dataclasses import dataclass
from typing import Any

import faiss

from hubless.knn.base import NUMBER_BYTES, Precision, SearchParameters, TrainingSample, check_parameters
from hubless.knn.exhaustive import search_all, storage_of
from hubless.knn.refined import TUNED_AT, search_refined, with_storage
from hubless.vectors.arrays import F32, I64

SQ8_TRAINING_ROWS = 50_000
SQ8_K_FACTOR = 2
"""Twice the hits suffice: candidates by 8-bit codes are in nearly the right order."""
COMPARED_A_NODE = 60
"""A walk takes as long per node of `ef` as comparing with this many vectors in a row."""


@dataclass(frozen=True)
class Hnsw:
    """Graph search over the stored vectors.

    Parameters
    ----------
    neighbours : edges per node (M)
    construction : nodes in the queue while building (efConstruction)

    The search parameter `ef` is the number of nodes in the queue while searching. More is slower and finds more.
    """

    name: str = "hnsw"
    precision: Precision = "float32"
    neighbours: int = 32
    construction: int = 200
    pivoted: bool = False
    least: int = 1

    def size(self, count: int, dim: int) -> int:
        return count * (dim * NUMBER_BYTES[self.precision] + self._links())

    def training_rows(self, count: int) -> int:
        return 0

    def new(self, count: int, dim: int, seed: int, sample: TrainingSample | None) -> faiss.Index:
        return self._graph(dim, "Flat" if self.precision == "float32" else "SQfp16")

    def ladder(self, count: int) -> list[dict[str, Any]]:
        return [{"ef": ef} for ef in (16, 32, 64, 128, 256, 512, 1024)]

    def check(self, parameters: SearchParameters) -> None:
        check_parameters(parameters, ("ef",), self.name)

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        # the walk also passes targets that are not selected: with the same ef, it would end with few selected ones
        share = selected / count
        if share <= (COMPARED_A_NODE * parameters["ef"] / count) ** (2 / 3):
            return None
        return {**parameters, "ef": math.ceil(parameters["ef"] / math.sqrt(share))}

    def search(
        self,
        index: faiss.Index,
        queries: F32,
        k: int,
        parameters: SearchParameters,
        selector: faiss.IDSelector | None = None,
    ) -> tuple[F32, I64]:
        walk = _walk(index, max(parameters["ef"], k), selector)
        scores, rows = index.search(queries, k, params=walk)
        return scores, rows

    def exact(
        self, index: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None = None
    ) -> tuple[F32, I64]:
        return search_all(storage_of(index), queries, k, selector)

    def _graph(self, dim: int, storage: str) -> faiss.Index:
        index = faiss.index_factory(dim, f"HNSW{self.neighbours},{storage}", faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.construction
        return index

    def _links(self) -> int:
        """Return the bytes of a target's edges: twice M on the ground level, and few above."""
        return 4 * 2 * self.neighbours + 20


@dataclass(frozen=True)
class HnswSq8(Hnsw):
    """Graph search over 8-bit codes. float16 vectors rescore the candidates."""

    name: str = "hnsw_sq8"
    precision: Precision = "float16"

    def size(self, count: int, dim: int) -> int:
        return super().size(count, dim) + count * dim

    def training_rows(self, count: int) -> int:
        return min(count, SQ8_TRAINING_ROWS)

    def new(self, count: int, dim: int, seed: int, sample: TrainingSample | None) -> faiss.Index:
        return with_storage(self._graph(dim, "SQ8"), self.precision)

    def search(
        self,
        index: faiss.Index,
        queries: F32,
        k: int,
        parameters: SearchParameters,
        selector: faiss.IDSelector | None = None,
    ) -> tuple[F32, I64]:
        walk = _walk(index, max(parameters["ef"], SQ8_K_FACTOR * max(k, TUNED_AT)), selector)
        return search_refined(index, queries, k, SQ8_K_FACTOR, walk)

    def exact(
        self, index: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None = None
    ) -> tuple[F32, I64]:
        return search_all(storage_of(index), queries, k, selector)


def _walk(index: faiss.Index, ef: int, selector: faiss.IDSelector | None) -> faiss.SearchParametersHNSW:
    # Faiss allocates memory for ef nodes, however few the index has
    return faiss.SearchParametersHNSW(efSearch=min(int(ef), index.ntotal), sel=selector)
