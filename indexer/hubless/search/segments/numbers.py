"""Numbers of the rows that are left of some segments. A *place* is a row of all of them, with what is gone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from hubless.kernels.forks import cached_property
from hubless.search.segments.segment import NO_ROWS, SegmentView
from hubless.vectors.arrays import I64


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers the rows that are left. `starts` is the place of the first row of each segment; `gone` places."""

    starts: tuple[int, ...]
    total: int
    gone: I64

    @classmethod
    def of(cls, views: Sequence[SegmentView]) -> "Numbers":
        ends = list(accumulate(len(view.segment) for view in views))
        starts = (0, *ends[:-1])
        gone = [view.gone + start for view, start in zip(views, starts, strict=True) if len(view.gone)]
        return cls(starts, ends[-1], np.concatenate(gone) if gone else NO_ROWS)

    @property
    def count(self) -> int:
        return self.total - len(self.gone)

    @cached_property
    def _before(self) -> I64:
        """Of each place that is gone, the number of the first row after it."""
        return self.gone - np.arange(len(self.gone))

    def places(self, rows: I64) -> I64:
        if not len(self.gone):
            return rows
        places: I64 = rows + np.searchsorted(self._before, rows, side="right")
        return places

    def rows(self, places: I64) -> I64:
        """Return the number of each place; −1 if it is gone."""
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

    def row_from(self, place: int) -> int:
        """Return the number of the first row at a place or after it."""
        return place - int(np.searchsorted(self.gone, place))
