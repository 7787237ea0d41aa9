"""`flat`: every target is compared with the query. Exact."""

from dataclasses import dataclass
from typing import Any

import faiss

from hubless.arrays import F32, I64
from hubless.knn.base import NUMBER_BYTES, Precision, Sample, SearchParameters, check_parameters, new_storage
from hubless.knn.exhaustive import scan


@dataclass(frozen=True)
class Flat:
    """Exact search over float32 vectors, or over float16 ones, which is slower for many queries at once."""

    name: str = "flat"
    precision: Precision = "float32"
    pivoted: bool = False
    least: int = 1

    def size(self, count: int, dim: int) -> int:
        return count * dim * NUMBER_BYTES[self.precision]

    def training_rows(self, count: int) -> int:
        return 0

    def new(self, count: int, dim: int, seed: int, sample: Sample | None) -> faiss.Index:
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
        return scan(index, queries, k, selector)

    def exact(
        self, index: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None = None
    ) -> tuple[F32, I64]:
        return scan(index, queries, k, selector)
