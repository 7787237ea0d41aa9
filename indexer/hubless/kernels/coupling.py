"""Both sums of a Sinkhorn step from one product of bank and targets.

A step needs the sum over the bank for each target, and then a sum over all targets for each bank query. The second one
needs of the first only those of the same target. So a block of targets with all of the bank is enough for both, and a
step that is not kept in memory costs one product instead of two.

Several passes over the same targets are made together: they read the targets once, and share the products if their
banks are parts of one bank.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.banks import Part, shared
from hubless.kernels.pools import each_in_order
from hubless.kernels.reductions import log_sum_exp
from hubless.kernels.sharding import is_sharded, over_shards
from hubless.kernels.streaming import BANK_ROWS, STRIP_SIZE, TARGET_ROWS, Products
from hubless.kernels.threads import cores, one_blas_thread, slices
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import VectorSource, block_rows, in_memory

BLOCK_SIZE = 2**23
"""Similarities of a block: 32 MiB a core."""
LEAST_SHARE = 1e-30
"""A bank query with a smaller share of a softmax has lost digits in float32."""


@dataclass(frozen=True)
class Entries:
    """The larger entries of a matrix, by rows: how many each row has (n,), their columns and values (e,)."""

    counts: I64
    columns: NDArray[np.int32]
    values: F32

    @classmethod
    def joined(cls, parts: Sequence["Entries"]) -> "Entries":
        counts, columns, values = zip(*((part.counts, part.columns, part.values) for part in parts), strict=True)
        return cls(np.concatenate(counts), np.concatenate(columns), np.concatenate(values))


@dataclass(frozen=True)
class Coupled:
    """Result of a pass, of P_ij = exp(q_i·t_j/τ + a_i − L_j): L_j = LSE_i(q_i·t_j/τ + a_i) (n,), Σ_j w_j·P_ij (b,).

    `entries` are the P_ij that were asked for, by targets; None where these are too many, or none were.
    """

    over_bank: F64
    shares: F64
    entries: Entries | None


def coupled_sums(
    bank: VectorSource, targets: VectorSource, temperature: float, potentials: F64, weights: F64 | None = None
) -> tuple[F64, F64]:
    """Return L_j = LSE_i(q_i·t_j/τ + a_i) (n,), and log Σ_j w_j·exp(q_i·t_j/τ − L_j) (b,), both float64.

    Without weights w they are ones. Equal inputs give equal bytes on the same number of cores.
    """
    if is_sharded(bank):
        over_bank = log_sum_exp(bank, potentials, targets, temperature)
    else:
        (found,) = coupled([Pass(bank, targets, temperature, potentials, weights)])
        if found.shares.min() >= LEAST_SHARE:
            return found.over_bank, np.log(found.shares) - potentials
        over_bank = found.over_bank
    of_targets = -over_bank if weights is None else np.log(weights) - over_bank
    return over_bank, log_sum_exp(targets, of_targets, bank, temperature)


@dataclass(frozen=True)
class Pass:
    """A pass over bank (b, d) and targets (n, d) that a fit asks for, with τ, a and w as for `coupled_sums`.

    It also returns the entries P_ij above `entries_above`, unless a target has more than `most_entries` on average.
    """

    bank: VectorSource
    targets: VectorSource
    temperature: float
    potentials: F64
    weights: F64 | None = None
    entries_above: float | None = None
    most_entries: float = 0


def coupled(passes: Sequence[Pass]) -> list[Coupled]:
    """Return the results of passes over the same targets, in float32: shares below `LEAST_SHARE` have lost digits."""
    targets = passes[0].targets
    if is_sharded(targets):
        return _over_shards(passes, targets)
    banks = [(in_memory(bank), parts) for bank, parts in shared([each.bank for each in passes])]
    of_pass = {number: part for _, parts in banks for number, part in parts.items()}
    collected = [_Collected(each, of_pass[number]) for number, each in enumerate(passes)]
    rows = max(1, min(TARGET_ROWS, BLOCK_SIZE // max(len(bank) for bank, _ in banks)))

    def blocks() -> Iterator[tuple[slice, F32]]:
        start = 0
        for given in targets.blocks(block_rows(targets.shape[1])):
            for some in slices(len(given), rows):
                yield slice(start + some.start, start + some.stop), given[some]
            start += len(given)

    def reduce(block: tuple[slice, F32]) -> tuple[slice, dict[int, Coupled]]:
        here, given = block
        return here, _reduce(given, banks, collected, here, made=isinstance(targets, Products))

    with one_blas_thread:
        for here, found in each_in_order(cores(), reduce, blocks()):
            for number, part in found.items():
                collected[number].add(here, part)
    return [each.result() for each in collected]


def _over_shards(passes: Sequence[Pass], targets: VectorSource) -> list[Coupled]:
    alone = [replace(each, weights=None) for each in passes]
    shards = over_shards(targets, partial(_coupled_shard, alone), *(each.weights for each in passes))
    return [_joined([shard[number] for shard in shards]) for number in range(len(passes))]


def _coupled_shard(passes: Sequence[Pass], targets: VectorSource, *weights: F64 | None) -> list[Coupled]:
    some = zip(passes, weights, strict=True)
    return coupled([replace(each, targets=targets, weights=along) for each, along in some])


class _Room:
    """Room for entries. The system gives memory as it is filled, and gets it back whole, unlike that of many blocks."""

    def __init__(self, count: int, most: float) -> None:
        self._counts = np.zeros(count, np.int64)
        self._most = most
        self._columns = np.empty(int(most * count), np.int32)
        self._values = np.empty(int(most * count), np.float32)
        self._filled = 0

    def add(self, here: slice, entries: Entries) -> bool:
        """Add those of the next rows, or return False if the rows up to here have too many."""
        stop = self._filled + len(entries.values)
        if stop > self._most * here.stop:
            return False
        self._counts[here] = entries.counts
        self._columns[self._filled : stop], self._values[self._filled : stop] = entries.columns, entries.values
        self._filled = stop
        return True

    def entries(self) -> Entries:
        return Entries(self._counts, self._columns[: self._filled], self._values[: self._filled])


class _Collected:
    def __init__(self, asked: Pass, part: Part) -> None:
        self._asked = asked
        self._part = part
        count = asked.targets.shape[0]
        added = part.spread(asked.potentials).astype(np.float32)
        # both of the whole bank that its own is a part of
        self.scale = np.float32(1 / asked.temperature)
        self.added = added if part.rows is None else added + part.mask
        self.weights = (np.ones(count) if asked.weights is None else asked.weights).astype(np.float32)
        self._over_bank = np.empty(count)
        self._shares = np.zeros(part.count)
        self._kept = None if asked.entries_above is None else _Room(count, min(asked.most_entries, part.count))

    @property
    def entries_above(self) -> float | None:
        return None if self._kept is None else self._asked.entries_above

    def add(self, here: slice, found: Coupled) -> None:
        self._over_bank[here] = found.over_bank
        self._shares += found.shares
        if self._kept is not None and found.entries is not None and not self._kept.add(here, found.entries):
            self._kept = None

    def result(self) -> Coupled:
        entries = None if self._kept is None else self._kept.entries()
        if (rows := self._part.rows) is None:
            return Coupled(self._over_bank, self._shares, entries)
        if entries is not None:
            entries = replace(entries, columns=np.searchsorted(rows, entries.columns).astype(np.int32))
        return Coupled(self._over_bank, self._shares[rows], entries)


def _joined(shards: Sequence[Coupled]) -> Coupled:
    shares = shards[0].shares
    for shard in shards[1:]:
        shares = shares + shard.shares
    kept = [shard.entries for shard in shards if shard.entries is not None]
    over_bank = np.concatenate([shard.over_bank for shard in shards])
    return Coupled(over_bank, shares, Entries.joined(kept) if len(kept) == len(shards) else None)


def _reduce(
    targets: F32,
    banks: Sequence[tuple[F32, Mapping[int, Part]]],
    collected: Sequence[_Collected],
    here: slice,
    *,
    made: bool,
) -> dict[int, Coupled]:
    found = {}
    for bank, parts in banks:
        products = targets if made else np.empty((len(targets), len(bank)), np.float32)
        for columns in slices(0 if made else len(bank), BANK_ROWS):
            np.matmul(targets, bank[columns].T, out=products[:, columns])
        last = list(parts)[-1]
        for number in parts:
            found[number] = _reduced(products, collected[number], here, in_place=not made and number == last)
    return found


def _reduced(products: F32, wanted: _Collected, here: slice, *, in_place: bool) -> Coupled:
    """Return log-sums (n,) of targets over a bank, and shares (b,) of its queries, from products (n, b)."""
    (count, width), weights, above = products.shape, wanted.weights[here], wanted.entries_above
    sums = np.empty(count)
    shares = np.zeros(width, np.float32)
    ones = np.ones(width, np.float32)
    rows = max(1, STRIP_SIZE // width)
    room = None if in_place else np.empty((min(rows, count), width), np.float32)
    kept = []
    for strip in slices(count, rows):
        given = products[strip]
        exponents = np.multiply(given, wanted.scale, out=given if room is None else room[: len(given)])
        exponents += wanted.added
        shift = exponents.max(axis=1)
        exponents -= shift[:, np.newaxis]
        np.exp(exponents, out=exponents)
        total = exponents @ ones
        shares += (weights[strip] / total) @ exponents
        sums[strip] = shift + np.log(total.astype(np.float64))
        if above is not None:
            kept.append(_entries(exponents, total, above))
    return Coupled(sums, shares.astype(np.float64), Entries.joined(kept) if kept else None)


def _entries(exponentials: F32, totals: F32, above: float) -> Entries:
    """The shares that exponentials (n, b) have in the totals (n,) of their rows, where they are larger than `above`."""
    count, width = exponentials.shape
    found = np.flatnonzero(exponentials > np.float32(above) * totals[:, np.newaxis])
    rows = found // width
    values = exponentials.ravel()[found] / totals[rows]
    return Entries(np.bincount(rows, minlength=count), (found - rows * width).astype(np.int32), values)
