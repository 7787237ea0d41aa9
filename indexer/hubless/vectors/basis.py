"""A basis of fewer dimensions, which targets, banks and queries are reduced to first."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hubless.errors import InputError
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.comparing import OF_TARGETS, ComparedSide
from hubless.vectors.sources import ChangedVectors, VectorSource, in_memory, sample, under_metric

_SAMPLE = 10_000
"""So many rows of each side tell the directions."""
_SHORTEST = 1e-12
_SQUARES = 1e-20, 1e20
"""Between these a squared length is right in float32."""


@dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal directions (d, k), as columns. Vectors of k dimensions count as reduced already."""

    directions: F32
    metric: str

    @property
    def dim(self) -> int:
        return int(self.directions.shape[0])

    @property
    def kept(self) -> int:
        return int(self.directions.shape[1])

    def reduced(self, rows: F32) -> F32:
        found = rows @ self.directions
        if self.metric == "cosine":
            found /= np.maximum(np.sqrt(np.vecdot(found, found)), np.float32(_SHORTEST))[:, np.newaxis]
        return found

    def reduced_row(self, vector: ArrayLike) -> F32 | None:
        """Return a float32 vector (d,) or (1, d) reduced to (1, k), quickly; None for what `reduced` has to do."""
        if self.metric != "cosine" or not isinstance(vector, np.ndarray) or vector.dtype != np.float32:
            return None
        dim = len(self.directions)
        if vector.shape not in ((dim,), (1, dim)):
            return None
        row = vector.reshape(dim)
        squared = float(np.vdot(row, row))  # NaN and infinity remain; dot would warn of them
        if not _SQUARES[0] < squared < _SQUARES[1]:
            return None
        found: F32 = row.dot(self.directions)
        found /= max(math.sqrt(found.dot(found)), _SHORTEST * math.sqrt(squared))
        return found[np.newaxis]

    def restored(self, rows: F32) -> F32:
        """Return the vectors (m, d) that reduced ones (m, k) stand for. Reducing them gives the same again."""
        found: F32 = rows @ self.directions.T
        return found

    def same_as(self, other: "Basis | None") -> bool:
        return other is not None and np.array_equal(self.directions, other.directions)


def reduced_vectors(source: VectorSource, basis: Basis) -> VectorSource:
    """Return a source with its rows, which have been checked, reduced."""
    return ChangedVectors(source, lambda rows, *_: basis.reduced(rows), basis.kept)


def as_compared(source: VectorSource, metric: str, basis: Basis | None, side: ComparedSide) -> VectorSource:
    """Return a source with its rows as they are compared: under the metric, and reduced if there is a basis."""
    checked = under_metric(source, metric, side)
    if basis is None or source.shape[1] == basis.kept:
        return checked
    check_dim(source.shape[1], basis.dim, source.name, "targets")
    return reduced_vectors(checked, basis)


def check_dims(dims: int | str | None, dim: int) -> None:
    """Raise `InputError` unless some dimensions can be left out."""
    if dims is None or dims == AUTO_DIMS:
        return
    if type(dims) is not int or not 1 <= dims < dim:
        raise InputError("dims", f'a whole number from 1 to {dim - 1}, below the {dim} of the targets, or "auto"', dims)


AUTO_DIMS = "auto"


def fit_directions(bank: VectorSource, others: VectorSource, metric: str) -> F32:
    """Return orthonormal directions (d, d), those with the largest second moments of both sides first.

    They are the eigenvectors of E[bb'] + E[vv'], not centred: so that products of the two sides change least.

    `bank`: (b, d) query bank. `others`: (g, d) target bank, or targets.
    """
    total = np.zeros((bank.shape[1], bank.shape[1]))
    for side in (bank, others):
        rows = in_memory(under_metric(sample(side, _SAMPLE), metric, OF_TARGETS))
        total += (rows.T @ rows).astype(np.float64) / len(rows)
    return np.ascontiguousarray(np.linalg.eigh(total)[1][:, ::-1], np.float32)
