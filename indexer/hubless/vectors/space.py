"""A space: vectors are compared under a metric, in all dimensions or in fewer, those of a basis."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from hubless.vectors.arrays import F32, I64, as_vectors, check_dim, unit_row
from hubless.vectors.comparing import COSINE, OF_QUERIES, ComparedSide, Metric, comparison
from hubless.vectors.sources import ChangedVectors, VectorSource, under_metric

_SHORTEST = 1e-12


@dataclass(frozen=True, eq=False)
class Space:
    """A metric for vectors of d dimensions, and the orthonormal `directions` (d, k) that they are reduced to, if any.

    Vectors of k dimensions count as reduced already. *Compared* vectors have the `width` k or d, and what the metric
    adds: their inner product is the similarity.
    """

    metric: Metric
    dim: int
    directions: F32 | None = None

    @property
    def stored_dim(self) -> int:
        """Dimensions of reduced vectors, k; d without directions."""
        return self.dim if self.directions is None else int(self.directions.shape[1])

    @property
    def width(self) -> int:
        """Coordinates of compared vectors."""
        return comparison(self.metric).width(self.stored_dim)

    @property
    def of_compared(self) -> "Space":
        """The space of vectors that are compared ones already."""
        return Space(comparison(self.metric).of_compared, self.width)

    def asks_like(self, other: "Space") -> bool:
        """Return whether stored vectors of one are queries of the other, too: of the same dimensions."""
        return self.dim == other.dim and np.array_equal(self.directions, other.directions)  # type: ignore[arg-type]

    def check(self, dim: int, name: str, reference: str = "targets") -> bool:
        """Return whether vectors of so many dimensions are to be reduced. Raises `DimensionMismatch` if none can be."""
        if self.directions is not None and dim == self.stored_dim:
            return False
        check_dim(dim, self.dim, name, reference)
        return self.directions is not None

    def compared(
        self, source: VectorSource, side: ComparedSide = OF_QUERIES, reference: str = "targets"
    ) -> VectorSource:
        """Return a source with its rows as they are compared. Raises `DimensionMismatch`."""
        if not self.check(source.shape[1], source.name, reference):
            return under_metric(source, self.metric, side)
        return ChangedVectors(source, partial(self.compared_rows, side=side), self.stored_dim)

    def compared_rows(
        self, rows: F32, name: str, numbers: int | I64 | None = 0, side: ComparedSide = OF_QUERIES
    ) -> F32:
        """Return rows (m, d) or (m, k) as they are compared. Raises `ZeroVector`, `NotFinite` naming the first bad."""
        return self._reduced(comparison(self.metric).compared(rows, name, numbers, side))

    def prepared(self, vectors: ArrayLike, name: str, side: ComparedSide, collection: str) -> F32:
        """Return vectors (d,) or (m, d), as a caller of a collection has them, as they are compared.

        Raises `InputError`, `DimensionMismatch`, `NotFinite`, `ZeroVector`.
        """
        dim = self.dim
        if self.directions is not None and np.shape(vectors)[-1:] == (self.stored_dim,):
            dim = self.stored_dim
        if self.metric == COSINE and (unit := unit_row(vectors, dim)) is not None:
            return self._reduced(unit)
        rows = as_vectors(vectors, name, dim, f'collection "{collection}"')
        return self.compared_rows(rows, name, None if len(rows) == 1 else 0, side)

    def plain(self, rows: F32) -> F32:
        """Return compared rows (m, d') without what the metric added, (m, k)."""
        return comparison(self.metric).plain(rows)

    def restored(self, rows: F32) -> F32:
        """Return vectors (m, d) that are compared as these rows (m, d') are."""
        found = self.plain(rows)
        return found if self.directions is None else found @ self.directions.T

    def turned(self, rows: F32, side: ComparedSide) -> F32:
        """Return compared rows (m, d') of the other side as those of this one."""
        return comparison(self.metric).turned(rows, side)

    def halved(self, rows: F32, name: str) -> F32:
        """Return compared targets (m, d') rounded to float16, as some kinds of index store them."""
        return comparison(self.metric).halved(rows, name)

    def _reduced(self, rows: F32) -> F32:
        if self.directions is None or rows.shape[1] == self.stored_dim:
            return rows
        found: F32 = rows @ self.directions
        if self.metric == COSINE:
            found /= np.maximum(np.sqrt(np.vecdot(found, found)), np.float32(_SHORTEST))[:, np.newaxis]
        return found
