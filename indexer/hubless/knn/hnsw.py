"""`hnsw`: walk a graph towards the query (Malkov and Yashunin, IEEE TPAMI 2020). Fast for large collections."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import faiss

from hubless.knn.base import (
    NUMBER_BYTES,
    TUNED_AT,
    Found,
    IndexType,
    Precision,
    SearchParameters,
    Selector,
    search_refined,
    with_storage,
)
from hubless.knn.training_sample import TrainingSample, innermost
from hubless.vectors.arrays import F32

SQ8_TRAINING_ROWS = 50_000
SQ8_K_FACTOR = 2
"""Twice the hits suffice: candidates by 8-bit codes are in nearly the right order."""
COMPARED_A_NODE = 60
"""A walk takes as long per node of `ef` as comparing with this many vectors in a row."""


@dataclass(frozen=True)
class Hnsw(IndexType):
    """Graph search over the stored vectors, by `ef` nodes in the queue: more is slower and finds more."""

    name: str = "hnsw"
    neighbours: int = 32
    construction: int = 200
    known = ("ef",)
    made = "IndexHNSW(Flat|SQ)"

    def size(self, count: int, dim: int) -> int:
        # the edges of a target: twice M on the ground level, and few above
        return count * (dim * NUMBER_BYTES[self.precision] + 4 * 2 * self.neighbours + 20)

    def new(self, count: int, dim: int, sample: TrainingSample | None) -> faiss.Index:
        return self._graph(dim, "Flat" if self.precision == "float32" else "SQfp16")

    def ladder(self, count: int) -> list[dict[str, Any]]:
        return [{"ef": ef} for ef in (16, 32, 64, 128, 256, 512, 1024)]

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        # the walk also passes targets that are not selected: with the same ef, it would end with few selected ones
        share = selected / count
        if share <= (COMPARED_A_NODE * parameters["ef"] / count) ** (2 / 3):
            return None
        return {**parameters, "ef": math.ceil(parameters["ef"] / math.sqrt(share))}

    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        walk = _walk(index, max(how["ef"], k), only)
        scores, rows = index.search(queries, k, params=walk)
        return scores, rows

    def _graph(self, dim: int, storage: str) -> faiss.Index:
        index = faiss.index_factory(dim, f"HNSW{self.neighbours},{storage}", faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.construction
        return index


@dataclass(frozen=True)
class HnswSq8(Hnsw):
    """Graph search over 8-bit codes. float16 vectors rescore the candidates."""

    name: str = "hnsw_sq8"
    precision: Precision = "float16"
    made = "IndexRefine of IndexHNSWSQ"

    def size(self, count: int, dim: int) -> int:
        return super().size(count, dim) + count * dim

    def training_rows(self, count: int) -> int:
        return min(count, SQ8_TRAINING_ROWS)

    def new(self, count: int, dim: int, sample: TrainingSample | None) -> faiss.Index:
        if sample is None:
            raise TypeError("8-bit codes are trained")
        index = with_storage(self._graph(dim, "SQ8"), self.precision)
        index.train(sample.vectors)
        return index

    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        walk = _walk(index, max(how["ef"], SQ8_K_FACTOR * max(k, TUNED_AT)), only)
        return search_refined(index, queries, k, SQ8_K_FACTOR, walk)


@contextmanager
def joined_by_distance(index: faiss.Index) -> Iterator[None]:
    """Let targets that are added to a graph be joined to the nearest ones, though the products rank them.

    By products, long vectors would be joined to all. Other indexes are left as they are.
    """
    graph = innermost(index)
    if not isinstance(graph, faiss.IndexHNSW):
        yield
        return
    storage = faiss.downcast_index(graph.storage)
    storage.metric_type, graph.hnsw.is_similarity = faiss.METRIC_L2, False
    try:
        yield
    finally:
        storage.metric_type, graph.hnsw.is_similarity = faiss.METRIC_INNER_PRODUCT, True


def _walk(index: faiss.Index, ef: int, selector: Selector) -> faiss.SearchParametersHNSW:
    # Faiss allocates memory for ef nodes, however few the index has
    return faiss.SearchParametersHNSW(efSearch=min(int(ef), index.ntotal), sel=selector)
