"""Reductions of targets × bank: log-sum-exp, the top k, entropy. The only hot code of the offline side.

Products are float32, sums are float64. Inside `hubless.devices.on_device` offsets are computed there.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless import devices
from hubless.arrays import F32, F64, I64
from hubless.sources import ArrayVectors, VectorSource
from hubless.streaming import TARGET_ROWS, Advance, in_parallel, no_progress, stream

STRIP_SIZE = 2**16
"""Of a matrix so much is reduced at once, so that it stays in the cache."""
MOST_SPREAD = 50.0
"""Logarithms this far apart are factors that float32 holds, with 16 orders of magnitude to spare."""


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
    if device := devices.current():
        return device.log_sum_exp(bank, targets, temperature, potentials, advance)
    columns = _Columns(bank.shape[0], potentials)
    (result,) = stream(bank, targets, lambda rows: _LogSumExp(rows, temperature, columns), advance=advance)
    return result


class _Columns:
    """Potentials a of the columns, as factors exp(a − max a) of the sum if float32 holds these, else as addends.

    A factor costs nothing in a product with the factors, which also sums; an addend costs one pass over the products.
    """

    def __init__(self, count: int, potentials: F64 | None) -> None:
        self.factors = np.ones(count, np.float32)
        self.addends: F32 | None = None
        self.shift = 0.0
        if potentials is None:
            return
        if np.ptp(potentials) <= MOST_SPREAD:
            self.shift = float(potentials.max())
            self.factors = np.exp(potentials - self.shift).astype(np.float32)
        else:
            self.addends = potentials.astype(np.float32)


class _LogSumExp:
    """log Σ exp, shifted by the largest exponent of the first columns, or of all if that does not do."""

    def __init__(self, rows: int, temperature: float, columns: _Columns) -> None:
        self._scale = np.float32(1 / temperature)
        self._columns = columns
        self._shift = np.full(rows, -np.inf, np.float32)
        self._total = np.zeros(rows)

    def add(self, rows: slice, products: F32, first: int) -> None:
        here = slice(first, first + products.shape[1])
        if first == 0:
            self._shift[rows] = self._exponents(products, here).max(axis=1)
        total = self._sum(rows, products, here)
        if not np.isfinite(total).all():  # larger than the shift by more than float32 can hold
            shift = np.maximum(self._shift[rows], self._exponents(products, here).max(axis=1))
            self._total[rows] *= np.exp((self._shift[rows] - shift).astype(np.float64))
            self._shift[rows] = shift
            total = self._sum(rows, products, here)
        self._total[rows] += total

    def _exponents(self, products: F32, columns: slice) -> F32:
        exponents = products * self._scale
        if self._columns.addends is not None:
            exponents += self._columns.addends[columns]
        return exponents

    def _sum(self, rows: slice, products: F32, columns: slice) -> F32:
        exponents = self._exponents(products, columns)
        exponents -= self._shift[rows, np.newaxis]
        with np.errstate(over="ignore"):
            total: F32 = np.exp(exponents, out=exponents) @ self._columns.factors[columns]
        return total

    def result(self) -> F64:
        return self._shift.astype(np.float64) + self._columns.shift + np.log(self._total)


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
    if device := devices.current():
        mean: F64 = device.top_k(bank, targets, k, advance).mean(axis=1, dtype=np.float64)
        return mean
    (result,) = stream(bank, targets, lambda rows: _TopKMean(rows, k), advance=advance)
    return result


def top_k_similarities(bank: VectorSource, targets: VectorSource, k: int, advance: Advance = no_progress) -> F32:
    """The k largest similarities q·t over the bank, for each target: (n, k) in any order; b ≥ k."""
    if device := devices.current():
        return device.top_k(bank, targets, k, advance)
    (result,) = stream(bank, targets, lambda rows: _TopK(rows, k), advance=advance)
    return result


class _TopK:
    """The k largest so far, the smallest of them first."""

    def __init__(self, rows: int, k: int) -> None:
        self._k = k
        self._largest = np.full((rows, k), -np.inf, np.float32)

    def add(self, rows: slice, products: F32, first: int) -> None:
        largest = self._largest[rows]
        # after the first columns few are larger, and to compare costs a tenth of finding the k-th largest
        found = np.flatnonzero(products > largest[:, :1])
        if not len(found):
            return
        count, width = products.shape
        row = found // width
        larger = np.bincount(row, minlength=count)
        most = int(larger.max())
        if 4 * most > width:
            candidates = np.concatenate([largest, products], axis=1)
        else:
            candidates = np.full((count, self._k + most), -np.inf, np.float32)
            candidates[:, : self._k] = largest
            place = np.arange(len(found)) - (np.cumsum(larger) - larger)[row]
            candidates[row, self._k + place] = products.ravel()[found]
        candidates.partition(candidates.shape[1] - self._k, axis=1)
        self._largest[rows] = candidates[:, -self._k :]

    def result(self) -> NDArray[Any]:
        return self._largest


class _TopKMean(_TopK):
    """The mean of the k largest."""

    def result(self) -> F64:
        mean: F64 = self._largest.mean(axis=1, dtype=np.float64)
        return mean


def nearest(queries: VectorSource, targets: VectorSource, k: int) -> I64:
    """The rows of the k targets most similar to each query, (b, k), best first; k is cut to n."""
    (found,) = stream(targets, queries, lambda rows: _Best(rows, min(k, targets.shape[0]), None))
    return np.ascontiguousarray(found["row"])


def moments(vectors: VectorSource, advance: Advance = no_progress) -> tuple[F64, F64]:
    """Mean (d,) and covariance (d, d) of all rows, in one pass; the covariance is divided by n."""
    count, dim = vectors.shape
    shift: F32 | None = None
    total, products = np.zeros(dim), np.zeros((dim, dim))
    for block in vectors.blocks(TARGET_ROWS):
        if shift is None:  # near the mean, so that what is squared is the spread alone
            shift = block.mean(axis=0)
        centred = block - shift
        total += centred.sum(axis=0, dtype=np.float64)
        products += centred.T @ centred
        advance(len(block))
    mean = total / count
    return mean + (0 if shift is None else shift), products / count - np.outer(mean, mean)


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
    return rankings(queries, targets, k, offsets)[0]


def rankings(queries: F32, targets: VectorSource, k: int, *offsets: F32 | None) -> list[tuple[F32, I64]]:
    """What `top_k` gives with each of the offsets, in one pass over the targets."""
    count = min(k, targets.shape[0])
    reductions = [partial(_Best, k=count, offsets=each) for each in offsets]
    found = stream(targets, ArrayVectors(queries, "queries"), *reductions)
    return [(np.ascontiguousarray(best["score"]), np.ascontiguousarray(best["row"])) for best in found]


class _Best:
    """Scores and columns of the k largest q·t − h(t) so far, best first, ties by the lower column."""

    def __init__(self, rows: int, k: int, offsets: F32 | None) -> None:
        self._best = np.empty((rows, k), [("score", np.float32), ("row", np.int64)])
        self._best["score"] = -np.inf
        self._offsets = offsets

    def add(self, rows: slice, products: F32, first: int) -> None:
        scores = products if self._offsets is None else products - self._offsets[first : first + products.shape[1]]
        best = self._best[rows]
        # an equal score comes from a later column, so it is no better; after the first few columns little is better
        better = scores > best["score"][:, -1:]
        for row in np.flatnonzero(better.any(axis=1)):
            columns = np.flatnonzero(better[row])
            candidates = np.empty(len(columns), best.dtype)
            candidates["score"], candidates["row"] = scores[row, columns], first + columns
            together = np.concatenate([best[row], candidates])
            best[row] = together[np.argsort(-together["score"], kind="stable")[: best.shape[1]]]

    def result(self) -> NDArray[Any]:
        return self._best


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
