"""An index of fewer dimensions beside whole vectors: the index finds candidates, and the whole vectors rank them.

The index holds the products of targets and directions, not brought to length 1: so a query's product with them comes
near that with the whole vector, and the offsets of the whole vectors serve both.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from mmap import ACCESS_READ, MADV_RANDOM, MADV_SEQUENTIAL, mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import BundleDamaged
from hubless.kernels.reductions import top_k
from hubless.knn.augment import AugmentedVectors, folded_queries
from hubless.knn.base import Found
from hubless.measures.labelled_answers import DEPTH
from hubless.search.bitmap import Bitmap
from hubless.store.bundle import reading
from hubless.vectors.arrays import F32, I64
from hubless.vectors.npy import read_header
from hubless.vectors.sources import ArrayRows, TakenVectors, VectorSource

CANDIDATES, MOST_CANDIDATES = 50, 400
"""Targets that the whole vectors rank for 11 hits, as every search has, or fewer; more hits get more in proportion. A
build doubles it until the recall is reached."""
_MOST_ASKED = 5000
_TOGETHER = 16


@dataclass(frozen=True)
class FullVectors(ArrayRows):
    """Whole vectors (n, d), checked already: float32 or float16, in memory or mapped."""

    array: NDArray[np.floating[Any]]
    name: str = "targets"
    mapped: mmap | None = None

    @classmethod
    def open(cls, path: Path) -> "FullVectors":
        with path.open("rb") as file:
            shape, _, dtype = read_header(file)
            mapped = mmap(file.fileno(), 0, access=ACCESS_READ)
            array = np.frombuffer(mapped, dtype, offset=file.tell()).reshape(shape)
        mapped.madvise(MADV_RANDOM)  # or each row that is looked at brings its neighbours from the disk
        return cls(array, mapped=mapped)

    @classmethod
    def open_checked(cls, path: Path, shape: tuple[int, int], precision: str) -> "FullVectors":
        """Return those in a file of a version. Raises `BundleDamaged` if they are not what its manifest says."""
        with reading(path):
            full = cls.open(path)
        if full.array.shape != shape or full.array.dtype != np.dtype(precision):
            found = f"{full.array.dtype} {full.array.shape}"
            raise BundleDamaged(path, f"has {found}, the manifest says {precision} {shape}")
        return full

    def blocks(self, rows: int) -> Iterator[F32]:
        if self.mapped is None:
            yield from super().blocks(rows)
            return
        self.mapped.madvise(MADV_SEQUENTIAL)
        try:
            yield from super().blocks(rows)
        finally:
            self.mapped.madvise(MADV_RANDOM)

    def _checked(self, rows: NDArray[Any], numbers: int | I64) -> F32:
        return rows.astype(np.float32, copy=False)


@dataclass(frozen=True, eq=False)
class WholeVectors:
    """Whole vectors (n, d) with offsets (n,), which rank so many candidates of an index of k dimensions."""

    full: VectorSource
    offsets: F32
    directions: F32
    candidates: int = CANDIDATES

    def wanted(self, k: int) -> int:
        """Return how many candidates are ranked for k hits."""
        return max(k, min(_MOST_ASKED, self.candidates * max(k, DEPTH) // DEPTH))

    def reduced(self, augmented: F32) -> F32:
        """Return augmented queries (m, d') as the index is asked."""
        dim, kept = self.directions.shape
        reduced = folded_queries(augmented[:, :dim] @ self.directions, 0.0)
        reduced[:, kept : kept + 2] = augmented[:, dim, np.newaxis]
        return reduced

    def scores(self, augmented: F32, rows: I64) -> F32:
        dim = len(self.directions)
        found = np.empty(rows.shape, np.float32)
        queries = augmented[:, :dim, np.newaxis]
        for start in range(0, len(rows), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            full = self.full.take(rows[some].ravel()).reshape(*rows[some].shape, dim)
            found[some] = np.matmul(full, queries[some])[..., 0]
        return found - augmented[:, dim, np.newaxis] * self.offsets[rows]

    def best(self, augmented: F32, k: int, only: Bitmap | None) -> Found:
        """Return scores and rows (m, k) of the best of all, or of `only` some."""
        rows = np.arange(len(self.offsets)) if only is None else only.rows
        full = self.full if only is None else TakenVectors(self.full, rows, self.full.name)
        scores, found = top_k(augmented, AugmentedVectors(full, self.offsets[rows]), k)
        return scores, rows[found]
