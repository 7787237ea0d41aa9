"""The embedded engine: vectors in a Faiss index, with their offsets folded in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.knn.augment import pivoted
from hubless.knn.base import Found, IndexType, SearchParameters
from hubless.knn.exhaustive import is_shared, rows_of_a_part, search_all, storage_of
from hubless.knn.selected import is_scanned, search_selected
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import How
from hubless.search.engines.full import WholeVectors
from hubless.vectors.arrays import F32, I64


@dataclass(frozen=True, eq=False)
class FaissIndex:
    """Vectors in a Faiss index. `pivot` (d,) is what their offsets were folded in with; None for nothing.

    With `whole` vectors beside it, the index finds candidates, which these rank.
    """

    kind: IndexType
    index: faiss.Index
    dim: int
    defaults: Mapping[str, Any]
    pivot: F32 | None = None
    whole: WholeVectors | None = None
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

    def find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> Found:
        """Return scores and rows (m, k) of the best targets, of all or `only` some; rows are −1 where there are fewer.

        Where an index finds fewer than k, all are compared.
        """
        if self.whole is None:
            return self._find(augmented, k, how, only)
        if how is None:
            scores, rows = self.whole.best(augmented, k, only)
        else:
            wanted = min(self.whole.wanted(k), len(self) if only is None else only.count)
            rows = np.sort(self._find(self.whole.reduced(augmented), wanted, how, only)[1], axis=1)
            scores = self.whole.scores(augmented, rows)
            best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            scores, rows = np.take_along_axis(scores, best, axis=1), np.take_along_axis(rows, best, axis=1)
        return scores, rows

    def _find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> Found:
        augmented = self._pivoted(augmented)
        if only is not None:
            how = None if how is None else self.kind.narrowed(how, only.count, only.total)
        if only is None and not self.kind.known:  # a kind without parameters compares with all
            scores, rows = search_all(self._storage, augmented, k, None)
        elif how is None:
            scores, rows = self._exact(augmented, k, only)
        else:
            selector = None if only is None else only.selector
            scores, rows = self.kind.search(self.index, augmented, k, how, selector)
            if rows.min(initial=0) < 0:
                # a graph or a few lists can hold fewer than k of them: compare with all to find the rest
                missed = (rows < 0).any(axis=1)
                scores[missed], rows[missed] = self._exact(augmented[missed], k, only)
        return scores, rows

    def approximate(self, augmented: F32, k: int, how: SearchParameters) -> Found:
        if self.whole is not None:
            return self.find(augmented, k, how, None)
        return self.kind.search(self.index, self._pivoted(augmented), k, how)

    def scores(self, augmented: F32, rows: I64) -> F32:
        if self.whole is not None:
            return self.whole.scores(augmented, rows)
        stored = self.index.reconstruct_batch(rows.ravel()).reshape(*rows.shape, self.index.d)
        found: F32 = np.einsum("md,mkd->mk", self._pivoted(augmented), stored)
        return found

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        if self.whole is not None:
            return self.whole.full.take(np.asarray(rows, np.int64))
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

    def _pivoted(self, augmented: F32) -> F32:
        return augmented if self.pivot is None else pivoted(augmented, self.pivot)

    def _exact(self, augmented: F32, k: int, only: Bitmap | None) -> Found:
        if only is None:
            return self.kind.exact(self.index, augmented, k)
        return search_selected(self.kind, self.index, augmented, k, only)
