"""Targets without an index, compared one and all: for measuring a correction before there is an index."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.reductions import top_k
from hubless.knn.augment import AugmentedVectors
from hubless.knn.base import Found
from hubless.search.engines.base import Exact, How, check_scores
from hubless.search.matches import Matches
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import VectorSource


@dataclass(frozen=True)
class ScannedTargets(Exact):
    """All targets (n, d) and their offsets `every_offset` (n,), read from end to end for each search."""

    source: VectorSource
    every_offset: F32

    def __len__(self) -> int:
        return len(self.every_offset)

    @property
    def dim(self) -> int:
        return self.source.shape[1]

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> Found:
        scores, rows = top_k(augmented, AugmentedVectors(self.source, self.every_offset), k)
        check_scores(scores, rows)
        return scores, rows

    def room(self, matches: Matches | None) -> int:
        return len(self.every_offset)

    def offsets(self, rows: I64) -> F32:
        return self.every_offset[rows]

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        return self.source.take(np.asarray(rows, np.int64))
