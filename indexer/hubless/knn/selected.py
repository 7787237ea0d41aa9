"""Exact search over some of the rows, whichever way costs least."""

import math
from typing import Protocol

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, I64
from hubless.knn.base import IndexType
from hubless.sources import block_rows

ROWS_A_ROW = {"float32": 32, "float16": 256}
"""To take a vector out costs a single query as much as to pass over so many in a scan with a selector."""
MANY, MOST = 0.25, 0.4
"""Of all rows. From the first on a scan of all costs less than one with a selector, which jumps from row to row; from
the second on, also less than to take the vectors out, however many queries share that."""
SPARE, SPARE_AT_LEAST = 4, 8
"""If selected rows lay anywhere, there would be k of them among the best k/share of all, on average: looked at are
the best (4k + 8)/share."""
LARGEST_HEAP = 1 / 32
"""Of all rows; to keep more of them in order would cost as much as it spares."""
MISSED = 1 / 3
"""A search of all that finds too few is for nothing: worth it as long as no larger share of the queries found so."""


class Selected(Protocol):
    """Which rows are looked at.

    `tried` counts the queries that looked for them among the best of all rows, `missed` those that found too few there.
    """

    total: int
    count: int
    selector: faiss.IDSelector
    tried: int
    missed: int

    @property
    def rows(self) -> I64:
        """Their numbers, ascending."""

    def hold(self, rows: I64) -> NDArray[np.bool_]:
        """Whether each of some rows is one of them."""


def search_selected(kind: IndexType, index: faiss.Index, queries: F32, k: int, selected: Selected) -> tuple[F32, I64]:
    """The exact k best of the selected rows, for augmented queries (m, dim): scores (m, k) and rows (m, k)."""
    asked = math.ceil((SPARE * k + SPARE_AT_LEAST) * selected.total / selected.count)
    if not _among_all(kind, len(queries), asked, selected):
        return _search_narrowly(kind, index, queries, k, selected)
    scores, rows = _first(*kind.exact(index, queries, asked), k, selected)
    missed = (rows < 0).any(axis=1)
    selected.tried += len(queries)
    if missed.any():
        selected.missed += int(np.count_nonzero(missed))
        scores[missed], rows[missed] = _search_narrowly(kind, index, queries[missed], k, selected)
    return scores, rows


def _among_all(kind: IndexType, queries: int, asked: int, selected: Selected) -> bool:
    """Whether it costs less to search all rows for `asked`, and to keep to the selected ones of these."""
    share = selected.count / selected.total
    many = share > MOST or (share > MANY and not _is_worth_taking_out(kind, queries, selected))
    return many and asked <= LARGEST_HEAP * selected.total and selected.missed <= MISSED * selected.tried


def _first(scores: F32, rows: I64, k: int, selected: Selected) -> tuple[F32, I64]:
    """The first k selected of each line, in their order; −1 for those that are missing."""
    here = (rows >= 0) & selected.hold(rows)
    order = np.argsort(~here, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(here, order, axis=1)
    return np.take_along_axis(scores, order, axis=1), np.where(found, np.take_along_axis(rows, order, axis=1), -1)


def _search_narrowly(kind: IndexType, index: faiss.Index, queries: F32, k: int, selected: Selected) -> tuple[F32, I64]:
    if _is_worth_taking_out(kind, len(queries), selected):
        return search_rows(index, queries, k, selected.rows)
    return kind.exact(index, queries, k, selected.selector)


def is_scanned(kind: IndexType, selected: Selected) -> bool:
    """Whether an exact search of a single query reads the stored vectors in their order, and takes none out."""
    return not _is_worth_taking_out(kind, 1, selected)


def _is_worth_taking_out(kind: IndexType, queries: int, selected: Selected) -> bool:
    """Whether `search_rows` costs less than a scan with a selector."""
    return selected.count * ROWS_A_ROW[kind.precision] <= queries * selected.total


def search_rows(index: faiss.Index, queries: F32, k: int, rows: I64) -> tuple[F32, I64]:
    """The exact k best of some rows: their vectors are taken out of the index and compared with all queries at once."""
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
