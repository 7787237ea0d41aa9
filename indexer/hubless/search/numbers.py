"""Numbers of the rows that are left of some segments. A *place* is a row of all of them, with what is gone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.forks import cached_property
from hubless.vectors.arrays import I64


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers the rows that are left. `starts` is the place of the first row of each segment; `gone` places."""

    starts: tuple[int, ...]
    total: int
    gone: I64

    @classmethod
    def of(cls, counts: Sequence[int], gone: Sequence[I64]) -> "Numbers":
        """Number what is left of segments of so many rows, of each of which some are gone."""
        *starts, total = accumulate(counts, initial=0)
        return cls(
            tuple(starts), total, np.concatenate([rows + start for rows, start in zip(gone, starts, strict=True)])
        )

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

    def gathered(
        self, rows: Sequence[int] | NDArray[np.integer[Any]], of: Callable[[int, I64], Any], empty: NDArray[Any]
    ) -> Any:
        """Return what segments have `of` each of some rows, given the number of a segment and rows in it.

        That of several is an array (r, …) of the type and further shape of `empty`.
        """
        wanted = np.asarray(rows, np.int64)
        places = self.places(wanted)
        if (places < self.starts[1]).all():
            return of(0, places)
        found = np.empty((len(wanted), *empty.shape[1:]), empty.dtype)
        for number, here, inside in self.parted(wanted):
            found[here] = of(number, inside)
        return found

    def row_from(self, place: int) -> int:
        """Return the number of the first row at a place or after it."""
        return place - int(np.searchsorted(self.gone, place))
