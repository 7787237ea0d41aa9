"""The engine of the offline side: products of targets and bank, block by block, reduced before the next is made.

A worker thread takes a block of targets and multiplies it with one block of the bank after the other, BLAS on one
thread, so that all cores are busy with products and reductions alike. Each product is reduced in strips that stay
in the cache. So memory is bounded by the blocks, whatever b and n are, and several reductions share one product.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hubless.arrays import F32
from hubless.sources import ArrayVectors, VectorSource, in_memory

TARGET_ROWS = 1024
BANK_ROWS = 2048
STRIP_ROWS = 32
"""Rows of a product that are reduced at once: with BANK_ROWS columns a quarter of a megabyte."""
RESIDENT_BYTES = 256 * 2**20
"""A bank up to this size is read into memory once; a larger one is read anew for each block of targets."""

Advance = Callable[[int], None]
"""Told the number of targets that are done, for a progress bar."""


def no_progress(rows: int) -> None:
    """Ignore the rows that are done."""


class Reduction(Protocol):
    """Reduces the products of one block of targets with the whole bank."""

    def add(self, rows: slice, products: F32, first: int) -> None:
        """Take the products, not to be changed, of some targets with bank queries `first` and following."""

    def result(self) -> NDArray[Any]:
        """What remains of each target: (targets of the block, …)."""


NewReduction: TypeAlias = Callable[[int], Reduction]
"""Makes a reduction for a block of so many targets."""


def stream(
    bank: VectorSource, targets: VectorSource, *reductions: NewReduction, advance: Advance = no_progress
) -> list[NDArray[Any]]:
    """Reduce targets × bank: what each reduction leaves of each target, (n, …), in the order of the targets.

    Parameters
    ----------
    bank : (b, d)
    targets : (n, d)
    reductions : applied to the same products, in one pass
    """
    resident = ArrayVectors(in_memory(bank), bank.name) if 4 * bank.shape[0] * bank.shape[1] <= RESIDENT_BYTES else bank
    workers = _cores()
    pending: deque[Future[list[NDArray[Any]]]] = deque()
    parts: list[list[NDArray[Any]]] = []

    def collect() -> None:
        parts.append(pending.popleft().result())
        advance(len(parts[-1][0]))

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers, "hubless-kernel") as pool:
        for block in targets.blocks(TARGET_ROWS):
            pending.append(pool.submit(_reduce, resident, block, reductions))
            if len(pending) > workers:  # so that blocks of targets do not pile up
                collect()
        while pending:
            collect()
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def _reduce(bank: VectorSource, targets: F32, new_reductions: tuple[NewReduction, ...]) -> list[NDArray[Any]]:
    reductions = [new(len(targets)) for new in new_reductions]
    buffer = np.empty(len(targets) * min(BANK_ROWS, bank.shape[0]), np.float32)
    first = 0
    for bank_block in bank.blocks(BANK_ROWS):
        products = buffer[: len(targets) * len(bank_block)].reshape(len(targets), len(bank_block))
        np.matmul(targets, bank_block.T, out=products)
        for rows in _strips(len(targets)):
            for reduction in reductions:
                reduction.add(rows, products[rows], first)
        first += len(bank_block)
    return [reduction.result() for reduction in reductions]


def _strips(rows: int) -> Iterator[slice]:
    return (slice(start, min(start + STRIP_ROWS, rows)) for start in range(0, rows, STRIP_ROWS))


def in_parallel(work: Callable[[slice], None], count: int, step: int) -> None:
    """Do work on slices of `step` out of `count`, on all cores."""
    slices = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    with ThreadPoolExecutor(_cores(), "hubless-kernel") as pool:
        list(pool.map(work, slices))


def _cores() -> int:
    # the cores this process may use, where the system tells: a container often has fewer than the machine
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
