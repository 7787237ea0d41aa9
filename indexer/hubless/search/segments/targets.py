"""The targets of a collection: segments, without what is gone. Rows are numbered over what is left of all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.corrections.target_columns import TargetColumn, TargetColumns
from hubless.kernels.forks import cached_property
from hubless.kernels.reductions import merged
from hubless.knn.base import Found
from hubless.knn.exhaustive import in_turn
from hubless.search.bitmap import Bitmap, together
from hubless.search.engines.base import How, Kind, VectorIndex
from hubless.search.engines.embedded import FaissIndex
from hubless.search.matches import Matches, MatchesCache
from hubless.search.numbers import Numbers
from hubless.search.segments.contents import RowNumbers, TargetIds, TargetPayload
from hubless.search.segments.memory import FEWEST_GONE, Memory, NewTargets
from hubless.search.segments.order import Ordered
from hubless.search.segments.segment import NO_ROWS, Segment, SegmentView, payload_of
from hubless.search.segments.stored import StoredSegments
from hubless.store.durable import now
from hubless.vectors.arrays import F32, F64, I64, Flags
from hubless.vectors.payload import Masks, Payload

UNWRITTEN = 2**32
"""Rank of the first target that no write of the log put. It comes behind those of the last write."""
WORTH_A_THREAD = 4096
"""Targets of a segment whose search costs more than to hand it to another thread."""
_SAMPLE = 256


class _Asked(NamedTuple):
    """An index that is searched: the place of its first row, what is searched in it, and how many it can find."""

    vectors: VectorIndex
    start: int
    only: Bitmap | None
    room: int


@dataclass(frozen=True, eq=False)
class Targets:
    """The targets of a collection of d dimensions, in rows 0 to n − 1.

    `views` are its segments, the last one of them that of the `memory`. A *place* is a row of all segments, with what
    is gone. Never changed: `without` and `with_more` give others, which cost what was written. `bitmaps` keep what
    filters found in stored segments.
    """

    views: tuple[SegmentView, ...]
    memory: Memory
    bitmaps: MatchesCache
    _stored: StoredSegments

    @classmethod
    def of(cls, segments: Sequence[Segment], dim: int, gone: Sequence[I64] = ()) -> "Targets":
        """Segments, and an empty one in memory. `gone` are the rows of each that are gone; none without."""
        known = segments[0]
        schema = None if known.payload is None else known.payload.schema
        memory = Memory.empty(dim, known.ids.array.type, schema)
        missing = gone or [NO_ROWS] * len(segments)
        views = [SegmentView(segment, rows) for segment, rows in zip(segments, missing, strict=True)]
        return cls((*views, SegmentView(memory.segment)), memory, MatchesCache(0), StoredSegments(tuple(segments)))

    def of_views(self, views: Iterable[SegmentView]) -> "Targets":
        """Return targets of the same dimensions in other segments, without any in memory."""
        some = list(views)
        return Targets.of([view.segment for view in some], self.dim, [view.gone for view in some])

    def __len__(self) -> int:
        return self.numbers.count

    @property
    def first(self) -> Segment:
        return self.views[0].segment

    @property
    def stored(self) -> tuple[SegmentView, ...]:
        """All but the one in memory."""
        return self.views[:-1]

    @property
    def written(self) -> SegmentView:
        """The one in memory."""
        return self.views[-1]

    @property
    def dim(self) -> int:
        """Dimensions of the vectors, d."""
        return self.first.index.dim

    @property
    def kind(self) -> Kind:
        """The kind of index that search parameters are for."""
        return self.first.index.kind

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Search parameters of a query that brings none."""
        return self.first.index.defaults

    @property
    def compares_all(self) -> bool:
        """True if `find` can compare with every target."""
        return self.first.index.compares_all

    @property
    def as_built(self) -> "Targets | None":
        """The targets as they were built, with those that are gone since; None if they were put in a new order."""
        built = [view.segment for view in self.stored if view.segment.stamps is None]
        return Targets.of(built, self.dim) if built else None

    @property
    def is_as_built(self) -> bool:
        """True if nothing came or went since they were built."""
        return not len(self.numbers.gone) and all(
            view.segment.stamps is None for view in self.views if len(view.segment)
        )

    @cached_property
    def numbers(self) -> Numbers:
        return Numbers.of([len(view.segment) for view in self.views], [view.gone for view in self.views])

    # searching

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> Found:
        """The k best targets, or matches, of which there are as many: scores (m, k) and rows (m, k), best first.

        The best k of each segment's k best are kept. So an exact search finds what it finds in one index, and an
        approximate one at least as much with the same parameters, as each segment looks at its own candidates. Equal
        scores come in the order of their rows. What compares with all gives the first k of one list, for every k.
        """
        asked = self._all if matches is None else self._of(matches)
        search = partial(self._search, asked, how)
        index = self.first.index
        # another server may be far, and what whole vectors rank is chosen for the number of hits
        if not isinstance(index, FaissIndex) or (how is not None and index.whole is not None):
            return search(augmented, k)
        exact = not how or not any(each.vectors.walks(each.only) for each in asked)
        return Ordered(self, search, sum(each.room for each in asked), self._sizes, exact).best(augmented, k)

    def _search(self, asked: Sequence[_Asked], how: How, augmented: F32, k: int) -> Found:
        def search(asked: _Asked) -> Found:
            scores, rows = asked.vectors.find(augmented, min(k, asked.room), how, asked.only)
            return scores, rows + asked.start if asked.start else rows

        large = sum(each.room >= WORTH_A_THREAD for each in asked) if len(asked) > 1 else 0
        # more queries than that keep the threads busy in each segment
        few = len(augmented) < min(faiss.omp_get_max_threads(), large)
        if few and not any(each.vectors.is_shared(each.only, exact=how is None) for each in asked):
            found = in_turn(search, asked)
        else:
            found = [search(each) for each in asked]
        scores, places = merged(found, k)
        return scores, self.numbers.rows(places)

    def room(self, matches: Matches | None) -> int:
        """Return the number of targets that a search can find, of all or of the matches: those with a vector."""
        return sum(asked.room for asked in (self._all if matches is None else self._of(matches)))

    @cached_property
    def _sizes(self) -> F32:
        """About the largest coordinates, (d + 1,), of [t, −h]: those of some rows, evenly spread."""
        some = np.arange(0, len(self), -(-len(self) // _SAMPLE))
        sizes: F32 = np.abs(np.column_stack([self.vectors(some), self.offsets(some)])).max(axis=0)
        return sizes

    def is_shared(self, matches: Matches | None, *, exact: bool = False) -> bool:
        """Return True if several threads can work on one query, with the default parameters or compared with all."""
        asked = self._all if matches is None else self._of(matches)
        large = [each for each in asked if each.room >= WORTH_A_THREAD]
        if not exact and len(large) > 1 and any(each.vectors.walks(each.only) for each in large):
            return True
        return any(each.vectors.is_shared(each.only, exact=exact) for each in asked)

    @cached_property
    def _all(self) -> list[_Asked]:
        return self._asked([view.searched for view in self.views])

    def _of(self, matches: Matches) -> list[_Asked]:
        if matches.asked is None:
            matches.asked = self._asked(matches.searched)
        asked: list[_Asked] = matches.asked
        return asked

    def _asked(self, only: Sequence[Bitmap | None]) -> list[_Asked]:
        starts = list(self.numbers.starts)
        indexes = [view.segment.index for view in self.views]
        small = self._stored.small
        some = list(only)
        last = len(self.stored)
        if small < last:
            some[small:last] = [together([len(view.segment) for view in self.stored[small:]], some[small:last])]
            indexes[small:last], starts[small:last] = [self._stored.together], [starts[small]]
        every = [
            _Asked(index, start, bits, len(index) if bits is None else bits.count)
            for index, start, bits in zip(indexes, starts, some, strict=True)
        ]
        return [asked for asked in every if asked.room]

    def matches(self, filter: Masks) -> Matches:
        """Return the targets that meet a filter."""
        found = []
        searched = []
        for view in self.views:
            payload = payload_of(view.segment)
            if view is self.written:
                bits = Bitmap(payload.mask(filter), filter)
            else:
                key = f"{id(view.segment)} {filter.key}"
                bits = self.bitmaps.of(key, partial(_matched, payload, filter))
            left, with_vector = view.matching(filter, bits)
            found.append(left)
            searched.append(with_vector)
        return Matches(self.numbers, found, searched, filter)

    # what is known of rows

    def vectors(self, rows: RowNumbers) -> F32:
        """The stored vectors of some rows, (r, d); 0 for targets that have none."""
        empty = np.empty((0, self.dim), np.float32)
        return self._gathered(rows, empty, _vectors)

    def have_vectors(self, rows: RowNumbers) -> Flags:
        """Return a mask (r,) of the rows that have a vector."""
        return self._gathered(rows, np.empty(0, np.bool_), lambda segment, inside: segment.have_vectors[inside])

    def offsets(self, rows: RowNumbers) -> F32:
        """The offsets h of some rows, in their shape."""
        known = self._stored.offsets
        places = self.numbers.places(np.asarray(rows, np.int64))
        first = self.numbers.starts[-1]
        if not len(self.written.segment) or (places < first).all():
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

    def occurrence(self) -> NDArray[np.integer[Any]] | None:
        """N_10 (2, n) of the build, raw and corrected, −1 for targets that came later; None where it is not stored."""
        if all(view.segment.occurrence is None for view in self.views):
            return None
        found = np.full((2, len(self)), -1, np.int32)
        start = 0
        for view in self.views:
            known = view.segment.occurrence
            if known is not None:
                found[:, start : start + len(view)] = known if not len(view.gone) else known[:, view.left]
            start += len(view)
        return found

    def columns(self, rows: I64) -> TargetColumns:
        """Return what is kept of some rows (r,) apart from their payload; NaN for those of which nobody said it."""
        names = {name for view in self.views for name in view.segment.columns.by_role}
        known = {name: self._gathered(rows, np.empty(0), partial(_numbers, name)) for name in sorted(names)}
        return TargetColumns({name: TargetColumn(values) for name, values in known.items()})

    def stamped(self, rows: I64) -> I64:
        """Return the stamp of each of some rows, (2, r)."""
        found = self._gathered(rows, np.empty((0, 2), np.int64), lambda segment, inside: segment.stamps_of(inside).T)
        return np.ascontiguousarray(found.T)

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
        return max(
            [UNWRITTEN, int(1e6 * now().timestamp()), *(int(rank) + 1 for (last,), (rank,) in ends if last == seq)]
        )

    def row_from(self, seq: int, rank: int) -> int:
        """Return the first row that stands at a stamp or after it; the number of rows if there is none."""
        for view, start in zip(self.views, self.numbers.starts, strict=False):
            if (inside := view.segment.row_from(seq, rank)) < len(view.segment):
                return self.numbers.row_from(start + inside)
        return len(self)

    @cached_property
    def ids(self) -> TargetIds:
        return TargetIds(self.views, self.numbers)

    @cached_property
    def payload(self) -> TargetPayload | None:
        return None if self.first.payload is None else TargetPayload(self.views, self.numbers)

    def _gathered(
        self, rows: RowNumbers, empty: NDArray[Any], of: Callable[[Segment, I64], NDArray[Any]]
    ) -> NDArray[Any]:
        """Return values of some rows, (r, …), of the type and further shape of `empty`."""
        found: NDArray[Any] = self.numbers.gathered(
            rows, lambda number, inside: of(self.views[number].segment, inside), empty
        )
        return found

    # changing

    def without(self, rows: I64) -> "Targets":
        """Return the same without some rows."""
        if not len(rows):
            return self
        views = list(self.views)
        for number, _, inside in self.numbers.parted(rows):
            views[number] = views[number].without(inside)
        gone = len(views[-1].gone)
        if gone > FEWEST_GONE and 2 * gone > len(views[-1].segment):
            memory = self.memory.moved_together(views[-1])
            return replace(self, views=(*views[:-1], SegmentView(memory.segment)), memory=memory)
        return replace(self, views=tuple(views))

    def with_more(self, more: NewTargets) -> "Targets":
        """Return the same with more targets, at the end."""
        memory = self.memory.with_more(more)
        return replace(self, views=(*self.stored, SegmentView(memory.segment, self.written.gone)), memory=memory)

    def same_rows(self, rows: I64, other: "Targets") -> I64:
        """Return the row that each of some rows has in another one that this has grown from; −1 for those that came."""
        places = self.numbers.places(rows)
        inside = (rows >= 0) & (places < self.numbers.starts[-1])
        return np.where(inside, other.numbers.rows(np.where(inside, places, 0)), -1)


def _numbers(name: str, segment: Segment, rows: I64) -> F64:
    known = segment.columns.by_role.get(name)
    return np.full(len(rows), np.nan) if known is None else known.values[rows]


def _matched(payload: Payload, filter: Masks) -> Bitmap:
    return Bitmap(payload.mask(filter), filter)


def _vectors(segment: Segment, rows: I64) -> F32:
    there = segment.have_vectors[rows] if len(segment.bare) else None
    if there is None or there.all():
        return segment.index.vectors(rows)
    found = np.zeros((len(rows), segment.index.dim), np.float32)
    if there.any():
        found[there] = segment.index.vectors(rows[there])
    return found
