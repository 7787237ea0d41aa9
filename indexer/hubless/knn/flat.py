"""`flat`: compare the query with every target. Exact."""

from dataclasses import dataclass
from typing import Any

import faiss

from hubless.knn.base import NUMBER_BYTES, Precision, SearchParameters, TrainingSample, check_parameters, new_storage
from hubless.knn.exhaustive import search_all
from hubless.vectors.arrays import F32, I64


@dataclass(frozen=True)
class Flat:
    """Exact search over float32 or float16 vectors. float16 is slower for many queries at once."""

    name: str = "flat"
    precision: Precision = "float32"
    pivoted: bool = False
    least: int = 1

    def size(self, count: int, dim: int) -> int:
        return count * dim * NUMBER_BYTES[self.precision]

    def training_rows(self, count: int) -> int:
        return 0

    def new(self, count: int, dim: int, seed: int, sample: TrainingSample | None) -> faiss.Index:
        return new_storage(dim, self.precision)

    def ladder(self, count: int) -> list[dict[str, Any]]:
        return [{}]

    def check(self, parameters: SearchParameters) -> None:
        check_parameters(parameters, (), self.name)

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        return None

    def search(
        self,
        index: faiss.Index,
        queries: F32,
        k: int,
        parameters: SearchParameters,
        selector: faiss.IDSelector | None = None,
    ) -> tuple[F32, I64]:
        return search_all(index, queries, k, selector)

    def exact(
        self, index: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None = None
    ) -> tuple[F32, I64]:
        return search_all(index, queries, k, selector)
