"""The rows that are left of some segments. A *place* is a row of all of them, with what is gone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubless.corrections.target_columns import TargetColumn, TargetColumns
from hubless.kernels.forks import cached_property
from hubless.search.segments.segment import Segment, SegmentView
from hubless.search.segments.stored import StoredSegments
from hubless.store.durable import now
from hubless.vectors.arrays import F32, F64, I64, Flags

RowNumbers: TypeAlias = NDArray[np.integer]
UNWRITTEN = 2**32
"""Rank of the first target that no write of the log put. It comes behind those of the last write."""
_SAMPLE = 256


@dataclass(frozen=True, eq=False)
class SegmentRows:
    """n rows of d dimensions, 0 to n − 1: what is left in some `views` of segments, in their order."""

    views: tuple[SegmentView, ...]
    _stored: StoredSegments

    def __len__(self) -> int:
        return self.total - len(self.gone)

    @property
    def first(self) -> Segment:
        return self.views[0].segment

    @property
    def written(self) -> SegmentView:
        """The segment in memory, the last one."""
        return self.views[-1]

    @property
    def dim(self) -> int:
        """Dimensions of the vectors, d."""
        return self.first.index.dim

    # numbering

    @cached_property
    def starts(self) -> list[int]:
        """The place of the first row of each segment."""
        return [*accumulate((len(view.segment) for view in self.views[:-1]), initial=0)]

    @cached_property
    def total(self) -> int:
        """The number of places."""
        return self.starts[-1] + len(self.written.segment)

    @cached_property
    def gone(self) -> I64:
        """The places that are gone, ascending."""
        return np.concatenate([view.gone + start for view, start in zip(self.views, self.starts, strict=True)])

    @cached_property
    def _before(self) -> I64:
        """Of each place that is gone, the number of the first row after it."""
        return self.gone - np.arange(len(self.gone))

    def places(self, rows: I64) -> I64:
        if not len(self.gone):
            return rows
        places: I64 = rows + np.searchsorted(self._before, rows, side="right")
        return places

    def numbered(self, places: I64) -> I64:
        """Return the row of each place; −1 if it is gone."""
        if not len(self.gone):
            return places
        before = np.searchsorted(self.gone, places)
        return np.where(self.gone[np.minimum(before, len(self.gone) - 1)] == places, -1, places - before)

    def parted(self, rows: I64) -> Iterator[tuple[int, I64, I64]]:
        """Yield the number of each segment that has some of the rows, their places among those given, and in it."""
        places = self.places(rows)
        found = np.searchsorted(self.starts, places, side="right") - 1
        for number in np.unique(found).tolist():
            here = np.flatnonzero(found == number)
            yield number, here, places[here] - self.starts[number]

    def gathered(self, rows: Sequence[int] | RowNumbers, of: Callable[[Segment, I64], Any], empty: NDArray[Any]) -> Any:
        """Return what segments have `of` each of some rows, given a segment and rows in it.

        That of several is an array (r, …) of the type and further shape of `empty`.
        """
        wanted = np.asarray(rows, np.int64)
        places = self.places(wanted)
        if not np.count_nonzero(places >= self.starts[1]):
            return of(self.views[0].segment, places)
        found = np.empty((len(wanted), *empty.shape[1:]), empty.dtype)
        for number, here, inside in self.parted(wanted):
            found[here] = of(self.views[number].segment, inside)
        return found

    # vectors and offsets

    def vectors(self, rows: RowNumbers) -> F32:
        """The stored vectors of some rows, (r, d); 0 for targets that have none."""
        found: F32 = self.gathered(rows, _vectors, np.empty((0, self.dim), np.float32))
        return found

    def have_vectors(self, rows: RowNumbers) -> Flags:
        """Return a mask (r,) of the rows that have a vector."""
        there: Flags = self.gathered(rows, lambda segment, inside: segment.have_vectors[inside], np.empty(0, np.bool_))
        return there

    def offsets(self, rows: RowNumbers) -> F32:
        """The offsets h of some rows, in their shape."""
        known = self._stored.offsets
        places = self.places(np.asarray(rows, np.int64))
        first = self.starts[-1]
        if first == self.total or not np.count_nonzero(places >= first):
            return known[places]
        inside = places < first
        found = np.empty(places.shape, np.float32)
        found[inside] = known[places[inside]]
        found[~inside] = self.written.segment.offsets[places[~inside] - first]
        return found

    @cached_property
    def every_offset(self) -> F32:
        """The offsets h (n,) of all targets."""
        return self.offsets(np.arange(len(self)))

    @cached_property
    def sizes(self) -> F32:
        """About the largest coordinates, (d + 1,), of [t, −h]: those of some rows, evenly spread."""
        some = np.arange(0, len(self), -(-len(self) // _SAMPLE))
        sizes: F32 = np.abs(np.column_stack([self.vectors(some), self.offsets(some)])).max(axis=0)
        return sizes

    # what is known of the build, and of the writes since

    def occurrence(self) -> NDArray[np.integer[Any]] | None:
        """N_10 (2, n) of the build, raw and corrected, −1 for targets that came later; None where it is not stored."""
        if all(view.segment.occurrence is None for view in self.views):
            return None
        found = self.gathered(np.arange(len(self)), _occurrence, np.empty((0, 2), np.int32))
        return np.ascontiguousarray(found.T, np.int32)

    def columns(self, rows: I64) -> TargetColumns:
        """Return what is kept of some rows (r,) apart from their payload; NaN where nobody said it, and for row −1."""
        found = {}
        for name in self.written.segment.columns.by_role:
            values = np.full(len(rows), np.nan)
            values[rows >= 0] = self.gathered(rows[rows >= 0], partial(_numbers, name), values)
            found[name] = TargetColumn(values)
        return TargetColumns(found)

    def stamped(self, rows: I64) -> I64:
        """Return the stamp of each of some rows, (2, r)."""
        empty = np.empty((0, 2), np.int64)
        return np.ascontiguousarray(self.gathered(rows, lambda segment, inside: segment.stamps_of(inside).T, empty).T)

    def seqs(self, rows: I64) -> I64:
        """Return the write that put each of some rows last; for those that were built, the last one before."""
        seqs: I64 = self.stamped(rows)[0]
        return seqs

    def stamp(self, row: int) -> tuple[int, int]:
        """Return where a row stands, for cursors: the write that put it, and its row in that write.

        It is the same in every process that has opened the version or a later one, until the rows are put in a new
        order.
        """
        seq, rank = self.stamped(np.array([row]))[:, 0].tolist()
        return seq, rank

    def next_rank(self, seq: int) -> int:
        """Return the rank of the next target that no write of the log puts, after a write. No stamp stands twice.

        It is the time in microseconds, so that it stands in no version either that this one does not follow.
        """
        ends = [view.segment.stamps_of(np.array([len(view.segment) - 1])) for view in self.views if len(view.segment)]
        after = [int(rank) + 1 for (last,), (rank,) in ends if last == seq]
        return max([UNWRITTEN, int(1e6 * now().timestamp()), *after])

    def row_from(self, seq: int, rank: int) -> int:
        """Return the first row that stands at a stamp or after it; the number of rows if there is none."""
        for view, start in zip(self.views, self.starts, strict=True):
            if (inside := view.segment.row_from(seq, rank)) < len(view.segment):
                return start + inside - int(np.searchsorted(self.gone, start + inside))
        return len(self)


def _vectors(segment: Segment, rows: I64) -> F32:
    there = segment.have_vectors[rows] if len(segment.bare) else None
    if there is None or there.all():
        return segment.index.vectors(rows)
    found = np.zeros((len(rows), segment.index.dim), np.float32)
    if there.any():
        found[there] = segment.index.vectors(rows[there])
    return found


def _occurrence(segment: Segment, rows: I64) -> NDArray[np.integer[Any]]:
    known = segment.occurrence
    return np.full((len(rows), 2), -1) if known is None else known[:, rows].T


def _numbers(name: str, segment: Segment, rows: I64) -> F64:
    known = segment.columns.by_role.get(name)
    return np.full(len(rows), np.nan) if known is None else known.values[rows]
