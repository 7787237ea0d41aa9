"""An approximate mean of the k largest similarities over a large bank: candidates from short codes, scores exact.

4-bit product codes of all bank queries are scanned, which is several times faster than the products that an exact mean
needs, and the similarities of the best are computed exactly. What the codes miss makes a mean too small, never too
large. The threads are ours, with OpenMP on one in each: its own spin while they wait for each other, which on a busy
machine costs more than the work.
"""

import faiss
import numpy as np

from hubless.kernels.reductions import top_k_mean
from hubless.kernels.threads import cores, in_parallel
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import ArrayVectors, VectorSource, block_rows, in_memory, sample

EXACT = "exact"
KINDS = (EXACT, "fastscan")
DIMENSIONS_A_CODE = 4
LEAST_CANDIDATES, CANDIDATES_EACH = 512, 4
"""For each target, and for each of the k. On 100,000 low-rank vectors whose means of 128 spread by 0.09, these were off
by 0.001, and with half as many candidates by 0.004."""
TRAINED = 2**14
LEAST = 39 * 16
"""Faiss asks for 39 vectors to train each of the 16 centroids of a 4-bit code."""
TARGETS_AT_ONCE = 256
COMPARED = 128


class BankIndex:
    """Codes of the bank's queries (b, d), beside the bank itself, in memory."""

    def __init__(self, bank: VectorSource) -> None:
        self._bank = in_memory(bank)
        dim = bank.shape[1] + -bank.shape[1] % DIMENSIONS_A_CODE
        self._codes = faiss.IndexPQFastScan(dim, dim // DIMENSIONS_A_CODE, 4, faiss.METRIC_INNER_PRODUCT)
        in_parallel(lambda _: self._encode(), 1, 1)

    def _encode(self) -> None:
        faiss.omp_set_num_threads(1)
        bank = ArrayVectors(self._bank, "bank")
        self._codes.train(self._padded(in_memory(sample(bank, TRAINED))))
        for block in bank.blocks(block_rows(self._codes.d)):
            self._codes.add(self._padded(block))

    @staticmethod
    def serves(bank: VectorSource, k: int) -> bool:
        """Return True if the bank is large enough to train on, and has more queries than there are candidates."""
        return bank.shape[0] >= max(LEAST, _candidates(k))

    def top_k_mean(self, targets: VectorSource, k: int, advance: Advance = no_progress) -> F64:
        """About the mean of the k largest q·t over the bank, for each target: (n, d) → (n,)."""
        means = np.empty(targets.shape[0])
        done = 0
        for block in targets.blocks(TARGETS_AT_ONCE * cores()):
            part = means[done : done + len(block)]

            def reduce(rows: slice, block: F32 = block, part: F64 = part) -> None:
                part[rows] = self._means(block[rows], k)

            in_parallel(reduce, len(block), TARGETS_AT_ONCE)
            done += len(block)
            advance(len(block))
        return means

    def _means(self, targets: F32, k: int) -> F64:
        faiss.omp_set_num_threads(1)
        _, candidates = self._codes.search(self._padded(targets), _candidates(k))
        found = self._similarities(targets, candidates)
        found.partition(found.shape[1] - k, axis=1)
        means: F64 = found[:, -k:].mean(axis=1, dtype=np.float64)
        return means

    def _similarities(self, targets: F32, rows: I64) -> F32:
        """Of each target with its own rows of the bank, without copying these."""
        found = np.empty(rows.shape, np.float32)
        arrays = (faiss.swig_ptr(array) for array in (found, targets, self._bank, rows))
        faiss.fvec_inner_products_by_idx(*arrays, self._bank.shape[1], *rows.shape)
        return found

    def _padded(self, rows: F32) -> F32:
        missing = -rows.shape[1] % DIMENSIONS_A_CODE
        return np.pad(rows, ((0, 0), (0, missing))) if missing else rows


def _candidates(k: int) -> int:
    return max(LEAST_CANDIDATES, CANDIDATES_EACH * k)


def measured_error(index: BankIndex, bank: VectorSource, targets: VectorSource, k: int) -> tuple[float, float, float]:
    """Return by how much means of some targets are too small, on average and at most, and the spread of exact ones."""
    some = ArrayVectors(in_memory(sample(targets, COMPARED)), targets.name)
    exact = top_k_mean(bank, some, k)
    error = exact - index.top_k_mean(some, k)
    return float(error.mean()), float(error.max()), float(exact.std())
