"""The targets of a collection: segments, without what is gone. Rows are numbered over what is left of all."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from hubless.kernels.forks import cached_property
from hubless.knn.base import Found
from hubless.search.bitmap import Bitmap, together
from hubless.search.engines.base import How, Kind, VectorIndex
from hubless.search.segments.contents import TargetIds, TargetPayload
from hubless.search.segments.matches import Matches, MatchesCache
from hubless.search.segments.memory import FEWEST_GONE, Memory, NewTargets
from hubless.search.segments.scope import Place, Scope
from hubless.search.segments.segment import NO_ROWS, Segment, SegmentView, payload_of
from hubless.search.segments.segment_rows import SegmentRows
from hubless.search.segments.stored import StoredSegments
from hubless.vectors.arrays import F32, I64
from hubless.vectors.payload import Masks, Payload


@dataclass(frozen=True, eq=False)
class Targets(SegmentRows):
    """The targets of a collection, and a source of their vectors.

    The last of the `views` is that of the segment in memory. Never changed: `without` and `with_more` give others,
    which cost what was written. `bitmaps` keep what filters found in stored segments.
    """

    name: ClassVar[str] = "targets"
    bitmaps: MatchesCache

    @classmethod
    def of(cls, segments: Sequence[Segment], dim: int, gone: Sequence[I64] = ()) -> "Targets":
        """Segments, and an empty one in memory. `gone` are the rows of each that are gone; none without."""
        known = segments[0]
        schema = None if known.payload is None else known.payload.schema
        roles = sorted({name for segment in segments for name in segment.columns.by_role})
        memory = Memory.empty(dim, known.ids.array.type, schema, roles)
        missing = gone or [NO_ROWS] * len(segments)
        views = [SegmentView(segment, rows) for segment, rows in zip(segments, missing, strict=True)]
        return cls((*views, SegmentView(memory)), StoredSegments(tuple(segments)), MatchesCache(0))

    def of_views(self, views: Iterable[SegmentView]) -> "Targets":
        """Return targets of the same dimensions in other segments, without any in memory."""
        some = list(views)
        return Targets.of([view.segment for view in some], self.dim, [view.gone for view in some])

    @property
    def stored(self) -> tuple[SegmentView, ...]:
        """All but the one in memory."""
        return self.views[:-1]

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
        return not len(self.gone) and all(view.segment.stamps is None for view in self.views if len(view.segment))

    @cached_property
    def rows(self) -> SegmentRows:
        """The rows alone. What is kept here refers to these, so that a version that is left is gone at once."""
        return SegmentRows(self.views, self._stored)

    @cached_property
    def ids(self) -> TargetIds:
        return TargetIds(self.rows)

    @cached_property
    def payload(self) -> TargetPayload | None:
        return None if self.first.payload is None else TargetPayload(self.rows)

    # as a source of vectors

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.dim

    def blocks(self, rows: int) -> Iterator[F32]:
        for start in range(0, len(self), rows):
            yield self.take(np.arange(start, min(start + rows, len(self))))

    def take(self, rows: I64) -> F32:
        return self.vectors(rows)

    # searching

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> Found:
        """The k best targets, or matches, of which there are as many: scores (m, k) and rows (m, k), best first.

        The best k of each segment's k best are kept. So an exact search finds what it finds in one index, and an
        approximate one at least as much with the same parameters, as each segment looks at its own candidates. Equal
        scores come in the order of their rows. What compares with all gives the first k of one list, for every k.
        """
        return self.scope(matches).find(augmented, k, how)

    def room(self, matches: Matches | None) -> int:
        """Return the number of targets that a search can find, of all or of the matches: those with a vector."""
        return self.scope(matches).room

    def scope(self, matches: Matches | None) -> Scope:
        """Return what a search looks through, for all or for the matches."""
        return self._all if matches is None else matches.scope

    @cached_property
    def known(self) -> MatchesCache:
        """The matches of recent filters."""
        return MatchesCache(self.bitmaps.room)

    def matches(self, filter: Masks) -> Matches:
        """Return the targets that meet a filter."""
        return self.known.of(filter.key, partial(self._matches, filter))

    def _matches(self, filter: Masks) -> Matches:
        found = []
        for view in self.views:
            work = partial(_matched, payload_of(view.segment), filter)
            kept = view is not self.written
            found.append(self.bitmaps.of(f"{id(view.segment)} {filter.key}", work) if kept else work())
        return self.matching(found)

    def matching(self, found: Sequence[Bitmap]) -> Matches:
        """Return the targets that a filter found in each segment, with what is gone."""
        left, searched = zip(*map(SegmentView.matching, self.views, found), strict=True)
        nbytes = sum(bits.nbytes for bits in {id(bits): bits for bits in (*left, *searched)}.values())
        return Matches(self.rows, left, self._scope(searched), nbytes)

    @cached_property
    def _all(self) -> Scope:
        return self._scope([view.searched for view in self.views])

    def _scope(self, only: Sequence[Bitmap | None]) -> Scope:
        indexes: list[VectorIndex] = [view.segment.index for view in self.views]
        places = [*map(Place, indexes, self.starts, only)]
        small = slice(self._stored.small, len(self.stored))
        if few := places[small]:
            bits = together([len(place.vectors) for place in few], [place.only for place in few])
            places[small] = [Place(self._stored.together, few[0].start, bits)]
        return Scope(self.rows, places)

    # changing

    def without(self, rows: I64) -> "Targets":
        """Return the same without some rows."""
        if not len(rows):
            return self
        views = list(self.views)
        for number, _, inside in self.parted(rows):
            views[number] = views[number].without(inside)
        written = views[-1]
        gone = len(written.gone)
        if gone > FEWEST_GONE and 2 * gone > len(written.segment):
            views[-1] = SegmentView(self._memory.moved_together(written))
        return Targets(tuple(views), self._stored, self.bitmaps)

    def with_more(self, more: NewTargets) -> "Targets":
        """Return the same with more targets, at the end."""
        views = *self.stored, SegmentView(self._memory.with_more(more), self.written.gone)
        return Targets(views, self._stored, self.bitmaps)

    def same_rows(self, rows: I64, other: "Targets") -> I64:
        """Return the row that each of some rows has in another one that this has grown from; −1 for those that came."""
        places = self.places(rows)
        inside = (rows >= 0) & (places < self.starts[-1])
        return np.where(inside, other.numbered(np.where(inside, places, 0)), -1)

    @property
    def _memory(self) -> Memory:
        return cast(Memory, self.written.segment)


def _matched(payload: Payload, filter: Masks) -> Bitmap:
    return Bitmap(payload.mask(filter), filter)
