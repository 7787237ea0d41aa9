"""Answers to labelled queries: as many scores of each as are looked at."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F32, Flags

DEPTH = 11
"""So many of the best scores of a query count. Searches rank so deep, however few hits are wanted."""
_ROUNDING = np.float32(1e-6)


class Answers(NamedTuple):
    """Answers to p labelled queries (p, d): best scores (p, b), and those of targets that are not right, `without`.

    `near` (p, 2) is the similarity of the first hit, and of the first that is not right. `there` says of each query
    whether a target is right for it, `several` whether more than one is, `right` whether the first hit is. `scores`
    (p, k) are those of all hits, and `among` says which of these are right.
    """

    queries: F32
    best: F32
    right: Flags
    without: F32
    there: Flags
    several: Flags
    near: F32
    scores: F32
    among: Flags

    @classmethod
    def of(
        cls,
        queries: F32,
        scores: F32,
        similarities: F32,
        rows: NDArray[np.integer],
        relevant: Sequence[NDArray[np.integer]],
    ) -> Self:
        """Return the answers of ranked rows (p, k) with scores and similarities (p, k).

        k is more than 11 by the right rows of a query.
        """
        among = np.stack([np.isin(line, right) for line, right in zip(rows, relevant, strict=True)])
        counts = np.array([*map(len, relevant)])
        best = scores[:, :DEPTH]
        tied: Flags = np.abs(best - best[:, :1]) <= _ROUNDING * np.maximum(1, np.abs(best[:, :1]))
        others = np.argsort(among, axis=1, kind="stable")[:, :DEPTH]
        width = min(DEPTH, int((~among).sum(axis=1).min()))
        without = np.take_along_axis(scores, others, axis=1)[:, :width]
        return cls(
            queries,
            best,
            np.any(tied & among[:, :DEPTH], axis=1),
            without,
            counts > 0,
            counts > 1,
            np.column_stack([similarities[:, 0], np.take_along_axis(similarities, others[:, :1], axis=1)]),
            scores,
            among,
        )

    def some(self, rows: slice | NDArray[np.integer]) -> "Answers":
        """Return the answers to some of the queries."""
        return Answers._make(each[rows] for each in self)
