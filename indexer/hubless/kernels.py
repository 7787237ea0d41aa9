"""Reductions of targets × bank: log-sum-exp, mean of the top k, entropy. The only hot code of the offline side.

Products are float32, sums are float64.
"""

import numpy as np

from hubless.arrays import F32, F64, I64
from hubless.sources import VectorSource
from hubless.streaming import TARGET_ROWS, Advance, in_parallel, no_progress, stream

STRIP_SIZE = 2**16
SLAB_COLUMNS = 1024
"""Pieces of a kept matrix that are reduced at once, so that they stay in the cache."""
KEEP_BYTES = 384 * 2**20
"""The largest matrix of similarities that `Similarities` keeps; a larger one is computed anew at each pass."""


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
    added = None if potentials is None else potentials.astype(np.float32)
    (result,) = stream(bank, targets, lambda rows: _LogSumExp(rows, temperature, added), advance=advance)
    return result


class _LogSumExp:
    """log Σ exp, shifted by the largest exponent of the first columns, or of all if that does not do."""

    def __init__(self, rows: int, temperature: float, potentials: F32 | None) -> None:
        self._scale = np.float32(1 / temperature)
        self._potentials = potentials
        self._shift = np.full(rows, -np.inf, np.float32)
        self._total = np.zeros(rows)

    def add(self, rows: slice, products: F32, first: int) -> None:
        exponents = products * self._scale
        if self._potentials is not None:
            exponents += self._potentials[first : first + products.shape[1]]
        if first == 0:
            self._shift[rows] = exponents.max(axis=1)
        exponents -= self._shift[rows, np.newaxis]
        with np.errstate(over="ignore"):
            total = np.exp(exponents, out=exponents).sum(axis=1)
        if np.isfinite(total).all():
            self._total[rows] += total
        else:
            self._add_shifted_anew(rows, products, first)

    def result(self) -> F64:
        return self._shift.astype(np.float64) + np.log(self._total)

    def _add_shifted_anew(self, rows: slice, products: F32, first: int) -> None:
        """Add columns whose exponents are larger than the shift by more than float32 can hold."""
        exponents = products * self._scale
        if self._potentials is not None:
            exponents += self._potentials[first : first + products.shape[1]]
        shift = np.maximum(self._shift[rows], exponents.max(axis=1))
        self._total[rows] *= np.exp((self._shift[rows] - shift).astype(np.float64))
        self._total[rows] += np.exp(exponents - shift[:, np.newaxis]).sum(axis=1, dtype=np.float64)
        self._shift[rows] = shift


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
    (result,) = stream(bank, targets, lambda rows: _TopKMean(rows, k), advance=advance)
    return result


class _TopKMean:
    """The k largest so far, and their mean in the end."""

    def __init__(self, rows: int, k: int) -> None:
        self._k = k
        self._largest = np.full((rows, k), -np.inf, np.float32)

    def add(self, rows: slice, products: F32, first: int) -> None:
        candidates = np.concatenate([self._largest[rows], products], axis=1)
        candidates.partition(candidates.shape[1] - self._k, axis=1)
        self._largest[rows] = candidates[:, -self._k :]

    def result(self) -> F64:
        mean: F64 = self._largest.mean(axis=1, dtype=np.float64)
        return mean


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
            (self._kept,) = stream(targets, bank, _Products)

    def over_bank(self, temperature: float, potentials: F64) -> F64:
        """LSE_i(q_i·t_j/τ + a_i) for each target j: (b,) → (n,)."""
        if self._kept is None:
            return log_sum_exp(self._bank, self._targets, temperature, potentials)
        return _log_sum_exp_columns(self._kept, temperature, potentials)

    def over_targets(self, temperature: float, potentials: F64) -> F64:
        """LSE_j(q_i·t_j/τ + c_j) for each bank query i: (n,) → (b,)."""
        if self._kept is None:
            return log_sum_exp(self._targets, self._bank, temperature, potentials)
        return _log_sum_exp_rows(self._kept, temperature, potentials)


class _Products:
    """The products themselves, in one matrix."""

    def __init__(self, rows: int) -> None:
        self._strips: dict[int, list[F32]] = {}

    def add(self, rows: slice, products: F32, first: int) -> None:
        self._strips.setdefault(rows.start, []).append(products.copy())

    def result(self) -> F32:
        return np.concatenate([np.concatenate(parts, axis=1) for parts in self._strips.values()])


def _log_sum_exp_rows(similarities: F32, temperature: float, potentials: F64) -> F64:
    """LSE_j(S_ij/τ + c_j): (r, c) and (c,) → (r,)."""
    result = np.empty(len(similarities))
    scale, added = np.float32(1 / temperature), potentials.astype(np.float32)

    def reduce(rows: slice) -> None:
        exponents = similarities[rows] * scale
        exponents += added
        shift = exponents.max(axis=1)
        exponents -= shift[:, np.newaxis]
        result[rows] = shift + np.log(np.exp(exponents, out=exponents).sum(axis=1, dtype=np.float64))

    in_parallel(reduce, len(similarities), max(1, STRIP_SIZE // similarities.shape[1]))
    return result


def _log_sum_exp_columns(similarities: F32, temperature: float, potentials: F64) -> F64:
    """LSE_i(S_ij/τ + a_i): (r, c) and (r,) → (c,), down slabs of columns, as the matrix lies by rows in memory."""
    rows, columns = similarities.shape
    result = np.empty(columns)
    scale, added = np.float32(1 / temperature), potentials.astype(np.float32)[:, np.newaxis]

    def reduce(slab: slice) -> None:
        width = slab.stop - slab.start
        step = max(1, STRIP_SIZE // width)
        shift = np.full(width, -np.inf, np.float32)
        for start in range(0, rows, step):
            strip = slice(start, start + step)
            np.maximum(shift, (similarities[strip, slab] * scale + added[strip]).max(axis=0), out=shift)
        total = np.zeros(width)
        for start in range(0, rows, step):
            strip = slice(start, start + step)
            exponents = similarities[strip, slab] * scale
            exponents += added[strip]
            exponents -= shift
            total += np.exp(exponents, out=exponents).sum(axis=0)
        result[slab] = shift + np.log(total)

    in_parallel(reduce, columns, SLAB_COLUMNS)
    return result


def mean_entropy(similarities: F32, temperature: float) -> float:
    """Mean entropy, in nats, of the softmax of each row: p_i ∝ exp(s_i/τ).

    Parameters
    ----------
    similarities : (n, b), targets by bank queries
    """
    entropies = np.empty(len(similarities))

    def reduce(rows: slice) -> None:
        block = similarities[rows]
        exponents = (block - block.max(axis=1, keepdims=True)) * np.float32(1 / temperature)
        weights = np.exp(exponents)
        total = weights.sum(axis=1, dtype=np.float64)
        expected = np.einsum("ij,ij->i", weights, exponents, dtype=np.float64) / total
        entropies[rows] = np.log(total) - expected

    in_parallel(reduce, len(similarities), max(1, STRIP_SIZE // similarities.shape[1]))
    return float(entropies.mean())
