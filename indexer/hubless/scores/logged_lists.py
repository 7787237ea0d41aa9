"""Lists of ids and scores, one a query: what of them is counted, and what is no list of scores."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.kernels.sparse import Sparse, starts_of
from hubless.measures.labelled_answers import DEPTH
from hubless.vectors.arrays import F64, I64
from hubless.vectors.object_rows import brief
from hubless.vectors.sources import sampled_rows

FLOOR = 0.5
"""What a list does not show lies below its last score by this share of the usual way from the first to the last."""
FALLING = 0.9
"""Scores that rise in this share of the lists are distances."""
OF_RANKS, WHOLE = 0.3, 1e-6
"""Scores are ranks if 1/s is a whole number, to so many digits, for this share of them. By chance 0.0002 are."""
FEWEST_HITS = 30
"""Of fewer nobody can tell."""
_ASKED = 4096
"""So many lists tell the usual scores of an answer."""
AT_ONCE = 2**22
"""Hits that are looked at together."""


@dataclass(frozen=True)
class ScoreLists:
    """Hits of b lists that have some, best first: list i has those from starts[i] up to starts[i + 1].

    `ids` (n,) are those of the items, in order of appearance; `columns` (e,) say which of these each hit is. Scores
    (e,) are float64, higher is better: of distances the negative. `given` (b,) is the number of each list.
    """

    ids: pa.Array
    starts: I64
    columns: NDArray[np.int32]
    scores: F64
    given: I64

    @classmethod
    def of(
        cls, ids: pa.Array, columns: NDArray[np.int32], scores: F64, lengths: I64, *, distance: bool
    ) -> "ScoreLists":
        """Return lists of so many hits each, without those that have none, with each list sorted."""
        starts = starts_of(lengths[lengths > 0])
        if distance:
            scores = np.negative(scores)
        return cls(ids, starts, *_sorted(columns, scores, starts), np.flatnonzero(lengths))

    @property
    def count(self) -> int:
        """The number of lists with hits, b."""
        return len(self.starts) - 1

    def ordered(self, row: int, offsets: F64) -> I64:
        """Return the items of a list, best first by its scores without the offsets (n,) of the items."""
        hits = slice(*self.starts[row : row + 2].tolist())
        columns = self.columns[hits].astype(np.int64)
        order: I64 = columns[np.argsort(offsets[columns] - self.scores[hits], kind="stable")]
        return order

    def taken(self, rows: I64) -> "ScoreLists":
        """Return some of the lists, with all ids."""
        some = Sparse(self.starts, self.columns, self.scores, len(self.ids)).taken(rows)
        return ScoreLists(self.ids, some.starts, some.columns, np.asarray(some.values, np.float64), self.given[rows])

    def of_items(self, kept: NDArray[np.bool_]) -> "ScoreLists":
        """Return the lists with some of the items (n,), without lists that have none of these."""
        hits = kept[self.columns]
        lengths = np.add.reduceat(hits.astype(np.int64), self.starts[:-1])
        columns = (np.cumsum(kept) - 1)[self.columns[hits]].astype(np.int32)
        starts = starts_of(lengths[lengths > 0])
        return ScoreLists(self.ids.filter(pa.array(kept)), starts, columns, self.scores[hits], self.given[lengths > 0])

    def distinct(self, clients: I64 | None = None) -> tuple[I64, I64]:
        """Return the first row of each list, ascending, and how often it is there: same items, same scores.

        Lists of different `clients` (b,) are different.
        """
        sums = np.empty(self.count, np.uint64)
        for rows, hits in _parts(self.starts):
            keys = _mixed(_mixed(self.columns[hits].astype(np.uint64)) + self.scores[hits].view(np.uint64))
            sums[rows] = np.add.reduceat(keys, self.starts[rows] - self.starts[rows.start])
        if clients is not None:
            sums += _mixed(clients.astype(np.uint64))
        _, firsts, copies = np.unique(sums, return_index=True, return_counts=True)
        order = np.argsort(firsts)
        return firsts[order], copies[order]

    def heights(self) -> Sparse:
        """Return the scores over the floors, s_K − ½·median(s_1 − s_K), of the lists that show more than one hit."""
        lengths = np.diff(self.starts)
        first = self.scores[self.starts[:-1]]
        last = self.scores[self.starts[1:] - 1]
        several = lengths > 1
        below = FLOOR * float(np.median((first - last)[several])) if several.any() else 0.0
        heights = (self.scores - np.repeat(last - below, lengths)).astype(np.float32)
        return Sparse(self.starts, self.columns, heights, len(self.ids))

    def corrected(self, offsets: F64) -> list[list[float]]:
        """Return the best 11 scores s − h of each list, by offsets (n,), of a sample of the lists."""
        best = []
        for row in sampled_rows(self.count, _ASKED).tolist():
            hits = slice(*self.starts[row : row + 2].tolist())
            best.append(np.sort(self.scores[hits] - offsets[self.columns[hits]])[::-1][:DEPTH].tolist())
        return best

    def check(self, name: str, *, distance: bool) -> None:
        """Raise `InputError` for no list, an item twice in a list, distances not called so, and scores of ranks."""
        if not self.count:
            raise InputError(name, "at least one list with a hit", "none")
        self._check_repeats(name)
        if not distance and _are_ranks(self):
            expected = "scores of one search: correct the lists that go into reciprocal rank fusion, then fuse them"
            raise InputError(name, expected, "scores that are made of ranks, such as 1/61, 1/62, …")

    def _check_repeats(self, name: str) -> None:
        count = len(self.ids)
        for rows, hits in _parts(self.starts):
            each = np.repeat(np.arange(rows.start, rows.stop), np.diff(self.starts[rows.start : rows.stop + 1]))
            keys = np.sort(each * count + self.columns[hits])
            if (twice := np.flatnonzero(keys[1:] == keys[:-1])).size:
                row, column = divmod(int(keys[twice[0]]), count)
                place = f"{name}[{self.given[row]}].ids"
                raise InputError(place, "each item once in a list", f"{brief(self.ids[column].as_py())} twice")


def mostly_rise(scores: F64, lengths: I64) -> bool:
    """Return if scores rise from the first to the last in most lists of more than one, as distances do."""
    ends = np.cumsum(lengths)
    several = lengths > 1
    change = scores[ends[several] - 1] - scores[(ends - lengths)[several]]
    moved = int((change != 0).sum())
    return moved > 1 and int((change > 0).sum()) >= FALLING * moved


def _parts(starts: I64) -> Iterator[tuple[slice, slice]]:
    """Return slices of lists and of their hits, about 4 million hits at a time."""
    start = 0
    count = len(starts) - 1
    while start < count:
        stop = int(np.searchsorted(starts, starts[start] + AT_ONCE, "right")) - 1
        stop = min(max(stop, start + 1), count)
        yield slice(start, stop), slice(int(starts[start]), int(starts[stop]))
        start = stop


def _sorted(columns: NDArray[np.int32], scores: F64, starts: I64) -> tuple[NDArray[np.int32], F64]:
    """Return columns and scores with each list best first, ties as they come."""
    falls = np.diff(scores) <= 0
    falls[starts[1:-1] - 1] = True
    if falls.all():
        return columns, scores
    order = np.lexsort((-scores, np.repeat(np.arange(len(starts) - 1), np.diff(starts))))
    return columns[order], scores[order]


def _are_ranks(lists: ScoreLists) -> bool:
    """Return if scores say no more than places: all lists have the same ones, or 1/s is whole, as of 1/(60 + rank)."""
    scores = lists.scores
    lengths = np.diff(lists.starts)
    if lists.count < 2 or len(scores) < FEWEST_HITS or np.ptp(scores) == 0:
        return False
    places = np.arange(len(scores)) - np.repeat(lists.starts[:-1], lengths)
    longest = int(lengths.argmax())
    usual = scores[lists.starts[longest] : lists.starts[longest + 1]]
    if len(usual) > 1 and np.allclose(scores, usual[places], rtol=WHOLE, atol=0):
        return True
    if scores.min() <= 0 or scores.max() >= 1:
        return False
    turned = 1 / scores
    return bool(np.mean(np.abs(turned - np.rint(turned)) <= WHOLE * turned) >= OF_RANKS)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers scattered over all 64 bits, as MurmurHash3 ends."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> np.uint64(33))) * np.uint64(factor)
    return values ^ (values >> np.uint64(33))
