"""Folding offsets into vectors: a target becomes [t, −h], a query [q, λ], and their inner product is q·t − λh.

The d+1 coordinates are padded with zeros to a multiple of 16: scans over odd dimensions are several times slower.
"""

import numpy as np

from hubless.arrays import F32, F64
from hubless.errors import NotFinite

MULTIPLE = 16


def augmented_dim(dim: int) -> int:
    """Dimensions of an augmented vector: d+1, padded to a multiple of 16."""
    return -(-(dim + 1) // MULTIPLE) * MULTIPLE


def centre(offsets: F32) -> F32:
    """Offsets (n,) less their mean, which changes no ranking, but graph indexes collapse on a large mean offset.

    Raises
    ------
    NotFinite
        naming the first target whose offset is not finite, as inner products of very long vectors are.
    """
    if not (finite := np.isfinite(offsets)).all():
        row = int(np.argmin(finite))
        raise NotFinite(f"offset of target {row}", "a finite number, so vectors short enough", offsets[row])
    exact: F64 = offsets.astype(np.float64)
    exact -= exact.mean()
    return exact.astype(np.float32)


def augment_targets(targets: F32, offsets: F32) -> F32:
    """[t, −h, 0 …]: targets (n, d) and offsets (n,) to (n, augmented_dim(d))."""
    return _augment(targets, -offsets)


def augment_queries(queries: F32, strength: float) -> F32:
    """[q, λ, 0 …]: queries (m, d) to (m, augmented_dim(d)); λ = 0 gives the raw ranking."""
    return _augment(queries, np.float32(strength))


def _augment(rows: F32, last: F32 | np.float32) -> F32:
    count, dim = rows.shape
    augmented = np.zeros((count, augmented_dim(dim)), np.float32)
    augmented[:, :dim] = rows
    augmented[:, dim] = last
    return augmented
