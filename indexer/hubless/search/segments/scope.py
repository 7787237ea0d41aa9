"""The scope of a search, and the order of hits: by score, then by row, whatever the limit, batch and segments.

Ways to compare round their last bits differently, and Faiss cuts through equal scores where it likes. So a search asks
for a few hits more than are wanted. Scores so close to each other that rounding may have exchanged them are computed
anew, a pair at a time in float64. If they are close at the cut, the search goes on until they are not.
"""

from collections.abc import Sequence
from math import sqrt
from operator import methodcaller

import faiss
import numpy as np

from hubless.errors import NotFinite
from hubless.kernels.reductions import merged
from hubless.knn.base import Found
from hubless.knn.exhaustive import in_turn
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import How, VectorIndex
from hubless.search.engines.embedded import FaissIndex
from hubless.search.engines.full import WholeIndex
from hubless.search.segments.segment_rows import SegmentRows
from hubless.vectors.arrays import F32, F64, I64, Flags

SPARE, A_SPARE, MOST_SPARE = 4, 16, 128
"""Hits that a search asks for beyond the cut: at least so many, and one for so many that are wanted; where these are
close, the most; where those are, too, an exact search asks for all. To ask again costs as much as to ask."""
WORTH_A_THREAD = 4096
"""Targets of a segment whose search costs more than to hand it to another thread."""
_ROUNDING = 2**-21
_NUMBERS = 2**16
"""Numbers of vectors whose float64 stays in the cache."""
_HITS = 2**20
"""Hits of some queries that are asked for at once, or they would fill the memory."""


class Place:
    """An index that is searched: its first row is in `start` of all segments. `only` some of it; None for all."""

    def __init__(self, vectors: VectorIndex, start: int, only: Bitmap | None) -> None:
        self.vectors = vectors
        self.start = start
        self.only = only
        self.room = len(vectors) if only is None else only.count

    def find(self, augmented: F32, k: int, how: How) -> Found:
        scores, rows = self.vectors.find(augmented, min(k, self.room), how, self.only)
        # Faiss passes over infinite products, and so finds too few: rows of −1 come last
        if [-1] in rows[:, -1:].tolist() or np.count_nonzero(np.isfinite(scores)) < scores.size:
            raise NotFinite("vector", "numbers whose products with the targets fit float32", "larger ones")
        return scores, rows + self.start if self.start else rows


class Scope:
    """The `targets` that a search looks through, in one place or several. It can find `room` of them."""

    def __init__(self, targets: SegmentRows, places: Sequence[Place]) -> None:
        self._targets = targets
        self.places = [place for place in places if place.room]
        self.room = sum(place.room for place in places)
        # asked once, and not for each query
        self._walks = any(place.vectors.walks(place.only) for place in self.places)
        self._large = large = [place for place in self.places if place.room >= WORTH_A_THREAD]
        self._several = len(large) > 1 and any(place.vectors.walks(place.only) for place in large)
        self._shares = {
            exact: any(place.vectors.is_shared(place.only, exact=exact) for place in self.places)
            for exact in (False, True)
        }
        self._first = targets.first.index

    def is_shared(self, *, exact: bool = False) -> bool:
        """Return True if several threads can work on one query, with the default parameters or compared with all."""
        return self._shares[exact] or (self._several and not exact)

    def find(self, augmented: F32, k: int, how: How) -> Found:
        """The k best of at least as many: scores (m, k) and rows (m, k), best first. See `Targets.find`."""
        first = self._first
        # another server may be far, and what whole vectors rank is chosen for the number of hits
        if not isinstance(first, FaissIndex) or (how is not None and isinstance(first, WholeIndex)):
            return self._search(augmented, k, how)
        # what compares with some only gives scores that are taken as they are
        exact = not (how and self._walks)
        return self._best(augmented, k, how, SPARE + k // A_SPARE if exact else 1, exact=exact)

    def _best(self, augmented: F32, k: int, how: How, spare: int, *, exact: bool) -> Found:
        width = min(k + spare, self.room)
        scores, rows = self._search(augmented, width, how)
        close = scores[:, :-1] - scores[:, 1:] <= (self._slack(augmented) if exact else 0)
        if not np.count_nonzero(close):  # what NumPy reduces in C++ takes a tenth of what its methods do
            return scores[:, :k], rows[:, :k]
        if exact:
            scores = self._anew(augmented, scores, rows, close)
        order = np.lexsort((rows, -scores))[:, :k]
        scores, rows = np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)
        left = np.flatnonzero(close[:, k - 1 :].all(axis=1))
        wider = MOST_SPARE if spare < MOST_SPARE else self.room
        if len(left) and width < self.room and (exact or wider == MOST_SPARE):
            for some in np.array_split(left, min(len(left), 1 + len(left) * wider // _HITS)):
                scores[some], rows[some] = self._best(augmented[some], k, how, wider, exact=exact)
        return scores, rows

    def _search(self, augmented: F32, k: int, how: How) -> Found:
        """The best k of each place's k best, in no order of equal ones."""
        places = self.places
        # more queries than that keep the threads busy in each segment
        few = len(places) > 1 and len(augmented) < min(faiss.omp_get_max_threads(), len(self._large))
        work = in_turn if few and not self._shares[how is None] else map
        scores, found = merged([*work(methodcaller("find", augmented, k, how), places)], k)
        return scores, self._targets.numbered(found)

    def _slack(self, augmented: F32) -> float:
        """Return how far apart scores can be that rounding has exchanged.

        Errors of products of d' numbers grow as √d'. On 20,000 × 528 they are an eighth of this, at most.
        """
        sizes = self._targets.sizes
        products = augmented[:, : len(sizes)] * sizes
        return _ROUNDING * sqrt(len(sizes) * max(np.vecdot(products, products).tolist()))

    def _anew(self, augmented: F32, scores: F32, rows: I64, close: Flags) -> F32:
        """Scores (m, w), those close to the next one, (m, w − 1), computed anew: equal ones of equal vectors."""
        lines, places = np.nonzero(np.pad(close, ((0, 0), (0, 1))) | np.pad(close, ((0, 0), (1, 0))))
        targets = self._targets
        dim = targets.dim
        made = scores.copy()
        for some in np.array_split(np.arange(len(lines)), 1 + len(lines) * dim // _NUMBERS):
            line, row = lines[some], rows[lines[some], places[some]]
            asked: F64 = augmented[line].astype(np.float64)
            similarities = np.vecdot(asked[:, :dim], targets.vectors(row).astype(np.float64))
            made[line, places[some]] = similarities - asked[:, dim] * targets.offsets(row)
        return made
