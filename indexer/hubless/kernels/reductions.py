"""Reductions of targets × bank: log-sum-exp, the top k, entropy. Products are float32, sums are float64."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.banks import Part
from hubless.kernels.forks import cached_property
from hubless.kernels.sharding import each_shard, is_sharded, over_shards
from hubless.kernels.streaming import STRIP_SIZE, TARGET_ROWS, NewReduction, parts, stream, stream_each
from hubless.kernels.threads import in_parallel
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, I64, Flags
from hubless.vectors.sources import ArrayVectors, VectorSource, block_rows

GROUP_SIZE = 8
"""Similarities of which the largest one says where the k largest of all begin."""
MOST_SPREAD = 50.0
"""float32 holds the factors of logarithms this far apart, with 16 orders of magnitude to spare."""


@dataclass(frozen=True, eq=False)
class Softmax:
    """A bank (b, d), a temperature τ in units of similarity, and potentials a (b,), or None for zeros."""

    bank: VectorSource
    temperature: float
    potentials: F64 | None = None

    @cached_property
    def _columns(self) -> "_Columns":
        return _Columns(self.bank.shape[0], self.potentials)

    def columns(self, part: Part) -> "_Columns":
        """Return the potentials as columns of the bank that this one is a part of."""
        if part.rows is None:
            return self._columns
        return _Columns(part.count, None if self.potentials is None else part.spread(self.potentials))


def log_sum_exp(bank: VectorSource, potentials: F64 | None, targets: VectorSource, temperature: float) -> F64:
    """Return log Σ_i exp(q_i·t/τ + a_i) over the bank (b, d) for each target (n, d), (n,), shifted for any τ."""
    return log_sum_exp_each([Softmax(bank, temperature, potentials)], targets)[0]


def log_sum_exp_each(softmaxes: Sequence[Softmax], targets: VectorSource, advance: Advance = no_progress) -> list[F64]:
    """Return `log_sum_exp` for each softmax, (n,). Banks that are the same, or parts of one, share its products."""
    if is_sharded(targets):
        of_shards = over_shards(targets, partial(log_sum_exp_each, softmaxes), advance=advance)
        return [np.concatenate(parts) for parts in zip(*of_shards, strict=True)]
    banks = [each.bank for each in softmaxes]
    if any(map(is_sharded, banks)):
        over = [partial(log_sum_exp, targets=targets, temperature=each.temperature) for each in softmaxes]
        parts = [over_shards(each.bank, work, each.potentials) for each, work in zip(softmaxes, over, strict=True)]
        return [reduce(np.logaddexp, of_bank) for of_bank in parts]

    def reduction(number: int, part: Part) -> NewReduction:
        softmax = softmaxes[number]
        return partial(_LogSumExp, temperature=softmax.temperature, columns=softmax.columns(part))

    return stream_each(banks, targets, reduction, advance)


class _Columns:
    """Potentials a of the columns: factors exp(a − max a), which cost nothing, if float32 holds them, else addends."""

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
    """log Σ exp, shifted by the largest exponent of the first columns, or of all columns if float32 needs that."""

    def __init__(self, rows: int, temperature: float, columns: _Columns) -> None:
        self._scale = np.float32(1 / temperature)
        self._columns = columns
        self._shift = np.full(rows, -np.inf, np.float32)
        self._total = np.zeros(rows)

    def add(self, rows: slice, products: F32, first: int) -> None:
        here = slice(first, first + products.shape[1])
        exponents = products * self._scale
        if self._columns.addends is not None:
            exponents += self._columns.addends[here]
        shift = self._shift[rows]
        if first == 0:
            shift[:] = exponents.max(axis=1)
        total = self._sum(exponents, shift, here)
        if not np.isfinite(total).all():  # an exponent exceeds the shift by more than float32 can hold
            larger = np.maximum(shift, exponents.max(axis=1))
            self._total[rows] *= np.exp((shift - larger).astype(np.float64))
            shift[:] = larger
            total = self._sum(exponents, shift, here)
        self._total[rows] += total

    def _sum(self, exponents: F32, shift: F32, columns: slice) -> F32:
        above = exponents - shift[:, np.newaxis]
        with np.errstate(over="ignore"):
            total: F32 = np.exp(above, out=above) @ self._columns.factors[columns]
        return total

    def result(self) -> F64:
        return self._shift.astype(np.float64) + self._columns.shift + np.log(self._total)


def top_k_mean_each(
    banks: Sequence[VectorSource], targets: VectorSource, depths: Sequence[int], advance: Advance = no_progress
) -> list[F64]:
    """Return the mean of the k largest similarities q·t over each bank (b, d), b ≥ k, of each target: (n,) float64.

    Banks that are parts of one bank share its products.
    """
    if is_sharded(targets):
        of_shards = over_shards(targets, partial(top_k_mean_each, banks, depths=depths), advance=advance)
        return [np.concatenate(parts) for parts in zip(*of_shards, strict=True)]
    return stream_each(banks, targets, lambda number, _: partial(_TopKMean, k=depths[number]), advance)


def top_k_similarities(bank: VectorSource, targets: VectorSource, k: int, advance: Advance = no_progress) -> F32:
    """Return the k largest similarities q·t over the bank, for each target: (n, k) in any order; b ≥ k."""
    if is_sharded(targets):
        return np.concatenate(over_shards(targets, partial(top_k_similarities, bank, k=k), advance=advance))
    (result,) = stream(bank, targets, lambda rows: _TopK(rows, k), advance=advance)
    return result


class _TopK:
    def __init__(self, rows: int, k: int) -> None:
        self._k = k
        self._largest = np.full((rows, k), -np.inf, np.float32)
        self._room = np.empty(0, np.bool_)

    def add(self, rows: slice, products: F32, first: int) -> None:
        """Take products of some rows with the targets from number `first` on into the k largest of each row."""
        largest = self._largest[rows]
        # few are larger, and comparing costs a tenth of finding the k-th largest
        least = below_top_k(products, self._k) if first == 0 else largest[:, :1]
        if self._room.size < products.size:
            self._room = np.empty(products.size, np.bool_)  # kept, as new memory costs twice as much as comparing
        larger_ones = np.greater(products, least, out=self._room[: products.size].reshape(products.shape))
        found = np.flatnonzero(larger_ones)
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


def below_top_k(products: F32, k: int) -> F32:
    """Return numbers (rows, 1) that the k largest of each row exceed and few others, by the largest of groups."""
    count, width = products.shape
    groups = width // GROUP_SIZE
    if groups < k:
        return np.full((count, 1), -np.inf, np.float32)
    largest = products[:, : groups * GROUP_SIZE].reshape(count, GROUP_SIZE, groups).max(axis=1)
    largest.partition(groups - k, axis=1)
    below: F32 = np.nextafter(largest[:, groups - k, np.newaxis], np.float32(-np.inf))
    return below


class _TopKMean(_TopK):
    def result(self) -> F64:
        mean: F64 = self._largest.mean(axis=1, dtype=np.float64)
        return mean


def reaches(bank: VectorSource, targets: VectorSource, thresholds: F32) -> Flags:
    """Return which targets (n,) reach the threshold (b,) of some bank query."""
    if is_sharded(targets):
        return np.concatenate(over_shards(targets, partial(reaches, bank, thresholds=thresholds)))
    (found,) = stream(bank, targets, lambda rows: _Reaches(rows, thresholds))
    return found


class _Reaches:
    def __init__(self, rows: int, thresholds: F32) -> None:
        self._thresholds = thresholds
        self._found = np.zeros(rows, np.bool_)

    def add(self, rows: slice, products: F32, first: int) -> None:
        self._found[rows] |= (products >= self._thresholds[first : first + products.shape[1]]).any(axis=1)

    def result(self) -> Flags:
        return self._found


def products_with(direction: NDArray[np.floating], vectors: VectorSource, advance: Advance = no_progress) -> F64:
    """v·t of a direction v (d,) with each row t, (n,) in float64. A row's product does not depend on its neighbours."""
    if is_sharded(vectors):
        return np.concatenate(over_shards(vectors, partial(products_with, direction), advance=advance))
    products = []
    wide = direction.astype(np.float64)
    for block in vectors.blocks(block_rows(len(direction))):
        products.append(np.einsum("ij,j->i", block, wide))
        advance(len(block))
    return np.concatenate(products)


