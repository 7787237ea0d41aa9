"""An index of fewer dimensions beside whole vectors: the index finds candidates, and the whole vectors rank them.

The index holds the products of targets and directions, not brought to length 1: so a query's product with them comes
near that with the whole vector, and the offsets of the whole vectors serve both.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from mmap import ACCESS_READ, MADV_RANDOM, MADV_SEQUENTIAL, mmap
from pathlib import Path
from re import fullmatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import BundleDamaged, storage_errors
from hubless.kernels.reductions import best_first, top_k
from hubless.knn import index_type
from hubless.knn.augment import AugmentedVectors, augmented_dim, folded_queries
from hubless.knn.base import Found, Precision, SearchParameters
from hubless.knn.index_files import read_index, structure
from hubless.measures.labelled_answers import DEPTH
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import How
from hubless.search.engines.embedded import FaissIndex
from hubless.store.bundle import BASIS, FULL, INDEX, PIVOT, Manifest, reading
from hubless.vectors.arrays import F32, I64
from hubless.vectors.npy import read_header, write_array
from hubless.vectors.sources import ArrayRows, TakenVectors, VectorSource, block_rows, in_memory

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
    def kept(cls, rows: VectorSource, precision: Precision, path: Path | None) -> "FullVectors":
        """Return rows (n, d) as they will be served: mapped, from a file that is written, or without one in memory."""
        if path is None:
            return cls(in_memory(rows).astype(precision))
        with storage_errors(path), path.open("wb") as file:
            header = {"descr": np.dtype(precision).str, "fortran_order": False, "shape": rows.shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in rows.blocks(block_rows(rows.shape[1])):
                file.write(np.ascontiguousarray(block, precision).data)
        return cls.open(path)

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


@dataclass(frozen=True, eq=False, kw_only=True)
class WholeIndex(FaissIndex):
    """An index of targets by directions (d, k). Whole vectors (n, d) with offsets (n,) rank the candidates it finds."""

    full: VectorSource
    offsets: F32
    directions: F32
    candidates: int = CANDIDATES
    is_flat = False

    def widened(self) -> "WholeIndex":
        """Return the same with twice as many candidates."""
        return replace(self, candidates=2 * self.candidates)

    def write(self, folder: Path) -> None:
        super().write(folder)
        write_array(folder / BASIS, self.directions)
        if not (folder / FULL).exists():
            FullVectors.kept(self.full, self.kind.precision, folder / FULL)

    def find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> Found:
        """Return scores and rows (m, k) of the best of the candidates, or if `how` is None of all or `only` some."""
        if how is None:
            scores, rows = self._best(augmented, k, only)
        else:
            # so many candidates are ranked for k hits
            wanted = max(k, min(_MOST_ASKED, self.candidates * max(k, DEPTH) // DEPTH))
            wanted = min(wanted, len(self) if only is None else only.count)
            rows = np.sort(super().find(self._reduced(augmented), wanted, how, only)[1], axis=1)
            scores, rows = best_first(self._scores(augmented, rows), rows, k)
        return scores, rows

    def approximate(self, augmented: F32, k: int, how: SearchParameters) -> Found:
        return self.find(augmented, k, how, None)

    def _scores(self, augmented: F32, rows: I64) -> F32:
        dim = self.dim
        found = np.empty(rows.shape, np.float32)
        queries = augmented[:, :dim, np.newaxis]
        for start in range(0, len(rows), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            full = self.full.take(rows[some].ravel()).reshape(*rows[some].shape, dim)
            found[some] = np.matmul(full, queries[some])[..., 0]
        return found - augmented[:, dim, np.newaxis] * self.offsets[rows]

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        return self.full.take(np.asarray(rows, np.int64))

    def _reduced(self, augmented: F32) -> F32:
        """Return augmented queries (m, d') as the index is asked."""
        dim, kept = self.directions.shape
        reduced = folded_queries(augmented[:, :dim] @ self.directions, 0.0)
        reduced[:, kept : kept + 2] = augmented[:, dim, np.newaxis]
        return reduced

    def _best(self, augmented: F32, k: int, only: Bitmap | None) -> Found:
        rows = np.arange(len(self)) if only is None else only.rows
        full = self.full if only is None else TakenVectors(self.full, rows, self.full.name)
        scores, found = top_k(augmented, AugmentedVectors(full, self.offsets[rows]), k)
        return scores, rows[found]


def read_stored(
    folder: Path, manifest: Manifest, kind: str, count: int, dim: int, offsets: F32, stored: Callable[..., Any]
) -> FaissIndex:
    """Open the index of `count` vectors (n, d) in the folder of a segment. Raises `BundleDamaged`.

    `stored` gives an array there by the name of its file and a shape that is checked, None if there is none.
    """
    directions = stored(BASIS, manifest.dim, manifest.dims)
    width = dim if directions is None else directions.shape[1]
    path = folder / INDEX
    with reading(path):
        known = index_type(kind)
        index = read_index(path)
    if index.d != (wanted := augmented_dim(width)):
        raise BundleDamaged(path, f"has vectors of {index.d} dimensions, and not of {wanted}")
    if not fullmatch(known.made, made := structure(index)):
        raise BundleDamaged(path, f"is an index {made}, and not of the kind {known.name}")
    if index.ntotal != count:
        raise BundleDamaged(path, f"holds {index.ntotal} targets, the manifest says {count}")
    parameters = manifest.index.parameters if known.known else {}
    pivot = stored(PIVOT, width)
    if directions is None:
        return FaissIndex(known, index, dim, parameters, pivot)
    full = FullVectors.open_checked(folder / FULL, (count, dim), manifest.index.precision)
    candidates = manifest.index.candidates or CANDIDATES
    whole = {"full": full, "offsets": offsets, "directions": directions, "candidates": candidates}
    return WholeIndex(known, index, dim, parameters, pivot, **whole)
