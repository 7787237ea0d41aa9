"""The order of hits: by score, then by row, whatever the limit, the batch and the segments.

Ways to compare round their last bits differently, and Faiss cuts through equal scores where it likes. So a search asks
for a few hits more than are wanted. Scores so close to each other that rounding may have exchanged them are computed
anew, a pair at a time in float64. If they are close at the cut, the search goes on until they are not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.reductions import merged
from hubless.search.engines.base import Searched
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import block_rows

SPARE, A_SPARE, MOST_SPARE = 4, 16, 128
"""Hits that a search asks for beyond the cut: at least so many, one for so many that are wanted, and the most.

The next hit is often as close as rounding, and so is the tenth after it where thousands are wanted; a search that has
to go on costs as much again.
"""
_ROUNDING = 2**-21
_BLOCK_BYTES = 2**18
"""Vectors whose float64 stays in the cache."""


@dataclass(slots=True)
class Ordered:
    """A `search` of `targets`: augmented queries (m, d') and k → scores and rows (m, k), best first, in order.

    It can find `room` targets, none of whose [t, −h, 0 …] has coordinates much above `sizes` (d',). `every` gives their
    rows, ascending, if it compares with all of them. If it does not, it is None, and scores are taken as they are.
    """

    targets: Searched
    search: Callable[[F32, int], tuple[F32, I64]]
    room: int
    sizes: F32
    every: Callable[[], I64] | None

    def best(self, augmented: F32, k: int) -> tuple[F32, I64]:
        """The k best of at least as many: scores (m, k) and rows (m, k)."""
        return self._best(augmented, k, 1 if self.every is None else SPARE + k // A_SPARE)

    def _best(self, augmented: F32, k: int, spare: int) -> tuple[F32, I64]:
        width = min(k + spare, self.room)
        scores, rows = self.search(augmented, width)
        close = scores[:, :-1] - scores[:, 1:] <= self._slack(augmented)
        if not close.any():
            return scores[:, :k], rows[:, :k]
        scores, rows = (each[:, :k].copy() for each in self._settled(augmented, scores, rows, close))
        undecided = close[:, k - 1 :].all(axis=1) & (width < self.room)
        if undecided.any():
            asked = augmented[undecided]
            if spare < MOST_SPARE:
                scores[undecided], rows[undecided] = self._best(asked, k, MOST_SPARE)
            elif self.every is not None:
                scores[undecided], rows[undecided] = self._compared(asked, k, self.every())
        return scores, rows

    def _slack(self, augmented: F32) -> float:
        """How far apart scores can be that rounding has exchanged.

        Errors of products of d' numbers grow as √d'. On 20,000 × 528 they are an eighth of this, at most.
        """
        if self.every is None:
            return 0.0
        products = augmented * self.sizes
        return _ROUNDING * sqrt(augmented.shape[1] * np.vecdot(products, products).max())

    def _settled(self, augmented: F32, scores: F32, rows: I64, close: NDArray[np.bool_]) -> tuple[F32, I64]:
        """Scores and rows (m, w) in order, those close to the next, (m, w − 1), with their scores computed anew."""
        if self.every is not None:
            doubtful = np.zeros(scores.shape, np.bool_)
            doubtful[:, :-1] = close
            doubtful[:, 1:] |= close
            scores = scores.copy()
            lines, places = np.nonzero(doubtful)
            step = block_rows(self.targets.dim, _BLOCK_BYTES)
            for start in range(0, len(lines), step):
                line, place = lines[start : start + step], places[start : start + step]
                scores[line, place] = self._scores(augmented[line], rows[line, place])
        order = np.lexsort((rows, -scores))
        return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)

    def _compared(self, augmented: F32, k: int, every: I64) -> tuple[F32, I64]:
        """The k best of these rows, ascending: scores (m, k) and rows (m, k)."""
        best = np.empty((len(augmented), 0), np.float32), np.empty((len(augmented), 0), np.int64)
        step = block_rows(self.targets.dim, _BLOCK_BYTES)
        for start in range(0, len(every), step):
            rows = every[start : start + step]
            scores = self._scores(augmented[:, np.newaxis], rows)
            best = merged([best, (scores, np.broadcast_to(rows, scores.shape))], k)
        return best

    def _scores(self, augmented: F32, rows: I64) -> F32:
        """Similarity − strength·offset of each query with each row. Equal vectors get equal scores, to the last bit."""
        dim = self.targets.dim
        wide: F64 = augmented.astype(np.float64)
        similarities = np.vecdot(wide[..., :dim], self.targets.vectors(rows).astype(np.float64))
        scores: F32 = (similarities - wide[..., dim] * self.targets.offsets(rows)).astype(np.float32)
        return scores
