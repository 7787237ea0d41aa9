"""`flat`: every target is compared with the query. Exact."""

from dataclasses import dataclass
from typing import Any

import faiss

from hubless.arrays import F32, I64
from hubless.knn.base import SearchParameters, refuse_unknown


@dataclass(frozen=True)
class Flat:
    """Exact search over float32 vectors."""

    name: str = "flat"

    def new(self, dim: int) -> faiss.Index:
        return faiss.IndexFlatIP(dim)

    def ladder(self) -> list[dict[str, Any]]:
        return [{}]

    def check(self, parameters: SearchParameters) -> None:
        refuse_unknown(parameters, (), self.name)

    def search(self, index: faiss.Index, queries: F32, k: int, parameters: SearchParameters) -> tuple[F32, I64]:
        scores, rows = index.search(queries, k)
        return scores, rows

    def exact(self, index: faiss.Index, queries: F32, k: int) -> tuple[F32, I64]:
        return self.search(index, queries, k, {})
