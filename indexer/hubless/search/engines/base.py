"""The seam between a segment and an engine, which holds its vectors."""

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubless.knn import INDEXES
from hubless.knn.base import Found, IndexType, Precision
from hubless.search.bitmap import Bitmap
from hubless.vectors.arrays import F32

How: TypeAlias = Mapping[str, Any] | None
"""Search parameters of the index; None compares with every target, where `compares_all`."""


class Kind(Protocol):
    """A kind of index, as far as a search has to know it."""

    @property
    def name(self) -> str:
        """Name of the kind, as bundles store it."""

    @property
    def precision(self) -> Precision:
        """Precision of the stored vectors."""

    def check(self, parameters: Mapping[str, Any]) -> None:
        """Raise `InputError` for an unknown search parameter or a wrong value."""


class VectorIndex(Protocol):
    """The vectors of a segment, with offsets folded in: those of its first rows, in their order."""

    def __len__(self) -> int: ...

    @property
    def dim(self) -> int:
        """Dimensions of the vectors, d."""

    @property
    def kind(self) -> Kind:
        """The kind of index that search parameters are for."""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Search parameters of a query that brings none."""

    @property
    def compares_all(self) -> bool:
        """Return True if `find` can compare with every vector."""

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        """The stored vectors of some rows, (r, d); 0 for targets that have none."""

    def find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> Found:
        """The k best rows for augmented queries, of all or of some: scores (m, k) and rows (m, k), best first."""

    def is_shared(self, only: Bitmap | None, *, exact: bool = False) -> bool:
        """Return True if several threads can work on one query, with the default parameters or compared with all."""

    def walks(self, only: Bitmap | None) -> bool:
        """Return True if a search with default parameters goes by the index, and does not compare with all."""


class Exact:
    """Compares each query with all, and so has no search parameters."""

    @property
    def kind(self) -> IndexType:
        return INDEXES["flat"]

    @property
    def defaults(self) -> Mapping[str, Any]:
        return {}

    @property
    def compares_all(self) -> bool:
        return True

    def is_shared(self, only: Bitmap | None, *, exact: bool = False) -> bool:
        return False

    def walks(self, only: Bitmap | None) -> bool:
        return False
