"""`flat`: compare the query with every target. Exact."""

from dataclasses import dataclass
from typing import Any

import faiss

from hubless.knn.base import NUMBER_BYTES, Found, IndexType, SearchParameters, Selector, new_storage
from hubless.knn.training_sample import TrainingSample
from hubless.vectors.arrays import F32

FLAT_KIND = "flat"
"""What is written after a build is of this kind, as it needs no training."""


@dataclass(frozen=True)
class Flat(IndexType):
    """Exact search over float32 or float16 vectors. float16 is slower for many queries at once."""

    name: str = FLAT_KIND
    made = "Index(FlatIP|ScalarQuantizer)"

    def size(self, count: int, dim: int) -> int:
        return count * dim * NUMBER_BYTES[self.precision]

    def new(self, count: int, dim: int, sample: TrainingSample | None) -> faiss.Index:
        return new_storage(dim, self.precision)

    def ladder(self, count: int) -> list[dict[str, Any]]:
        return [{}]

    def narrowed(self, parameters: SearchParameters, selected: int, count: int) -> SearchParameters | None:
        return None

    def search(self, index: faiss.Index, queries: F32, k: int, how: SearchParameters, only: Selector = None) -> Found:
        return self.exact(index, queries, k, only)
