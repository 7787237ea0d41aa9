"""The engine of the offline side: makes products of targets and bank block by block, and reduces each at once.

Each worker thread multiplies a block of targets with one block of the bank after the other; BLAS has one thread.
Products are reduced in strips that stay in the cache. Memory is bounded for any b and n.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.banks import Part, shared
from hubless.kernels.pools import each_in_order
from hubless.kernels.threads import cores, one_blas_thread, slices
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import HeldVectors, VectorSource, block_rows, in_memory

TARGET_ROWS = 1024
BANK_ROWS = 2048
"""Larger products are no faster, and the products of two cores fit into a last-level cache."""
STRIP_SIZE = 2**16
"""Numbers of a product that are reduced at once, so that they stay in the cache."""
PRODUCT_BYTES = 128 * 2**20
"""Size of the products of all workers. With more than 16 workers the blocks get smaller."""
RESIDENT_BYTES = 256 * 2**20
"""A bank up to this size is read into memory once."""
BLOCKS_A_READING = 4
"""A larger bank is read anew for every this many blocks of targets, since reading costs more than a copy."""

PART_BYTES = 64 * 2**20
"""Size of a part of the targets that stays in memory for several passes over it."""


class Reduction(Protocol):
    """Reduces the products of one block of targets with the whole bank."""

    def add(self, rows: slice, products: F32, first: int) -> None:
        """Take the products of some targets with the bank queries from `first` on. Do not change them."""

    def result(self) -> NDArray[Any]:
        """Return what remains of each target: (targets of the block, …)."""


@dataclass(frozen=True)
class Products(HeldVectors):
    """Products (n, b) of targets with a bank, which a pass takes as they are, and what tells the targets apart (n,)."""

    bank: VectorSource
    told: F64


NewReduction: TypeAlias = Callable[[int], Reduction]
"""Number of targets in a block → a reduction for it."""
Blocks: TypeAlias = Callable[[], Iterator[F32]]


def stream(
    bank: VectorSource, targets: VectorSource, *reductions: NewReduction, advance: Advance = no_progress
) -> list[NDArray[Any]]:
    """Reduce targets (n, d) × bank (b, d) in one pass. Return what each reduction leaves of each target, (n, …).

    The targets may be `Products` with the bank.
    """
    workers = min(cores(), targets.shape[0])
    bank_blocks, readings = _bank_blocks(bank)
    target_rows = min(TARGET_ROWS, max(1, PRODUCT_BYTES // (4 * BANK_ROWS * workers)))
    results: list[NDArray[Any]] = []
    done = 0
    with one_blas_thread:
        blocks = targets.blocks(_even(targets.shape[0], target_rows * readings, workers))
        for parts in each_in_order(
            workers, partial(_reduce, bank_blocks, target_rows, reductions, isinstance(targets, Products)), blocks
        ):
            if not results:
                results.extend(np.empty((targets.shape[0], *part.shape[1:]), part.dtype) for part in parts)
            for result, part in zip(results, parts, strict=True):
                result[done : done + len(part)] = part
            done += len(parts[0])
            advance(len(parts[0]))
    return results


def stream_each(
    banks: Sequence[VectorSource],
    targets: VectorSource,
    reduction: Callable[[int, Part], NewReduction],
    advance: Advance = no_progress,
) -> list[NDArray[Any]]:
    """Reduce targets × each bank with the `reduction` of its number, as a part of a bank; these share its products."""
    found: dict[int, NDArray[Any]] = {}
    for bank, parts_of_bank in shared(banks):
        masked = [
            reduction(number, part) if part.rows is None else partial(_Masked, reduction(number, part), part.mask)
            for number, part in parts_of_bank.items()
        ]
        found |= dict(zip(parts_of_bank, stream(bank, targets, *masked, advance=advance), strict=True))
    return [found[number] for number in range(len(banks))]


class _Masked:
    """A reduction over the columns that a mask (b,) does not make −∞."""

    def __init__(self, reduction: NewReduction, mask: F32, rows: int) -> None:
        self._reduction = reduction(rows)
        self._mask = mask

    def add(self, rows: slice, products: F32, first: int) -> None:
        self._reduction.add(rows, products + self._mask[first : first + products.shape[1]], first)

    def result(self) -> NDArray[Any]:
        return self._reduction.result()


def parts(targets: VectorSource) -> Iterator[VectorSource]:
    """All rows in parts that stay in memory. Several passes over each part read the source once."""
    whole_blocks = max(1, block_rows(targets.shape[1], PART_BYTES) // BANK_ROWS)
    return (HeldVectors(block, targets.name) for block in targets.blocks(whole_blocks * BANK_ROWS))


def _bank_blocks(bank: VectorSource) -> tuple[Blocks, int]:
    if 4 * bank.shape[0] * bank.shape[1] > RESIDENT_BYTES:
        return lambda: bank.blocks(BANK_ROWS), BLOCKS_A_READING
    resident = in_memory(bank)
    return lambda: (resident[rows] for rows in slices(len(resident), BANK_ROWS)), 1


def _reduce(
    bank_blocks: Blocks, target_rows: int, new_reductions: tuple[NewReduction, ...], made: bool, targets: F32
) -> list[NDArray[Any]]:
    reductions = [new(len(targets)) for new in new_reductions]
    blocks = list(slices(len(targets), _even(len(targets), target_rows)))
    buffer = np.empty((blocks[0].stop, BANK_ROWS), np.float32)
    first = 0
    for bank_block in bank_blocks():
        for block in blocks:
            products = buffer.reshape(-1)[: (block.stop - block.start) * len(bank_block)].reshape(-1, len(bank_block))
            if made:
                products = targets[block, first : first + len(bank_block)]
            else:
                np.matmul(targets[block], bank_block.T, out=products)
            for strip in slices(len(products), max(1, STRIP_SIZE // len(bank_block))):
                rows = slice(block.start + strip.start, block.start + strip.stop)
                for reduction in reductions:
                    reduction.add(rows, products[strip], first)
        first += len(bank_block)
    return [reduction.result() for reduction in reductions]


def _even(count: int, most: int, ways: int = 1) -> int:
    """Return the rows per block: at most `most`, and equally many blocks per worker, so that none waits at the end."""
    rounds = -(-count // (most * ways))
    return -(-count // (rounds * ways))
