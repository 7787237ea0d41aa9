"""The order of hits: by score, then by row, whatever the limit, the batch and the segments.

Ways to compare round their last bits differently, and Faiss cuts through equal scores where it likes. So a search asks
for a few hits more than are wanted. Scores so close to each other that rounding may have exchanged them are computed
anew, a pair at a time in float64. If they are close at the cut, the search goes on until they are not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from hubless.knn.base import Found
from hubless.search.engines.base import Searched
from hubless.vectors.arrays import F32, F64, I64, Flags

SPARE, A_SPARE, MOST_SPARE = 4, 16, 128
"""Hits that a search asks for beyond the cut: at least so many, and one for so many that are wanted; where these are
close, the most; where those are, too, an exact search asks for all. To ask again costs as much as to ask."""
_ROUNDING = 2**-21
_NUMBERS = 2**16
"""Numbers of vectors whose float64 stays in the cache."""
_HITS = 2**20
"""Hits of some queries that are asked for at once, or they would fill the memory."""


@dataclass(slots=True)
class Ordered:
    """A `search` of `targets`: augmented queries (m, d') and k → scores and rows (m, k), best first, in order.

    It can find `room` targets. Coordinates of their [t, −h] are hardly above `sizes` (d + 1,). The scores of one that
    is not `exact`, and compares with some only, are taken as they are.
    """

    targets: Searched
    search: Callable[[F32, int], Found]
    room: int
    sizes: F32
    exact: bool

    def best(self, augmented: F32, k: int) -> Found:
        """The k best of at least as many: scores (m, k) and rows (m, k)."""
        return self._best(augmented, k, SPARE + k // A_SPARE if self.exact else 1)

    def _best(self, augmented: F32, k: int, spare: int) -> Found:
        width = min(k + spare, self.room)
        scores, rows = self.search(augmented, width)
        close = scores[:, :-1] - scores[:, 1:] <= (self._slack(augmented) if self.exact else 0)
        if not close.any():
            return scores[:, :k], rows[:, :k]
        if self.exact:
            scores = self._anew(augmented, scores, rows, close)
        order = np.lexsort((rows, -scores))[:, :k]
        scores, rows = np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)
        left = np.flatnonzero(close[:, k - 1 :].all(axis=1))
        wider = MOST_SPARE if spare < MOST_SPARE else self.room
        if len(left) and width < self.room and (self.exact or wider == MOST_SPARE):
            for some in np.array_split(left, min(len(left), 1 + len(left) * wider // _HITS)):
                scores[some], rows[some] = self._best(augmented[some], k, wider)
        return scores, rows

    def _slack(self, augmented: F32) -> float:
        """Return how far apart scores can be that rounding has exchanged.

        Errors of products of d' numbers grow as √d'. On 20,000 × 528 they are an eighth of this, at most.
        """
        products = augmented[:, : len(self.sizes)] * self.sizes
        return _ROUNDING * sqrt(len(self.sizes) * np.vecdot(products, products).max())

    def _anew(self, augmented: F32, scores: F32, rows: I64, close: Flags) -> F32:
        """Scores (m, w), those close to the next one, (m, w − 1), computed anew: equal ones of equal vectors."""
        lines, places = np.nonzero(np.pad(close, ((0, 0), (0, 1))) | np.pad(close, ((0, 0), (1, 0))))
        dim = self.targets.dim
        made = scores.copy()
        for some in np.array_split(np.arange(len(lines)), 1 + len(lines) * dim // _NUMBERS):
            line, row = lines[some], rows[lines[some], places[some]]
            asked: F64 = augmented[line].astype(np.float64)
            similarities = np.vecdot(asked[:, :dim], self.targets.vectors(row).astype(np.float64))
            made[line, places[some]] = similarities - asked[:, dim] * self.targets.offsets(row)
        return made
