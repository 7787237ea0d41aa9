"""The engine of the offline side: products of targets and bank, block by block, reduced before the next is made.

A worker thread takes a block of targets and multiplies it with one block of the bank after the other, BLAS on one
thread, so that all cores are busy with products and reductions alike. Each product is reduced in strips that stay
in the cache. So memory is bounded by the blocks, whatever b and n are, and several reductions share one product.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from hubless.arrays import F32
from hubless.sources import VectorSource, in_memory

TARGET_ROWS = 1024
BANK_ROWS = 2048
"""Products of so many rows are as fast as larger ones, and the products of two cores fit a last-level cache."""
STRIP_ROWS = 32
"""Rows of a product that are reduced at once: with BANK_ROWS columns a quarter of a megabyte."""
PRODUCT_BYTES = 128 * 2**20
"""The products of all workers together: with more than 16 of them the blocks get smaller."""
RESIDENT_BYTES = 256 * 2**20
"""A bank up to this size is read into memory once."""
BLOCKS_A_READING = 4
"""A larger bank is read anew, which costs more than a copy, for so many blocks of targets at a time."""

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
Blocks: TypeAlias = Callable[[], Iterator[F32]]


def stream(
    bank: VectorSource, targets: VectorSource, *reductions: NewReduction, advance: Advance = no_progress
) -> list[NDArray[Any]]:
    """Reduce targets × bank: what each reduction leaves of each target, (n, …), in the order of the targets.

    The same inputs give the same bytes, on as many cores.

    Parameters
    ----------
    bank : (b, d)
    targets : (n, d)
    reductions : applied to the same products, in one pass
    """
    workers = cores()
    bank_blocks, readings = _bank_blocks(bank)
    target_rows = min(TARGET_ROWS, max(1, PRODUCT_BYTES // (4 * BANK_ROWS * workers)))
    pending: deque[Future[list[NDArray[Any]]]] = deque()
    results: list[NDArray[Any]] = []
    done = 0

    def collect() -> None:
        nonlocal done
        parts = pending.popleft().result()
        if not results:
            results.extend(np.empty((targets.shape[0], *part.shape[1:]), part.dtype) for part in parts)
        for result, part in zip(results, parts, strict=True):
            result[done : done + len(part)] = part
        done += len(parts[0])
        advance(len(parts[0]))

    with one_blas_thread, ThreadPoolExecutor(workers, "hubless-kernel") as pool:
        try:
            for block in targets.blocks(_even(targets.shape[0], target_rows * readings, workers)):
                pending.append(pool.submit(_reduce, bank_blocks, block, target_rows, reductions))
                if len(pending) > workers:  # so that blocks of targets do not pile up
                    collect()
            while pending:
                collect()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # a block that is not begun is not worth waiting for
            raise
    return results


def _bank_blocks(bank: VectorSource) -> tuple[Blocks, int]:
    """The bank in blocks, as often as asked for, and how many blocks of targets a reading is to serve."""
    if 4 * bank.shape[0] * bank.shape[1] > RESIDENT_BYTES:
        return lambda: bank.blocks(BANK_ROWS), BLOCKS_A_READING
    resident = in_memory(bank)
    return lambda: (resident[rows] for rows in slices(len(resident), BANK_ROWS)), 1


def _reduce(
    bank_blocks: Blocks, targets: F32, target_rows: int, new_reductions: tuple[NewReduction, ...]
) -> list[NDArray[Any]]:
    reductions = [new(len(targets)) for new in new_reductions]
    blocks = list(slices(len(targets), _even(len(targets), target_rows)))
    buffer = np.empty((blocks[0].stop, BANK_ROWS), np.float32)
    first = 0
    for bank_block in bank_blocks():
        for block in blocks:
            products = buffer.reshape(-1)[: (block.stop - block.start) * len(bank_block)].reshape(-1, len(bank_block))
            np.matmul(targets[block], bank_block.T, out=products)
            for strip in slices(len(products), STRIP_ROWS):
                rows = slice(block.start + strip.start, block.start + strip.stop)
                for reduction in reductions:
                    reduction.add(rows, products[strip], first)
        first += len(bank_block)
    return [reduction.result() for reduction in reductions]


def _even(count: int, most: int, ways: int = 1) -> int:
    """At most `most` rows a block, with as many blocks for each of some workers, so that none waits in the end."""
    rounds = -(-count // (most * ways))
    return -(-count // (rounds * ways))


def slices(count: int, step: int) -> Iterator[slice]:
    """Slices of `step` out of `count`, the last one shorter."""
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


def in_parallel(work: Callable[[slice], None], count: int, step: int) -> None:
    """Do work on slices of `step` out of `count`, on all cores."""
    with one_blas_thread, ThreadPoolExecutor(cores(), "hubless-kernel") as pool:
        list(pool.map(work, slices(count, step)))


def cores() -> int:
    """How many cores this process may use: where the system tells, as a container often has fewer than the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _OneBlasThread:
    """BLAS on one thread, as the workers are the threads.

    The setting is the whole process's, workers may stream at the same time, and threadpoolctl heeds only the thread
    that set it first: so one thread holds it for all that stream, and the last to leave lets it go.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._release = Event()
        self._holder: Thread | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._holder is None:
                held, self._release = Event(), Event()
                self._holder = Thread(target=_hold, args=(held, self._release), name="hubless-blas", daemon=True)
                self._holder.start()
                held.wait()
            self._inside += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._inside -= 1
            if self._holder is not None and not self._inside:
                self._release.set()
                self._holder.join()
                self._holder = None


def _hold(held: Event, release: Event) -> None:
    try:
        with threadpool_limits(1, user_api="blas"):
            held.set()
            release.wait()
    finally:
        held.set()  # also where the setting failed: products are right with any number of threads


one_blas_thread = _OneBlasThread()
