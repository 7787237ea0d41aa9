"""Both sums of a Sinkhorn step from one product of bank and targets.

A step needs the sum over the bank for each target, and then a sum over all targets for each bank query. The second one
needs of the first only those of the same target. So a block of targets with all of the bank is enough for both, and a
step that is not kept in memory costs one product instead of two.
"""

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubless.kernels import devices
from hubless.kernels.reductions import STRIP_SIZE, log_sum_exp
from hubless.kernels.sharding import SHARD_ROWS, is_sharded, over_shards
from hubless.kernels.streaming import BANK_ROWS, TARGET_ROWS
from hubless.kernels.threads import cores, one_blas_thread, slices
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import VectorSource, block_rows, in_memory

BLOCK_SIZE = 2**23
"""Similarities of a block: 32 MiB a core."""
LEAST_SHARE = 1e-30
"""A bank query with a smaller share of a softmax has lost digits in float32."""


@dataclass(frozen=True)
class Entries:
    """The larger entries of a matrix, by rows.

    Parameters
    ----------
    counts : (n,) how many each row has
    columns, values : (e,)
    """

    counts: I64
    columns: NDArray[np.int32]
    values: F32

    @classmethod
    def joined(cls, parts: Sequence["Entries"]) -> "Entries":
        """Those of some rows, and then those of others."""
        counts, columns, values = zip(*((part.counts, part.columns, part.values) for part in parts), strict=True)
        return cls(np.concatenate(counts), np.concatenate(columns), np.concatenate(values))


@dataclass(frozen=True)
class Coupled:
    """What one pass over bank and targets leaves of P_ij = exp(q_i·t_j/τ + a_i − L_j).

    Parameters
    ----------
    over_bank : (n,) L_j = LSE_i(q_i·t_j/τ + a_i), float64
    shares : (b,) Σ_j w_j·P_ij, float64
    entries : P_ij that are larger than what was asked for, by targets; None where these are too many, or none were
    """

    over_bank: F64
    shares: F64
    entries: Entries | None


def coupled_sums(
    bank: VectorSource, targets: VectorSource, temperature: float, potentials: F64, weights: F64 | None = None
) -> tuple[F64, F64]:
    """Return L_j = LSE_i(q_i·t_j/τ + a_i) for each target, and log Σ_j w_j·exp(q_i·t_j/τ − L_j) for each bank query.

    Equal inputs give equal bytes on the same number of cores.

    Parameters
    ----------
    bank : (b, d)
    targets : (n, d)
    temperature : τ, in units of similarity
    potentials : (b,) a
    weights : (n,) w; None for ones

    Returns
    -------
    (n,) and (b,), both float64
    """
    if devices.current() or is_sharded(bank):
        over_bank = log_sum_exp(bank, targets, temperature, potentials)
    else:
        found = coupled(bank, targets, temperature, potentials, weights)
        if found.shares.min() >= LEAST_SHARE:
            return found.over_bank, np.log(found.shares) - potentials
        over_bank = found.over_bank
    of_targets = -over_bank if weights is None else np.log(weights) - over_bank
    return over_bank, log_sum_exp(targets, bank, temperature, of_targets)