def moments(vectors: VectorSource, advance: Advance = no_progress) -> tuple[F64, F64]:
    """Return the mean (d,) and covariance (d, d) of all rows, in one pass. The covariance is divided by n."""
    count, dim = vectors.shape
    shift: F32 | None = None
    total = np.zeros(dim)
    products = np.zeros((dim, dim))
    for block in vectors.blocks(TARGET_ROWS):
        if shift is None:  # near the mean, so that only the spread is squared
            shift = block.mean(axis=0)
        centred = block - shift
        total += centred.sum(axis=0, dtype=np.float64)
        products += centred.T @ centred
        advance(len(block))
    mean = total / count
    return mean + (0 if shift is None else shift), products / count - np.outer(mean, mean)


def top_k(queries: F32, targets: VectorSource, k: int, offsets: F32 | None = None) -> tuple[F32, I64]:
    """Return scores and rows (m, k) of the best targets of each query by q·t − h(t), ties by the lower row."""
    return rankings(queries, targets, k, offsets)[0]


_Ranking = tuple[F32, I64]
"""Scores (m, k) and rows (m, k) of the best targets of each query, best first."""


def rankings(queries: F32, targets: VectorSource, k: int, *offsets: F32 | None) -> list[_Ranking]:
    """Return what `top_k` gives with each of the offsets, in one pass over the targets."""
    work = partial(_rankings_in, queries, k)
    if is_sharded(targets):
        return best_of(each_shard(targets, work, *offsets), k)

    def of_parts() -> Iterable[tuple[int, list[_Ranking]]]:
        start = 0
        for part in parts(targets):
            here = slice(start, start + part.shape[0])
            yield work(part, *(None if each is None else each[here] for each in offsets))
            start = here.stop

    return best_of(of_parts(), k)


