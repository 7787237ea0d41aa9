"""Block products reduced at once: the only hot code of the offline side.

Each kernel walks over targets and bank in blocks, multiplies a block of the one with a block of the other, and
reduces the product before the next one is made. So memory is bounded by the block, whatever b and n are. Products
are float32, sums are float64.
"""

from collections.abc import Callable

import numpy as np

from hubless.arrays import F32, F64, I64
from hubless.sources import VectorSource

TARGET_ROWS = 2048
BANK_ROWS = 4096
KEEP_BYTES = 384 * 2**20
"""The largest matrix of similarities that `Similarities` keeps; a larger one is computed anew at each pass."""

Advance = Callable[[int], None]
"""Told the number of targets that are done, for a progress bar."""


def no_progress(rows: int) -> None:
    """Ignore the rows that are done."""


def log_sum_exp(
    bank: VectorSource,
    targets: VectorSource,
    temperature: float,
    potentials: F64 | None = None,
    advance: Advance = no_progress,
) -> F64:
    """LSE over the bank, for each target t: log Σ_i exp(q_i·t/τ + a_i).

    Parameters
    ----------
    bank : (b, d)
    targets : (n, d)
    temperature : τ, in units of similarity
    potentials : (b,) a, or None for zeros

    Returns
    -------
    (n,) float64, from shifted exponents: no τ above zero under- or overflows.
    """
    result = np.empty(targets.shape[0])
    added = None if potentials is None else potentials.astype(np.float32)
    start = 0
    for target_block in targets.blocks(TARGET_ROWS):
        running = _RunningLogSumExp(len(target_block))
        first = 0
        for bank_block in bank.blocks(BANK_ROWS):
            exponents = target_block @ bank_block.T
            exponents *= np.float32(1 / temperature)
            if added is not None:
                exponents += added[first : first + len(bank_block)]
            running.add(exponents)
            first += len(bank_block)
        result[start : start + len(target_block)] = running.value()
        start += len(target_block)
        advance(len(target_block))
    return result


class _RunningLogSumExp:
    """log Σ exp over columns that come in several blocks, shifted by the largest exponent so far."""

    def __init__(self, rows: int) -> None:
        self._largest = np.full(rows, -np.inf, np.float32)
        self._total = np.zeros(rows)

    def add(self, exponents: F32) -> None:
        """Add a block (rows, columns), which is overwritten."""
        largest = np.maximum(self._largest, exponents.max(axis=1))
        exponents -= largest[:, np.newaxis]
        np.exp(exponents, out=exponents)
        self._total *= np.exp(self._largest - largest)
        self._total += exponents.sum(axis=1, dtype=np.float64)
        self._largest = largest

    def value(self) -> F64:
        return self._largest.astype(np.float64) + np.log(self._total)


def top_k_mean(bank: VectorSource, targets: VectorSource, k: int, advance: Advance = no_progress) -> F64:
    """Mean of the k largest similarities q·t over the bank, for each target.

    Parameters
    ----------
    bank : (b, d), with b ≥ k
    targets : (n, d)

    Returns
    -------
    (n,) float64
    """
    result = np.empty(targets.shape[0])
    start = 0
    for target_block in targets.blocks(TARGET_ROWS):
        largest = np.empty((len(target_block), 0), np.float32)
        for bank_block in bank.blocks(BANK_ROWS):
            candidates = np.concatenate([largest, target_block @ bank_block.T], axis=1)
            if candidates.shape[1] > k:
                candidates.partition(candidates.shape[1] - k, axis=1)
                candidates = candidates[:, -k:]
            largest = candidates
        result[start : start + len(target_block)] = largest.mean(axis=1, dtype=np.float64)
        start += len(target_block)
        advance(len(target_block))
    return result


