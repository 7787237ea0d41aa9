"""The embedded engine: vectors in a Faiss index, with their offsets folded in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.knn.augment import pivoted
from hubless.knn.base import Found, IndexType, SearchParameters
from hubless.knn.exhaustive import is_shared, rows_of_a_part, search_all, storage_of
from hubless.knn.flat import FLAT_KIND
from hubless.knn.index_files import write_index
from hubless.knn.selected import is_scanned, search_selected
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import How
from hubless.store.bundle import INDEX, PIVOT
from hubless.vectors.arrays import F32
from hubless.vectors.npy import write_array


@dataclass(frozen=True, eq=False)
class FaissIndex:
    """Vectors in a Faiss index. `pivot` (d,) is what their offsets were folded in with; None for nothing."""

    kind: IndexType
    index: faiss.Index
    dim: int
    defaults: Mapping[str, Any]
    pivot: F32 | None = None
    _shared: bool = field(init=False, repr=False)
    _storage: faiss.Index = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shared", is_shared(self.index))
        object.__setattr__(self, "_storage", storage_of(self.index))

    def __len__(self) -> int:
        return int(self.index.ntotal)

    def tuned(self, defaults: Mapping[str, Any]) -> "FaissIndex":
        return replace(self, defaults=defaults)

    @property
    def compares_all(self) -> bool:
        return True

    @property
    def is_flat(self) -> bool:
        """Return True if it is the vectors and nothing more."""
        return self.kind.name == FLAT_KIND

    def write(self, folder: Path) -> None:
        """Write what is not in the folder of a segment yet."""
        if self.pivot is not None:
            write_array(folder / PIVOT, self.pivot)
        if not (folder / INDEX).exists():
            write_index(self.index, folder / INDEX)

    def find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> Found:
        """Return scores and rows (m, k) of the best targets, of all or `only` some; rows are −1 where there are fewer.

        Where an index finds fewer than k, all are compared.
        """
        augmented = pivoted(augmented, self.pivot)
        if only is not None:
            scores, rows = search_selected(self.kind, self.index, augmented, k, only, how)
        elif not self.kind.known:  # a kind without parameters compares with all
            scores, rows = search_all(self._storage, augmented, k, None)
        elif how is None:
            scores, rows = self.kind.exact(self.index, augmented, k)
        else:
            scores, rows = self.kind.search(self.index, augmented, k, how)
            if rows.min(initial=0) < 0:  # a graph or a few lists can hold fewer than k
                missed = (rows < 0).any(axis=1)
                scores[missed], rows[missed] = self.kind.exact(self.index, augmented[missed], k)
        return scores, rows

    def approximate(self, augmented: F32, k: int, how: SearchParameters) -> Found:
        return self.kind.search(self.index, pivoted(augmented, self.pivot), k, how)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        stored: F32 = self.index.reconstruct_batch(np.asarray(rows, np.int64))
        return np.ascontiguousarray(stored[:, : self.dim])

    def is_shared(self, only: Bitmap | None, *, exact: bool = False) -> bool:
        if only is None:
            return is_shared(self._storage) if exact else self._shared
        if not exact and self.walks(only):
            return False
        if is_scanned(self.kind, only):
            return is_shared(self._storage)
        return isinstance(self._storage, faiss.IndexFlat) and only.count > rows_of_a_part(self.index.d)

    def walks(self, only: Bitmap | None) -> bool:
        return only is None or self.kind.narrowed(self.defaults, only.count, only.total) is not None
