"""A sparse matrix and its products, by NumPy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F64, I64, Flags

PAIRS = 2**22
"""So many products of two entries are in memory at once."""
FULL_PRODUCTS = 256
"""A product of full matrices makes so many products of two numbers in the time that one of two entries takes."""


def starts_of(lengths: I64) -> I64:
    """Return where rows of so many entries (b,) begin, and the last one ends, (b + 1,)."""
    return np.concatenate([[0], np.cumsum(lengths)])


class Sparse(NamedTuple):
    """A matrix (b, n): row i has the entries from starts[i] up to starts[i + 1], of `columns` (e,), `values` (e,)."""

    starts: I64
    columns: NDArray[np.int32]
    values: NDArray[np.floating]
    width: int

    @property
    def counts(self) -> I64:
        """The number of entries of each row, (b,)."""
        return np.diff(self.starts)

    @property
    def height(self) -> int:
        """The number of rows, b."""
        return len(self.starts) - 1

    @property
    def rows(self) -> I64:
        """The row of each entry, (e,)."""
        return np.repeat(np.arange(self.height), self.counts)

    def found(self) -> I64:
        """Return how many entries each column has, (n,)."""
        return np.bincount(self.columns, minlength=self.width)

    def taken(self, rows: I64) -> "Sparse":
        """Return some of the rows, (r, n)."""
        lengths = self.counts[rows]
        starts = starts_of(lengths)
        entries = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Sparse(starts, self.columns[entries], self.values[entries], self.width)

    def times(self, x: F64) -> F64:
        """Return A·x (b,), from x (n,)."""
        filled = np.flatnonzero(self.counts)
        sums = np.zeros(self.height)
        if len(filled):
            sums[filled] = np.add.reduceat(self.values * x[self.columns], self.starts[filled])
        return sums

    def turned_times(self, x: F64) -> F64:
        """Return Aᵀ·x (n,), from x (b,)."""
        return np.asarray(np.bincount(self.columns, self.values * np.repeat(x, self.counts), self.width), np.float64)

    def overlaps(self, others: "Sparse") -> F64:
        """Return A·Bᵀ (b, m), from others (m, n): of full columns by full matrices, of others entry by entry."""
        b, m = self.height, others.height
        found = others.found()
        many: Flags = self.found() * found * FULL_PRODUCTS > b * m
        made = self._full(many) @ others._full(many).T
        by_column = np.argsort(others.columns, kind="stable")
        begins = np.cumsum(found) - found
        rows, columns = self.rows, others.rows[by_column]
        values = others.values[by_column]
        few = np.flatnonzero(~many[self.columns])
        pairs = found[self.columns[few]]
        ends = np.cumsum(pairs)
        for start in range(0, int(pairs.sum()), PAIRS):
            some = slice(*np.searchsorted(ends, (start, start + PAIRS), "right"))
            entries, times = few[some], pairs[some]
            first = np.repeat(begins[self.columns[entries]] - np.cumsum(times) + times, times)
            met = first + np.arange(len(first))
            products = np.repeat(self.values[entries], times) * values[met]
            made += np.bincount(np.repeat(rows[entries] * m, times) + columns[met], products, b * m).reshape(b, m)
        return made

    def _full(self, columns: Flags) -> F64:
        """Return some columns as a matrix."""
        full = np.zeros((self.height, np.count_nonzero(columns)))
        here = columns[self.columns]
        full[self.rows[here], (np.cumsum(columns) - 1)[self.columns[here]]] = self.values[here]
        return full
