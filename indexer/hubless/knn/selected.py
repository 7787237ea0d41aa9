"""Search over selected rows, in the way that costs least."""

import math
from typing import Protocol

import faiss
import numpy as np

from hubless.knn.base import Found, IndexType, SearchParameters
from hubless.knn.exhaustive import in_turn, rows_of_a_part
from hubless.vectors.arrays import F32, I64, Flags

ROWS_A_ROW = {"float32": 32, "float16": 256}
"""To copy one vector out of the index costs a single query as much as to skip this many rows in a scan."""
MANY, MOST = 0.25, 0.4
"""Shares of all rows. From the first on, a scan of all rows costs less than one with a selector, which jumps over
rows. From the second on, it also costs less than to copy the vectors out, for any number of queries."""
SPARE, SPARE_AT_LEAST = 4, 8
"""If the selected rows are spread evenly, the best k/share of all rows hold k of them on average. We take the best
(4k + 8)/share."""
LARGEST_HEAP = 1 / 32
"""Share of all rows. To keep more in order would cost as much as it saves."""
MISSED, CREDIT = 1 / 3, 3
"""A search of all rows that finds too few selected ones is wasted. Do not try beyond this share of wasted ones. A few
hits are credited at first, so that one early miss decides nothing."""


class Selected(Protocol):
    """The rows to search; `tried` counts queries that looked among the best of all rows, `missed` those in vain."""

    total: int
    count: int
    selector: faiss.IDSelector
    tried: int
    missed: int

    @property
    def rows(self) -> I64:
        """Row numbers, ascending."""

    def hold(self, rows: I64) -> Flags:
        """Return for each of some rows whether it is selected."""


def search_selected(
    kind: IndexType,
    index: faiss.Index,
    queries: F32,
    k: int,
    selected: Selected,
    how: SearchParameters | None = None,
) -> Found:
    """Return the k best selected rows for augmented queries (m, dim): scores (m, k) and rows (m, k).

    They are the exact ones, or with search parameters those that the index finds. A query that finds fewer than k in
    some quicker way is compared with all selected rows.
    """
    if how is not None:
        how = kind.narrowed(how, selected.count, selected.total)
    asked = math.ceil((SPARE * k + SPARE_AT_LEAST) * selected.total / selected.count)
    if how is not None:
        scores, rows = kind.search(index, queries, k, how, selected.selector)
    elif _among_all(kind, len(queries), asked, selected):
        scores, rows = _first(*kind.exact(index, queries, asked), k, selected)
    else:
        return _search_narrowly(kind, index, queries, k, selected)
    missed = (rows < 0).any(axis=1)
    if how is None:
        selected.tried += len(queries)
        selected.missed += int(np.count_nonzero(missed))
    if missed.any():
        scores[missed], rows[missed] = _search_narrowly(kind, index, queries[missed], k, selected)
    return scores, rows


def _among_all(kind: IndexType, queries: int, asked: int, selected: Selected) -> bool:
    """Return True if it costs less to find the best `asked` of all rows and keep the selected ones."""
    share = selected.count / selected.total
    many = share > MOST or (share > MANY and not _is_worth_taking_out(kind, queries, selected))
    return many and asked <= LARGEST_HEAP * selected.total and selected.missed <= MISSED * (selected.tried + CREDIT)


def _first(scores: F32, rows: I64, k: int, selected: Selected) -> Found:
    here = (rows >= 0) & selected.hold(rows)
    order = np.argsort(~here, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(here, order, axis=1)
    return np.take_along_axis(scores, order, axis=1), np.where(found, np.take_along_axis(rows, order, axis=1), -1)


def _search_narrowly(kind: IndexType, index: faiss.Index, queries: F32, k: int, selected: Selected) -> Found:
    if _is_worth_taking_out(kind, len(queries), selected):
        return search_rows(index, queries, k, selected.rows)
    return kind.exact(index, queries, k, selected.selector)


def is_scanned(kind: IndexType, selected: Selected) -> bool:
    """Return True if an exact search of a single query reads the stored vectors in order, and copies none out."""
    return not _is_worth_taking_out(kind, 1, selected)


def _is_worth_taking_out(kind: IndexType, queries: int, selected: Selected) -> bool:
    """Return True if `search_rows` costs less than a scan with a selector."""
    return selected.count * ROWS_A_ROW[kind.precision] <= queries * selected.total


def search_rows(index: faiss.Index, queries: F32, k: int, rows: I64) -> Found:
    """Return the exact k best of some rows: copy their vectors out of the index, and compare all queries at once."""

    def compare(block: I64) -> Found:
        vectors = index.reconstruct_batch(block)
        scores, places = faiss.knn(queries, vectors, min(k, len(block)), faiss.METRIC_INNER_PRODUCT)
        return scores, np.where(places < 0, -1, block[places])

    step = rows_of_a_part(index.d)
    if len(rows) <= step:
        return compare(rows)
    best = faiss.ResultHeap(len(queries), k, keep_max=True)
    for found in in_turn(compare, [rows[start : start + step] for start in range(0, len(rows), step)]):
        best.add_result(*found)
    best.finalize()
    return best.D, best.I