def coupled(
    bank: VectorSource,
    targets: VectorSource,
    temperature: float,
    potentials: F64,
    weights: F64 | None = None,
    entries_above: float | None = None,
    most_entries: int = 0,
) -> Coupled:
    """One pass, in float32: shares below `LEAST_SHARE` have lost digits. Parameters as for `coupled_sums`.

    Parameters
    ----------
    entries_above : return the entries P_ij that are larger than this; None for none
    most_entries : if there are more, return none
    """
    if is_sharded(targets):
        most = 2 * most_entries * SHARD_ROWS // targets.shape[0] + 1  # what is too much in all shall not travel
        part = partial(_coupled_shard, bank, temperature, potentials, entries_above, most)
        return _joined(over_shards(targets, part, weights), most_entries)
    rows_of_bank = in_memory(bank)
    over_bank, shares = np.empty(targets.shape[0]), np.zeros(len(rows_of_bank))
    scale, added = np.float32(1 / temperature), potentials.astype(np.float32)
    of_targets = (np.ones(targets.shape[0]) if weights is None else weights).astype(np.float32)
    rows = max(1, min(TARGET_ROWS, BLOCK_SIZE // len(rows_of_bank)))
    pending: deque[tuple[slice, Future[Coupled]]] = deque()
    kept: list[Entries] | None = None if entries_above is None else []
    room = most_entries

    def collect() -> None:
        nonlocal kept, room
        here, future = pending.popleft()
        part = future.result()
        over_bank[here] = part.over_bank
        np.add(shares, part.shares, out=shares)
        if kept is not None and part.entries is not None:
            kept.append(part.entries)
            room -= len(part.entries.values)
            kept = kept if room >= 0 else None

    with one_blas_thread, ThreadPoolExecutor(cores(), "hubless-kernel") as pool:
        start = 0
        for given in targets.blocks(block_rows(targets.shape[1])):
            for some in slices(len(given), rows):
                here = slice(start + some.start, start + some.stop)
                least = None if kept is None else entries_above
                work = (given[some], rows_of_bank, scale, added, of_targets[here], least)
                pending.append((here, pool.submit(_reduce, *work)))
                if len(pending) > cores():  # so that products do not accumulate
                    collect()
            start += len(given)
        while pending:
            collect()
    return Coupled(over_bank, shares, None if kept is None else Entries.joined(kept))


def _coupled_shard(
    bank: VectorSource,
    temperature: float,
    potentials: F64,
    entries_above: float | None,
    most_entries: int,
    targets: VectorSource,
    weights: F64 | None,
) -> Coupled:
    return coupled(bank, targets, temperature, potentials, weights, entries_above, most_entries)


def _joined(shards: Sequence[Coupled], most_entries: int) -> Coupled:
    """What the shards left, in their order."""
    shares = shards[0].shares
    for shard in shards[1:]:
        shares = shares + shard.shares
    kept = [shard.entries for shard in shards if shard.entries is not None]
    whole = len(kept) == len(shards) and sum(len(each.values) for each in kept) <= most_entries
    over_bank = np.concatenate([shard.over_bank for shard in shards])
    return Coupled(over_bank, shares, Entries.joined(kept) if whole else None)


def _reduce(
    targets: F32, bank: F32, scale: np.float32, added: F32, weights: F32, entries_above: float | None
) -> Coupled:
    products = np.empty((len(targets), len(bank)), np.float32)
    for columns in slices(len(bank), BANK_ROWS):
        np.matmul(targets, bank[columns].T, out=products[:, columns])
    sums, shares = np.empty(len(targets)), np.zeros(len(bank), np.float32)
    kept = []
    for strip in slices(len(products), max(1, STRIP_SIZE // len(bank))):
        exponents = products[strip]
        exponents *= scale
        exponents += added
        shift = exponents.max(axis=1)
        exponents -= shift[:, np.newaxis]
        np.exp(exponents, out=exponents)
        total = exponents.sum(axis=1, dtype=np.float32)
        shares += (weights[strip] / total) @ exponents
        sums[strip] = shift + np.log(total.astype(np.float64))
        if entries_above is not None:
            kept.append(_entries(exponents, total, entries_above))
    return Coupled(sums, shares.astype(np.float64), Entries.joined(kept) if kept else None)


def _entries(exponentials: F32, totals: F32, above: float) -> Entries:
    """The shares that exponentials (n, b) have in the totals (n,) of their rows, where they are larger than `above`."""
    count, width = exponentials.shape
    found = np.flatnonzero(exponentials > np.float32(above) * totals[:, np.newaxis])
    rows = found // width
    values = exponentials.ravel()[found] / totals[rows]
    return Entries(np.bincount(rows, minlength=count), (found - rows * width).astype(np.int32), values)
