"""`hnsw`: a graph that is walked towards the query. Approximate, fast for large collections.

Source: Malkov and Yashunin, IEEE TPAMI 2020.
"""

from dataclasses import dataclass
from typing import Any

import faiss

from hubless.arrays import F32, I64, check_at_least
from hubless.knn.base import SearchParameters, refuse_unknown


@dataclass(frozen=True)
class Hnsw:
    """Graph search over float32 vectors.

    Parameters
    ----------
    neighbours : edges of a node (M)
    construction : nodes kept in sight while building (efConstruction)

    The search parameter `ef` is the number of nodes kept in sight while searching; more is slower and finds more.
    """

    neighbours: int = 32
    construction: int = 200
    name: str = "hnsw"

    def new(self, dim: int) -> faiss.Index:
        index = faiss.IndexHNSWFlat(dim, self.neighbours, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = self.construction
        return index

    def ladder(self) -> list[dict[str, Any]]:
        return [{"ef": ef} for ef in (32, 64, 128, 256, 512)]

    def check(self, parameters: SearchParameters) -> None:
        refuse_unknown(parameters, ("ef",), self.name)
        if "ef" in parameters:
            check_at_least("params.ef", parameters["ef"], 1)

    def search(self, index: faiss.Index, queries: F32, k: int, parameters: SearchParameters) -> tuple[F32, I64]:
        # Faiss sets aside memory for ef nodes, however few there are
        ef = min(max(int(parameters["ef"]), k), index.ntotal)
        scores, rows = index.search(queries, k, params=faiss.SearchParametersHNSW(efSearch=ef))
        return scores, rows

    def exact(self, index: faiss.Index, queries: F32, k: int) -> tuple[F32, I64]:
        scores, rows = index.storage.search(queries, k)
        return scores, rows
