"""Cells of targets, by which `nnn` and `csls` find about the mean of the k largest q·t of a large bank.

Each cell has bank queries that stand for all of the bank there: the nearest ones for themselves, and in rings around
them, each as large as all inside it, a random half, quarter, eighth … for those beside them. So the mean has next to no
bias, where a search that misses some makes it too small; and its price grows with the logarithm of the bank.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hubless.kernels.reductions import below_top_k, top_k, top_k_mean_each
from hubless.kernels.sharding import is_sharded, over_shards
from hubless.kernels.threads import in_parallel
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import HeldVectors, VectorSource, in_memory, sample, sampled_rows

FLAT = "flat"
AIM = 2.5
"""Error of the offsets that cells may have, in steps. With that, 0.91 to 0.98 of the ten best targets stay so."""
RANKS, STEPS = 15, 10
"""Steps are between the scores of neighbouring ranks, the last so many up to this one."""
SAMPLE = 96
"""Targets on which the error is measured, and bank queries that tell the steps."""
NEAREST = 640
"""Bank queries of a cell that stand for themselves, at first."""
MOST_NEAR = 8
"""One of so many bank queries may be so at last. More would take as long as all of the bank."""
TARGETS_EACH = 128
"""Targets that share a cell, of those that are compared at once. Fewer are nearer, but more are faster."""
TRAINED_EACH, ROUNDS = 16, 4
"""Targets of which a centre is the mean, and rounds of k-means."""
TARGETS_AT_ONCE = 2**16
PRODUCTS_AT_ONCE = 2**25


@dataclass(frozen=True)
class BankIndex:
    """Centres (c, d) of cells of targets, and rows (c, s) of the bank (b, d) that each cell is compared with."""

    bank: F32
    centres: F32
    rows: I64
    nearest: int
    error: float = 0.0

    def top_k_mean(self, targets: VectorSource, k: int, advance: Advance = no_progress) -> F64:
        """Return about the mean of the k largest q·t over the bank, for each target (n, d): (n,) float64."""
        if is_sharded(targets):
            return np.concatenate(over_shards(targets, partial(self.top_k_mean, k=k), advance=advance))
        found = np.concatenate([self._means(block, k) for block in targets.blocks(TARGETS_AT_ONCE)])
        advance(len(found))
        return found

    def _means(self, targets: F32, k: int) -> F64:
        cells = _members(targets, self.centres)
        rings = _rings(len(self.bank), self.nearest)
        means = np.empty(len(targets))

        def work(some: slice) -> None:
            for members, rows in zip(cells[some], self.rows[some], strict=True):
                if len(members):
                    means[members] = _means(targets[members] @ self.bank.take(rows, axis=0).T, rings, k)

        in_parallel(work, len(cells), 1)
        return means


def index_of(bank: VectorSource, targets: VectorSource, k: int, weight: float) -> BankIndex:
    """Put targets (n, d) in cells that have as few of the bank (b, d) as leave the error at `AIM`, or `MOST_NEAR`.

    The error is that of weight · mean of the k largest q·t: a standard deviation over some of the targets.
    """
    some = HeldVectors(in_memory(sample(targets, SAMPLE)), targets.name)
    (exact,) = top_k_mean_each([bank], some, [k])
    scores, _ = top_k(in_memory(sample(bank, SAMPLE)), targets, min(RANKS, targets.shape[0]))
    step = float(np.ptp(scores[:, -STEPS:], axis=1).mean()) / STEPS or 1.0
    queries, centres = in_memory(bank), _centres(targets)
    nearest, most = NEAREST, max(NEAREST, len(queries) // MOST_NEAR)
    while True:
        made = BankIndex(queries, centres, _rows(queries, centres, nearest), nearest)
        error = weight * float(np.std(made.top_k_mean(some, k) - exact)) / step
        if error <= AIM or nearest == most:
            return replace(made, error=error)
        nearest = min(most, nearest * (2 if error < 1.4 * AIM else 4))  # twice as many err by √2 less at most


def _centres(targets: VectorSource) -> F32:
    count = min(targets.shape[0], TARGETS_AT_ONCE) // TARGETS_EACH + 1
    some = in_memory(sample(targets, TRAINED_EACH * count))
    centres = some[::TRAINED_EACH]
    for _ in range(ROUNDS):
        centres = np.stack([some[members].mean(axis=0) for members in _members(some, centres) if len(members)])
    return centres


def _members(targets: F32, centres: F32) -> list[I64]:
    """Return the rows of the targets (n, d) that are nearest to each of the centres (c, d), by Euclidean distance."""
    half = np.einsum("ij,ij->i", centres, centres) / 2
    nearest = top_k(targets, HeldVectors(centres, "centres"), 1, half)[1].ravel()
    sizes = np.bincount(nearest, minlength=len(centres))
    return np.split(np.argsort(nearest, kind="stable"), np.cumsum(sizes)[:-1])


def _rings(queries: int, nearest: int) -> list[range]:
    """Return the places by similarity to a centre that are compared with, for each ring."""
    rings = [range(min(nearest, queries))]
    while (start := rings[-1].stop) < queries:
        rings.append(range(start, min(2 * start, queries), 2 * rings[-1].step))
    return rings


def _rows(bank: F32, centres: F32, nearest: int) -> I64:
    """Return the rows of the bank (b, d) that each cell is compared with, ring by ring.

    Each ring is found in a random part of the bank, half as large as that of the ring before: what comes next there.
    """
    rings = _rings(len(bank), nearest)
    parts = [sampled_rows(len(bank), -(-len(bank) // ring.step)) for ring in rings]
    rows = np.empty((len(centres), sum(map(len, rings))), np.int64)

    def work(some: slice) -> None:
        for row, products in zip(rows[some], centres[some] @ bank.T, strict=True):
            end = 0
            for ring, part in zip(rings, parts, strict=True):
                here = products[part]
                inside = int(np.count_nonzero(here >= products[row[:end]].min())) if end else 0
                most = min(inside + len(ring), len(part))
                near = np.flatnonzero(here > below_top_k(here[np.newaxis], most))
                near = near[np.argpartition(here[near], [-most, len(ring) - most])]
                row[end : end + len(ring)] = part[near[-most:][: len(ring)]]
                end += len(ring)

    in_parallel(work, len(centres), max(1, PRODUCTS_AT_ONCE // len(bank)))
    return rows


def _means(products: F32, rings: list[range], k: int) -> F64:
    """Return the mean of the k largest of what products (n, s) stand for."""
    largest = []
    for ring in rings:
        here, products = np.split(products, [len(ring)], axis=1)
        most = min(len(ring), k // ring.step + 1)
        here.partition(len(ring) - most, axis=1)
        largest.append(here[:, -most:].repeat(ring.step, axis=1))
    means: F64 = np.partition(np.hstack(largest), -k)[:, -k:].mean(axis=1, dtype=np.float64)
    return means
