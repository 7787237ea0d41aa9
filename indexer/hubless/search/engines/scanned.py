"""Vectors without an index, compared one and all: for measuring a correction before there is an index."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.reductions import top_k
from hubless.knn.augment import AugmentedVectors
from hubless.knn.base import Found
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import Exact, How
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource


@dataclass(frozen=True)
class ScannedVectors(Exact):
    """Vectors (n, d) and their offsets (n,), read from end to end for each search of all."""

    source: VectorSource
    offsets: F32

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def dim(self) -> int:
        return self.source.shape[1]

    def find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> Found:
        return top_k(augmented, AugmentedVectors(self.source, self.offsets), k)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        return self.source.take(np.asarray(rows, np.int64))
