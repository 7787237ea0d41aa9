"""Comparing queries with every stored vector, whichever way costs least.

One query is a matter of reading the memory. For a few, large products begin with a copy of all vectors; those that are
small enough do without. And threads that wait for each other at every step stand still as soon as one has to leave its
processor to somebody else: here each takes the next part when it is done with one.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import faiss
import numpy as np

from hubless.arrays import F32, I64
from hubless.knn.base import openmp_threads
from hubless.sources import block_rows
from hubless.streaming import cores, one_blas_thread

_PRODUCTS_FROM = 2000
"""Queries times dimensions from which Faiss scans by matrix products; its own is 128,000, and it holds for the process.

On 100,000 × 528, one thread, milliseconds of processor a query: 13 scanned; as a product of 2 15, of 4 6.7, of 16 2.6.
"""
faiss.cvar.distance_compute_blas_threshold = _PRODUCTS_FROM

FEWEST, MOST = 4, 32
"""Queries that are compared by small products: fewer are as quick one by one, and for more the copy of the vectors
pays that large products begin with.

On 100,000 × 514, one thread, milliseconds for 4, 8, 16 and 32 queries: 22, 26, 25 and 41, by Faiss's large products
27, 31, 40 and 57. Without AVX-512 35, 36, 43 and 70: no better than Faiss.
"""
MOST_SHARED, MOST_HITS = 256, 1000
"""Queries that are compared part by part, and hits; each part is searched for all k, and more than these add up."""
PART_BYTES, PARTS = 16 * 2**20, 16
"""Vectors that a thread takes at a time, at least, as fewer are not worth a second thread; and how many times."""
_SMALL = 10**6
"""Multiplications in a product that OpenBLAS makes without copying its factors first."""
_SCORES, _SCORES_BY_COPY = 2**18, 2**15
"""How many are looked through at once: few steps, as each may have to wait for another thread's Python; or fewer, so
that a copy of the vectors stays in the cache."""


def scan(storage: faiss.Index, queries: F32, k: int, selector: faiss.IDSelector | None) -> tuple[F32, I64]:
    """The k best of all vectors of a storage, or of those that are selected: scores (m, k) and rows (m, k).

    On as many threads as OpenMP may use. How many these are does not matter to the answers.

    Parameters
    ----------
    queries : (m, d)
    """
    plain = selector is None and isinstance(storage, faiss.IndexFlat)
    if plain and len(queries) <= MOST_SHARED and k <= min(MOST_HITS, storage.ntotal):
        return _by_parts(stored(storage), queries, k)
    scores, rows = storage.search(queries, k, params=faiss.SearchParameters(sel=selector))
    return scores, rows


def stored(storage: faiss.IndexFlat) -> F32:
    """The vectors of a storage (n, d), where they lie; valid as long as the storage is."""
    vectors: F32 = faiss.rev_swig_ptr(storage.get_xb(), storage.ntotal * storage.d)
    return vectors.reshape(storage.ntotal, storage.d)


def is_shared(index: faiss.Index) -> bool:
    """Whether several threads can do their part of one query, as it is compared with all vectors of the index."""
    return isinstance(index, faiss.IndexFlat) and index.ntotal > block_rows(index.d, PART_BYTES)


def _by_parts(vectors: F32, queries: F32, k: int) -> tuple[F32, I64]:
    compare = _by_small_products if FEWEST <= len(queries) <= MOST else _by_faiss
    rows = max(block_rows(vectors.shape[1], PART_BYTES), -(-len(vectors) // PARTS))
    parts = [vectors[start : start + rows] for start in range(0, len(vectors), rows)]
    found = _in_turn(lambda part: compare(part, queries, min(k, len(part))), parts)
    if len(parts) == 1:
        return found[0]
    best = faiss.ResultHeap(len(queries), k, keep_max=True)
    for i, (scores, places) in enumerate(found):
        best.add_result(scores, places + i * rows)
    best.finalize()
    return best.D, best.I


def _in_turn(work: Callable[[F32], tuple[F32, I64]], parts: list[F32]) -> list[tuple[F32, I64]]:
    """Do work on all parts; whichever thread is free takes the next, as others may keep one from its processor."""
    done: dict[int, tuple[F32, I64]] = {}
    waiting = iter(enumerate(parts))

    def take() -> None:
        for i, part in waiting:
            done[i] = work(part)

    more = min(faiss.omp_get_max_threads(), len(parts)) - 1
    with openmp_threads(1):
        others = [_helpers().submit(take) for _ in range(more)]
        try:
            take()
        finally:
            for other in others:
                other.cancel() or other.result()
    return [done[i] for i in range(len(parts))]


@cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, cores() - 1), "hubless-scan", faiss.omp_set_num_threads, (1,))


def _by_faiss(vectors: F32, queries: F32, k: int) -> tuple[F32, I64]:
    scores, rows = faiss.knn(queries, vectors, k, faiss.METRIC_INNER_PRODUCT)
    return scores, rows


def _by_small_products(vectors: F32, queries: F32, k: int) -> tuple[F32, I64]:
    (count, dim), asked = vectors.shape, len(queries)
    rows = max(1, _SMALL // queries.size)
    whole = count - count % rows
    step = rows * max(1, (_SCORES if vectors.flags.aligned else _SCORES_BY_COPY) // (rows * asked))
    slices = [(start, min(start + step, whole), rows) for start in range(0, whole, step)]
    if whole < count:
        slices.append((whole, count, count - whole))
    # not queries and vectors transposed: of two transposed factors OpenBLAS 0.3.31 with AVX-512 makes small products of
    # which one in 100,000 is wrong when two threads make them
    columns = np.ascontiguousarray(queries.T)
    products, scores = np.empty((2, asked * max(step, rows)), np.float32)
    copy = None if vectors.flags.aligned else np.empty((max(step, rows), dim), np.float32)
    best = faiss.ResultHeap(asked, k, keep_max=True)
    # an infinite product is never among the best, as in Faiss, and who asked is told
    with one_blas_thread, np.errstate(over="ignore", invalid="ignore"):
        for start, stop, each in slices:
            panel = vectors[start:stop]
            if copy is not None:  # as NumPy would do for itself, but slower
                panel = copy[: len(panel)]
                np.copyto(panel, vectors[start:stop])
            product = products[: panel.shape[0] * asked].reshape(-1, each, asked)
            np.matmul(panel.reshape(-1, each, dim), columns, out=product)
            turned = scores[: product.size].reshape(asked, -1)
            np.copyto(turned, product.reshape(-1, asked).T)
            best.heaps.addn(len(panel), faiss.swig_ptr(turned), start)
    best.finalize()
    return best.D, best.I