def _rankings_in(queries: F32, k: int, targets: VectorSource, *offsets: F32 | None) -> tuple[int, list[_Ranking]]:
    reductions = [partial(_Best, k=min(k, targets.shape[0]), offsets=each) for each in offsets]
    found = stream(targets, ArrayVectors(queries, "queries"), *reductions)
    ranked = [(np.ascontiguousarray(best["score"]), np.ascontiguousarray(best["row"])) for best in found]
    return targets.shape[0], ranked


def best_of(parts: Iterable[tuple[int, Sequence[_Ranking]]], k: int) -> list[_Ranking]:
    """Return the best k of all targets, ties by the lower row, from the number of targets and rankings of each part."""
    best: list[_Ranking] = []
    first = 0
    for count, ranked in parts:
        shifted = [(scores, rows + first) for scores, rows in ranked]
        best = [merged(both, k) for both in zip(best, shifted, strict=True)] if best else shifted
        first += count
    return best


def merged(found: Sequence[_Ranking], k: int) -> _Ranking:
    """Return the k best of each line of some searches, which have at least k together; of equals the first."""
    if len(found) == 1:
        return found[0]
    scores, rows = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
    if len(scores) == 1:  # a third of the time of what comes next
        best = np.argsort(-scores[0], kind="stable")[:k]
        return scores[:, best], rows[:, best]
    return best_first(scores, rows, k)


def best_first(scores: F32, rows: I64, k: int) -> _Ranking:
    """Return the k best of each line of scores and rows (m, c), best first; of equals the first."""
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


class _Best:
    """Scores and columns of the k largest q·t − h(t) so far, best first, ties by the lower column."""

    def __init__(self, rows: int, k: int, offsets: F32 | None) -> None:
        self._best = np.empty((rows, k), [("score", np.float32), ("row", np.int64)])
        self._best["score"] = -np.inf
        self._offsets = offsets

    def add(self, rows: slice, products: F32, first: int) -> None:
        scores = products if self._offsets is None else products - self._offsets[first : first + products.shape[1]]
        best = self._best[rows]
        count, k = best.shape
        # an equal score is no better, since its column is later; after the first columns few scores are better
        better = np.flatnonzero(scores > (below_top_k(scores, k) if first == 0 else best["score"][:, -1:]))
        row = better // scores.shape[1]
        counts = np.bincount(row, minlength=count)
        there = np.flatnonzero(counts)
        if not len(there):
            return
        candidates = np.zeros((count, k + counts.max()), best.dtype)
        candidates["score"] = -np.inf
        candidates[:, :k] = best
        places = k + np.arange(len(row)) - (np.cumsum(counts) - counts)[row]
        candidates["score"][row, places] = scores.ravel()[better]
        candidates["row"][row, places] = first + better - row * scores.shape[1]
        candidates = candidates[there]
        order = np.argsort(-candidates["score"], axis=1, kind="stable")[:, :k]
        best[there] = np.take_along_axis(candidates, order, axis=1)

    def result(self) -> NDArray[Any]:
        return self._best


def largest_in_rows(scores: F32, k: int) -> I64:
    """Return the columns (m, k) of the k largest numbers of each row (m, n), best first, ties by the lower column."""
    best = _Best(len(scores), k, None)
    in_parallel(lambda rows: best.add(rows, scores[rows], 0), len(scores), max(1, STRIP_SIZE // scores.shape[1]))
    return np.ascontiguousarray(best.result()["row"])


def mean_entropy(shifted: F32, temperature: float) -> float:
    """Return the mean entropy, in nats, of the softmax p_i ∝ exp(s_i/τ) of each row of similarities (n, b).

    They are `shifted`: less the largest of their row.
    """
    entropies = np.empty(len(shifted))
    scale = np.float32(1 / temperature)

    def reduce(rows: slice) -> None:
        exponents = shifted[rows] * scale
        weights = np.exp(exponents)
        exponents *= weights
        ones = np.ones(weights.shape[1], np.float32)
        total = (weights @ ones).astype(np.float64)
        entropies[rows] = np.log(total) - (exponents @ ones) / total

    in_parallel(reduce, len(shifted), max(1, STRIP_SIZE // shifted.shape[1]))
    return float(entropies.mean())
