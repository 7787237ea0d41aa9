"""Exact search over a few rows: their vectors are taken out of the index and compared with all queries at once."""

import faiss
import numpy as np

from hubless.arrays import F32, I64
from hubless.knn.base import IndexType
from hubless.sources import block_rows

ROWS_A_ROW = {"float32": 32, "float16": 256}
"""To take a vector out costs a single query as much as to pass over so many in a scan with a selector."""


def is_worth_taking_out(kind: IndexType, queries: int, rows: int, count: int) -> bool:
    """Whether `search_rows` costs less than a scan over `count` targets with a selector of so many rows."""
    return rows * ROWS_A_ROW[kind.precision] <= queries * count


def search_rows(index: faiss.Index, queries: F32, k: int, rows: I64) -> tuple[F32, I64]:
    """The exact k best of some rows, for augmented queries (m, dim): scores (m, k) and rows (m, k)."""
    best = faiss.ResultHeap(len(queries), k, keep_max=True)
    step = block_rows(index.d)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        scores, places = faiss.knn(
            queries, index.reconstruct_batch(block), min(k, len(block)), faiss.METRIC_INNER_PRODUCT
        )
        best.add_result(scores, np.where(places < 0, -1, block[places]))
    best.finalize()
    return best.D, best.I
