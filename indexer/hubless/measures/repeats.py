"""Distinct rows: a log of queries has many copies, and each counts once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.connected import connected
from hubless.measures.by_content import by_content
from hubless.vectors.arrays import F64, I64
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import TakenVectors, VectorSource, block_rows, column_of, in_memory, plain_vectors, sample

AXES, CELL = 8, 0.01
"""Rows of length 1 are the same if they are in one cell along each of so many random axes."""
SEEN_ROWS = 4096
"""So many rows tell how far apart they are."""


@dataclass(frozen=True)
class CountedVectors(TakenVectors):
    """Rows of a source, and how often each was asked or came, `copies` (b,)."""

    copies: I64


def with_copies(source: VectorSource, copies: I64 | None) -> VectorSource:
    """Return a source (b, d) whose rows were asked so often (b,); None for once each."""
    if copies is None or (copies == 1).all():
        return source
    return CountedVectors(source, np.arange(len(copies)), source.name, copies)


class DistinctVectors(CountedVectors):
    """Rows of a source of which no two are the same, each with how often it came."""


def copies_of(source: VectorSource) -> F64:
    """Return how often each row of a source (b, d) was asked: of `CountedVectors` or some of them; else once."""
    copies = column_of(source, "copies")
    return np.ones(source.shape[0]) if copies is None else copies.astype(np.float64)


def each_once(source: VectorSource, metric: str = COSINE) -> VectorSource:
    """Return a source without copies, as `without_copies`: itself, if it is one, or some of the rows of one."""
    known = source
    while isinstance(known, TakenVectors) and not isinstance(known, DistinctVectors):
        known = known.source
    return source if isinstance(known, DistinctVectors) else without_copies(source, metric=metric)


def distinct_rows(source: VectorSource, metric: str = COSINE, groups: I64 | None = None) -> tuple[I64, I64]:
    """Return a row of each place, by content, and for each row of (b, d) the number of its place among these, (b,).

    The rows are as they are compared. Under metric cosine, directions are the same, else places; and in one of the
    groups (b,) only, if there are some. Which rows they are does not depend on the order of the source.

    An encoder gives a text other last digits in another batch, which may lie beyond the edge of a cell. So rows are the
    same in either of two grids, one moved by half a cell, and so are rows that are the same as a third.
    """
    ordered = by_content(source)
    plain = plain_vectors(ordered, metric)
    told = _told(plain, metric)
    cells = np.concatenate([told(block) for block in plain.blocks(block_rows(plain.shape[1]))])
    grids = [np.unique(np.rint(cells + moved), axis=0, return_inverse=True)[1].ravel() for moved in (0, 0.5)]
    numbers = _connected(*grids)
    if groups is not None:
        numbers = np.unique(np.stack([numbers, groups[ordered.rows]]), axis=1, return_inverse=True)[1].ravel()
    _, firsts, same = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    places = np.empty_like(numbers)
    places[ordered.rows] = np.argsort(order)[same]
    return ordered.rows[firsts[order]], places


def _connected(first: I64, second: I64) -> I64:
    """Return a number (b,) that rows share which are in one cell of either grid, or each with a third."""
    one, other = (1 + int(grid.max()) for grid in (first, second))
    if one == other == len(np.unique(first * other + second)):  # the grids agree: no copy is at an edge of one
        return first
    return connected(first, one + second, one + other)[first]


def without_copies(source: VectorSource, groups: I64 | None = None, metric: str = COSINE) -> DistinctVectors:
    """Return the rows of `distinct_rows`: a fit on them, or a sample of them, is that of a shuffled source, too."""
    rows, places = distinct_rows(source, metric, groups)
    return DistinctVectors(source, rows, source.name, np.bincount(places, copies_of(source)).astype(np.int64))


def _told(source: VectorSource, metric: str) -> Callable[[NDArray[Any]], F64]:
    """Return a function of rows (m, d) to what tells them apart along the axes, (m, 8), in cells.

    These are directions under metric cosine; under euclidean places, with their mean at 0 and their mean squared length
    at 1. Under dot both with the logarithm of the length: some rows may be far longer than others, or all lie far away.
    """
    made = comparison(metric)
    some = in_memory(sample(source, SEEN_ROWS)).astype(np.float64)
    mean = some.mean(axis=0)
    spread = float(np.sqrt(np.square(some - mean).sum(axis=1).mean())) or 1.0
    used = slice(2 if made.lifted else 0, None if made.takes_zero else 1)

    def told(block: NDArray[Any]) -> F64:
        rows = block.astype(np.float64)
        lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        told = np.hstack([rows / lengths, np.log(lengths), (rows - mean) / spread][used])
        cells: F64 = told @ (np.random.default_rng(0).normal(size=(told.shape[1], AXES)) / CELL)
        return cells

    return told
