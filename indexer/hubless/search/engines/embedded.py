"""The embedded engine: targets in one Faiss index, with their offsets folded in."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.knn import IndexType, SearchParameters, is_scanned, is_shared, rows_of_a_part, search_selected, storage_of
from hubless.knn.augment import augment_queries
from hubless.knn.exhaustive import search_all
from hubless.search.engines.base import How, check_scores
from hubless.search.matches import Matches
from hubless.vectors.arrays import F32, I64


@dataclass(frozen=True, eq=False)
class IndexedTargets:
    """Targets in a Faiss index, and at the end so many `vectorless` ones, which are not in it."""

    kind: IndexType
    index: faiss.Index
    dim: int
    defaults: Mapping[str, Any]
    pivot: F32 | None = None
    vectorless: int = 0
    _shared: bool = field(init=False, repr=False)
    _storage: faiss.Index = field(init=False, repr=False)
    _indexed: WeakKeyDictionary[Matches, Matches] = field(default_factory=WeakKeyDictionary, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shared", is_shared(self.index))
        object.__setattr__(self, "_storage", storage_of(self.index))

    def __len__(self) -> int:
        return int(self.index.ntotal) + self.vectorless

    def tuned(self, defaults: Mapping[str, Any]) -> "IndexedTargets":
        return replace(self, defaults=defaults)

    @property
    def compares_all(self) -> bool:
        return True

    def augmented(self, queries: F32, strength: float) -> F32:
        return augment_queries(queries, strength, self.pivot)

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> tuple[F32, I64]:
        if matches is not None:
            matches = self._in_index(matches)
            how = None if how is None else self.kind.narrowed(how, matches.count, matches.total)
        if matches is None and not self.kind.known:  # a kind without parameters compares with all
            scores, rows = search_all(self._storage, augmented, k, None)
        elif how is None:
            scores, rows = self._exact(augmented, k, matches)
        else:
            selector = None if matches is None else matches.selector
            scores, rows = self.kind.search(self.index, augmented, k, how, selector)
        if rows.min(initial=0) < 0:
            # a graph or a few lists can hold fewer than k of them: compare with all to find the rest
            missed = (rows < 0).any(axis=1)
            scores[missed], rows[missed] = self._exact(augmented[missed], k, matches)
            check_scores(scores, rows)
        elif not np.isfinite(scores).all():
            check_scores(scores, rows)
        return scores, rows

    def approximate(self, augmented: F32, k: int, how: SearchParameters) -> tuple[F32, I64]:
        return self.kind.search(self.index, augmented, k, how)

    def scores(self, augmented: F32, rows: I64) -> F32:
        stored = self.index.reconstruct_batch(rows.ravel()).reshape(*rows.shape, self.index.d)
        found: F32 = np.einsum("md,mkd->mk", augmented, stored)
        return found

    def room(self, matches: Matches | None) -> int:
        return int(self.index.ntotal) if matches is None else self._in_index(matches).count

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        rows = np.asarray(rows, np.int64)
        if self.vectorless and not (there := self.have_vectors(rows)).all():
            found = np.zeros((len(rows), self.dim), np.float32)
            if there.any():
                found[there] = self.vectors(rows[there])
            return found
        stored: F32 = self.index.reconstruct_batch(rows)
        return np.ascontiguousarray(stored[:, : self.dim])

    def have_vectors(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        there: NDArray[np.bool_] = np.asarray(rows) < self.index.ntotal
        return there

    def _in_index(self, matches: Matches) -> Matches:
        if not self.vectorless or matches.total == self.index.ntotal:
            return matches
        if (known := self._indexed.get(matches)) is None:
            known = self._indexed[matches] = Matches(matches.mask[: self.index.ntotal])
        return known

    def is_shared(self, matches: Matches | None, *, exact: bool = False) -> bool:
        if matches is None:
            return is_shared(self._storage) if exact else self._shared
        if not exact and self.walks(matches):
            return False
        if is_scanned(self.kind, matches):
            return is_shared(self._storage)
        return isinstance(self._storage, faiss.IndexFlat) and matches.count > rows_of_a_part(self.index.d)

    def walks(self, matches: Matches | None) -> bool:
        """Return True if a search with default parameters goes by the index, and does not compare with all matches."""
        return matches is None or self.kind.narrowed(self.defaults, matches.count, matches.total) is not None

    def _exact(self, augmented: F32, k: int, matches: Matches | None) -> tuple[F32, I64]:
        if matches is None:
            return self.kind.exact(self.index, augmented, k)
        return search_selected(self.kind, self.index, augmented, k, matches)
