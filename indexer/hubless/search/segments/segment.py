"""A segment: targets that came together, in an index of their own. Nothing in it changes; what goes is marked beside.

Offsets of a fitted correction are a function of a row, so segments never need each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns
from hubless.kernels.forks import cached_property
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import VectorIndex
from hubless.vectors.arrays import F32, I64, Flags, to_arrow
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload

NO_ROWS: I64 = np.empty(0, np.int64)
A = TypeVar("A", pa.Array, pa.Table)


class SegmentIds(Protocol):
    """The ids of the rows of a segment."""

    @property
    def array(self) -> pa.Array:
        """All of them, (s,) int64 or large_string."""

    @property
    def largest(self) -> str | int | None:
        """The largest; None without any."""

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        """Give the ids of some rows."""

    def rows(self, wanted: Sequence[Any]) -> I64:
        """The row of each of some ids; −1 for one that no row has."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Segment:
    """s targets. Those in the rows `bare`, ascending, have no vector; in a built segment they come last.

    `name` is that of its folder, empty in memory. `stamps` (2, s) say which write put each row, and in which row of it;
    without them the segment was built with all writes up to `seq`, and its rows count from `first`. `occurrence` is
    N_10 (2, s) of the build, raw and corrected; None for rows that came later. `columns` are kept of what no payload
    column says.
    """

    index: VectorIndex
    offsets: F32
    ids: SegmentIds = field(default_factory=lambda: IdTable.of(to_arrow(NO_ROWS)))
    payload: Payload | None = None
    bare: I64 = field(default_factory=lambda: NO_ROWS)
    occurrence: NDArray[np.integer[Any]] | None = None
    columns: TargetColumns = NO_COLUMNS
    stamps: I64 | None = None
    seq: int = 0
    first: int = 0
    name: str = ""

    def __len__(self) -> int:
        return len(self.offsets)

    @cached_property
    def have_vectors(self) -> Flags:
        """A mask (s,) of the rows that have a vector."""
        mask = np.ones(len(self), np.bool_)
        mask[self.bare] = False
        return mask

    def stamps_of(self, rows: I64) -> I64:
        """Return for some rows the write that put each, and its row in it, (2, r)."""
        if self.stamps is not None:
            return self.stamps[:, rows]
        return np.stack([np.full(len(rows), self.seq), self.first + rows])

    def row_from(self, seq: int, rank: int) -> int:
        """The first row with such a stamp or a later one; s if there is none."""
        if self.stamps is None:
            place = rank - self.first if seq == self.seq else (0 if seq < self.seq else len(self))
            return min(max(place, 0), len(self))
        first, after = (int(place) for place in np.searchsorted(self.stamps[0], [seq, seq + 1]))
        return first + int(np.searchsorted(self.stamps[1, first:after], rank))


def payload_of(segment: Segment) -> Payload:
    """Return the payload of a segment that has one."""
    if segment.payload is None:
        raise TypeError("a segment without payload")
    return segment.payload


@dataclass(frozen=True, eq=False)
class SegmentView:
    """A segment without some rows, ascending, that are `gone`. Never changed: `without` gives another."""

    segment: Segment
    gone: I64 = field(default_factory=lambda: NO_ROWS)

    def __len__(self) -> int:
        return len(self.segment) - len(self.gone)

    @property
    def vectorless(self) -> int:
        """Count the rows that are left and have no vector."""
        bare = self.segment.bare
        return len(bare) - int(np.isin(bare, self.gone).sum()) if len(bare) else 0

    def without(self, rows: I64) -> "SegmentView":
        """Without more rows, which are left."""
        if not len(rows):
            return self
        rows = np.sort(rows)
        return SegmentView(self.segment, np.insert(self.gone, np.searchsorted(self.gone, rows), rows))

    def has(self, rows: I64) -> Flags:
        """Return which of some rows are left."""
        if not len(self.gone):
            return np.ones(len(rows), np.bool_)
        places = np.searchsorted(self.gone, rows)
        there: Flags = self.gone[np.minimum(places, len(self.gone) - 1)] != rows
        return there

    @property
    def left(self) -> I64:
        """The rows that are left, ascending."""
        rows = np.arange(len(self.segment))
        return np.delete(rows, self.gone) if len(self.gone) else rows

    def of_left(self, rows: A) -> A:
        """Of an array or a table of its rows, those that are left."""
        left: A = rows.take(pa.array(self.left)) if len(self.gone) else rows
        return left

    @cached_property
    def searched(self) -> Bitmap | None:
        """The rows that a search can find; None for all of the index."""
        count = len(self.segment.index)
        lacking = np.concatenate([self.gone, self.segment.bare])
        if not (lacking < count).any():
            return None
        return self.matching(Bitmap(np.ones(len(self.segment), np.bool_)))[1]

    def matching(self, found: Bitmap) -> tuple[Bitmap, Bitmap]:
        """Return the rows that a filter `found` and that are left, and of these the ones that a search can find."""
        left = found.without_rows(self.gone)
        count = len(self.segment.index)
        if count == len(self.segment) and not len(self.segment.bare):
            return left, left
        mask = left.mask
        mask[self.segment.bare] = False
        return left, Bitmap(mask[:count], found.filter, left.without)
