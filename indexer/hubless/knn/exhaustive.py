"""Exact search: queries are compared with every stored vector, in the way that costs least.

A few queries are compared one by one, more by matrix products of NumPy's BLAS: that of Faiss takes twice the time. The
vectors are cut into parts, of which a thread that is done with one takes the next.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import TypeVar

import faiss
import numpy as np

from hubless.kernels.forks import in_each_process, left_to_parent
from hubless.kernels.pools import start_all
from hubless.kernels.threads import blas_has_avx512, cores, one_blas_thread
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import block_rows

_Part = TypeVar("_Part")
Found = TypeVar("Found")
PRODUCTS_FROM = 4
"""From this number of queries on, products are faster. On 40,000 × 528, milliseconds of processor for 3, 4, 5, 8 and 32
queries: 8, 8, 9, 13 and 19 by products; 9, 11, 15, 24 and 91 one by one. On 1,000 × 528, 4 take 0.09, else 0.14."""
SMALL_PRODUCT, MOST_IN_SMALL, MOST_WITH_AVX512 = 10**6, 48, 128
"""Multiplications of a product that OpenBLAS makes without a copy of its factors, and the most queries that such
products are used for. With AVX-512, on 30,000 × 528, milliseconds for 48, 64, 128 and 192 queries: 20, 24, 48 and 76,
by larger products 26, 32, 51 and 71. Without, on 40,000 × 528, for 8, 32, 64 and 128: 14, 28, 48 and 111, by larger
products 16, 24, 37 and 72."""
SCORES = 2**16
"""Scores of small products that are looked through at once. Each look waits for Python: one a product would cost a
third more."""
PANEL_BYTES = 2**20
"""Size of the vectors in a larger product: they and the scores stay in the cache."""
MOST_FOUND = 2**18
"""Most hits of all queries together. Each part is searched for all k, and the hits of all parts are in memory."""
PART_BYTES, PARTS = 16 * 2**20, 16
"""A part has at least this size, since a second thread does not pay for less; and there are at most this many parts."""


@contextmanager
def openmp_threads(count: int) -> Iterator[None]:
    """Let Faiss use `count` threads for calls from this thread, inside the `with` block."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def search_all(storage: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None) -> tuple[F32, I64]:
    """Return scores and rows (m, k) of the k best of all vectors, or of the selected ones, by the threads of OpenMP."""
    plain = selector is None and isinstance(storage, faiss.IndexFlat)
    count = storage.ntotal  # each look at an index of Faiss takes a microsecond
    if not plain or k > count or len(queries) * k > MOST_FOUND:
        scores, rows = storage.search(queries, k, params=faiss.SearchParameters(sel=selector))
        return scores, rows
    size = max(rows_of_a_part(storage.d), -(-count // PARTS))
    if len(queries) == 1 and count <= size:
        scores, rows = storage.search(queries, k)  # on one thread
        return scores, rows
    vectors = stored(storage)
    compare = _by_products if len(queries) >= PRODUCTS_FROM else _one_by_one
    if count <= size:
        if faiss.omp_get_max_threads() == 1:
            return compare(vectors, queries, k)
        with openmp_threads(1):
            return compare(vectors, queries, k)
    parts = [vectors[start : start + size] for start in range(0, count, size)]
    found = in_turn(lambda part: compare(part, queries, min(k, len(part))), parts)
    best = faiss.ResultHeap(len(queries), k, keep_max=True)
    for i, (scores, places) in enumerate(found):
        best.add_result(scores, places + i * size)
    best.finalize()
    return best.D, best.I


def stored(storage: faiss.IndexFlat) -> F32:
    """Return the vectors (n, d) of a storage without a copy. They are valid as long as the storage is."""
    vectors: F32 = faiss.rev_swig_ptr(storage.get_xb(), storage.ntotal * storage.d)
    return vectors.reshape(storage.ntotal, storage.d)


def is_shared(index: faiss.Index) -> bool:
    """Return True if several threads can share one query of this index."""
    return isinstance(index, faiss.IndexFlat) and index.ntotal > rows_of_a_part(index.d)


def storage_of(index: faiss.Index) -> faiss.Index:
    """Return the vectors that an exact search of an index compares with."""
    if isinstance(index, faiss.IndexRefine):
        return faiss.downcast_index(index.refine_index)
    return faiss.downcast_index(index.storage) if isinstance(index, faiss.IndexHNSW) else index


def rows_of_a_part(dim: int) -> int:
    """Return how many vectors pay for a second thread."""
    return max(1, PART_BYTES // (4 * dim))


def in_turn(work: Callable[[_Part], Found], parts: Sequence[_Part]) -> list[Found]:
    """Return the result of the work on each part, in the order of the parts. Uses the threads that OpenMP may use."""
    done: dict[int, Found] = {}
    waiting = iter(enumerate(parts))

    def take() -> None:
        for i, part in waiting:
            done[i] = work(part)

    more = min(faiss.omp_get_max_threads(), len(parts)) - 1
    with openmp_threads(1):
        others = [_helpers.submit(take) for _ in range(more)]
        try:
            take()
        finally:
            for other in others:
                other.cancel() or other.result()
    return [done[i] for i in range(len(parts))]


class _Helpers:
    """The threads beside the one that asks."""

    threads: ThreadPoolExecutor | None = None

    def __init__(self) -> None:
        in_each_process(self)

    def renew(self) -> None:
        left_to_parent(self.threads)
        self.threads = None
        self.making = Lock()

    def submit(self, work: Callable[[], None]) -> Future[None]:
        with self.making:
            if self.threads is None:
                name = "hubless-scan"
                self.threads = ThreadPoolExecutor(max(1, cores() - 1), name, faiss.omp_set_num_threads, (1,))
                start_all(self.threads, max(1, cores() - 1))
        return self.threads.submit(work)


_helpers = _Helpers()


# one thread of OpenMP where this process was forked: its others are gone, and Faiss would wait for them. Threads that
# are made later have others of their own
os.register_at_fork(after_in_child=lambda: faiss.omp_set_num_threads(1))


def _one_by_one(vectors: F32, queries: F32, k: int) -> tuple[F32, I64]:
    scores, rows = faiss.knn(queries, vectors, k, faiss.METRIC_INNER_PRODUCT)
    return scores, rows


def _by_products(vectors: F32, queries: F32, k: int) -> tuple[F32, I64]:
    best = faiss.ResultHeap(len(queries), k, keep_max=True)
    most = MOST_WITH_AVX512 if blas_has_avx512() else MOST_IN_SMALL
    products = _small_products if len(queries) <= most else _large_products
    # overflow is no failure here: an infinite score is never among the best, as in Faiss, and its place stays empty
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
        for start, scores in products(vectors, queries):
            best.heaps.addn(scores.shape[1], faiss.swig_ptr(scores), start)
    best.finalize()
    return best.D, best.I


def _small_products(vectors: F32, queries: F32) -> Iterator[tuple[int, F32]]:
    """Yield the first row of each panel of vectors, and the scores (m, rows) of the panel."""
    dim = vectors.shape[1]
    count = len(queries)
    rows = max(1, SMALL_PRODUCT // queries.size)
    step = rows * max(1, SCORES // (rows * count))
    # with the vectors on the left and nothing transposed: of two transposed factors OpenBLAS 0.3.31 makes small
    # products that are wrong now and then when two threads make them
    columns = np.ascontiguousarray(queries.T)
    for start in range(0, len(vectors), step):
        panel = vectors[start : start + step]
        whole = len(panel) - len(panel) % rows
        scores = np.empty((len(panel), count), np.float32)
        np.matmul(panel[:whole].reshape(-1, rows, dim), columns, out=scores[:whole].reshape(-1, rows, count))
        np.matmul(panel[whole:], columns, out=scores[whole:])
        yield start, np.ascontiguousarray(scores.T)


def _large_products(vectors: F32, queries: F32) -> Iterator[tuple[int, F32]]:
    step = block_rows(vectors.shape[1], PANEL_BYTES)
    for start in range(0, len(vectors), step):
        yield start, queries @ vectors[start : start + step].T