def top_k(queries: F32, targets: VectorSource, k: int, offsets: F32 | None = None) -> tuple[F32, I64]:
    """Exact search: the k best targets of each query by q·t − h(t), ties by the lower row.

    Parameters
    ----------
    queries : (m, d)
    targets : (n, d)
    offsets : (n,) h, or None for zeros

    Returns
    -------
    scores (m, k) and rows (m, k), best first; k is cut to n.
    """
    scores = np.empty((len(queries), 0), np.float32)
    rows = np.empty((len(queries), 0), np.int64)
    start = 0
    for block in targets.blocks(TARGET_ROWS):
        block_scores = queries @ block.T
        if offsets is not None:
            block_scores -= offsets[start : start + len(block)]
        block_rows = np.broadcast_to(np.arange(start, start + len(block)), block_scores.shape)
        scores = np.concatenate([scores, block_scores], axis=1)
        rows = np.concatenate([rows, block_rows], axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        scores = np.take_along_axis(scores, best, axis=1)
        rows = np.take_along_axis(rows, best, axis=1)
        start += len(block)
    return scores, rows


class Similarities:
    """The matrix of bank × targets, for reductions over both sides, again and again.

    It is kept if it fits `keep_bytes`, and else computed anew at each pass.
    """

    def __init__(self, bank: VectorSource, targets: VectorSource, keep_bytes: int = KEEP_BYTES) -> None:
        self._bank = bank
        self._targets = targets
        self._kept: F32 | None = None
        if 4 * bank.shape[0] * targets.shape[0] <= keep_bytes:
            self._kept = _product(bank, targets)

    def over_bank(self, temperature: float, potentials: F64) -> F64:
        """LSE_i(q_i·t_j/τ + a_i) for each target j: (b,) → (n,)."""
        if self._kept is None:
            return log_sum_exp(self._bank, self._targets, temperature, potentials)
        return _log_sum_exp_rows(self._kept.T, temperature, potentials)

    def over_targets(self, temperature: float, potentials: F64) -> F64:
        """LSE_j(q_i·t_j/τ + c_j) for each bank query i: (n,) → (b,)."""
        if self._kept is None:
            return log_sum_exp(self._targets, self._bank, temperature, potentials)
        return _log_sum_exp_rows(self._kept, temperature, potentials)


def _product(rows: VectorSource, columns: VectorSource) -> F32:
    product = np.empty((rows.shape[0], columns.shape[0]), np.float32)
    start = 0
    for row_block in rows.blocks(BANK_ROWS):
        first = 0
        for column_block in columns.blocks(TARGET_ROWS):
            product[start : start + len(row_block), first : first + len(column_block)] = row_block @ column_block.T
            first += len(column_block)
        start += len(row_block)
    return product


def _log_sum_exp_rows(similarities: F32, temperature: float, potentials: F64) -> F64:
    rows, columns = similarities.shape
    result = np.empty(rows)
    step = max(1, 2**20 // columns)  # a strip of 4 MB: small beside the matrix, and near the cache
    added = potentials.astype(np.float32)
    for start in range(0, rows, step):
        exponents = similarities[start : start + step] * np.float32(1 / temperature)
        exponents += added
        running = _RunningLogSumExp(len(exponents))
        running.add(exponents)
        result[start : start + step] = running.value()
    return result


def mean_entropy(similarities: F32, temperature: float) -> float:
    """Mean entropy, in nats, of the softmax of each row: p_i ∝ exp(s_i/τ).

    Parameters
    ----------
    similarities : (n, b), targets by bank queries
    """
    entropies = np.empty(len(similarities))
    step = max(1, 2**20 // similarities.shape[1])
    for start in range(0, len(similarities), step):
        block = similarities[start : start + step]
        exponents = (block - block.max(axis=1, keepdims=True)) * np.float32(1 / temperature)
        weights = np.exp(exponents)
        total = weights.sum(axis=1, dtype=np.float64)
        expected = np.einsum("ij,ij->i", weights, exponents, dtype=np.float64) / total
        entropies[start : start + step] = np.log(total) - expected
    return float(entropies.mean())
