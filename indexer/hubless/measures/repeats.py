"""Distinct rows: a log of queries has many copies, and each counts once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F64, I64
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import SelectedVectors, VectorSource, block_rows, in_memory, plain_vectors, sample

DIRECTIONS, CELL = 8, 0.01
"""Rows of length 1 are the same if they are in one cell along each of so many random directions."""
SEEN_ROWS = 4096
"""So many rows tell how far apart they are."""


@dataclass(frozen=True)
class DistinctVectors(SelectedVectors):
    """Rows of a source of which each stands for `copies` (b,) of its rows, itself among them."""

    copies: I64


def copies_of(source: VectorSource) -> F64:
    """Return for how many rows each row of a source (b, d) stands: 1 unless copies were taken out."""
    copies = source.copies if isinstance(source, DistinctVectors) else np.ones(source.shape[0])
    return copies.astype(np.float64)


def distinct_rows(source: VectorSource, metric: str = COSINE) -> tuple[I64, I64]:
    """Return the first row of each direction, ascending, and for each row of (b, d) its place among these, (b,).

    The rows are as they are compared. Under metric euclidean, not directions but places are the same.

    An encoder gives a text other last digits in another batch, which may lie beyond the edge of a cell. So rows are the
    same in either of two grids, one moved by half a cell, and so are rows that are the same as a third.
    """
    plain = plain_vectors(source, metric)
    placed = _places_among(plain) if comparison(metric).lifted else _directions
    axes = np.random.default_rng(0).normal(size=(plain.shape[1], DIRECTIONS)) / CELL
    cells = np.concatenate([placed(block) @ axes for block in plain.blocks(block_rows(plain.shape[1]))])
    grids = [np.unique(np.rint(cells + moved), axis=0, return_inverse=True)[1].ravel() for moved in (0, 0.5)]
    _, firsts, same = np.unique(_connected(*grids), return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    return firsts[order], np.argsort(order)[same]


def _connected(first: I64, second: I64) -> I64:
    """Return a number (b,) that rows share which are in one cell of either grid, or each with a third."""
    one, other = (1 + int(grid.max()) for grid in (first, second))
    if one == other == len(np.unique(first * other + second)):  # the grids agree: no copy is at an edge of one
        return first
    from scipy.sparse import coo_array  # here, as it takes long to import
    from scipy.sparse.csgraph import connected_components

    edges = coo_array((np.ones(len(first), bool), (first, one + second)), shape=(one + other, one + other))
    numbers: I64 = connected_components(edges)[1][first]
    return numbers


def without_copies(source: VectorSource, groups: I64 | None = None, metric: str = COSINE) -> VectorSource:
    """Return the first row of each direction, in each of the groups (b,); the source itself where none repeats."""
    firsts, places = distinct_rows(source, metric)
    if groups is not None:
        firsts, places = np.unique(np.stack([places, groups]), axis=1, return_index=True, return_inverse=True)[1:]
        order = np.argsort(firsts)
        firsts, places = firsts[order], np.argsort(order)[places.ravel()]
    if len(firsts) == source.shape[0]:
        return source
    return DistinctVectors(source, firsts, source.name, np.bincount(places, minlength=len(firsts)))


def _places_among(source: VectorSource) -> Callable[[NDArray[Any]], F64]:
    """Return a function of rows that moves their mean to 0, and their mean squared length to 1."""
    some = in_memory(sample(source, SEEN_ROWS)).astype(np.float64)
    mean = some.mean(axis=0)
    spread = float(np.sqrt(np.square(some - mean).sum(axis=1).mean())) or 1.0
    return lambda rows: (rows - mean) / spread


def _directions(block: NDArray[Any]) -> F64:
    rows = block.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    directions: F64 = rows / np.where(lengths > 0, lengths, 1)
    return directions
