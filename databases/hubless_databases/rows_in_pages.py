"""Rows of databases in pages, and content in pieces: for all that several databases do alike."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.vectors.arrays import F32, F64
from hubless_databases.base import PAGE, RowId, unpacked

_ROUNDED, _TINY = 1e-3, 1e-300
"""What half precision takes from a vector, as a share of its length."""


def in_pages(rows: Sequence[RowId]) -> Iterator[Sequence[RowId]]:
    """Yield the ids in pages."""
    for start in range(0, len(rows), PAGE):
        yield rows[start : start + PAGE]


def as_matrix(rows: Sequence[Any], what: str) -> F32:
    """Return vectors of a page (r, d). Raises `InputError` if they have different lengths."""
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise InputError(what, "vectors of one length", " and ".join(map(str, sorted(lengths)[:3])))
    return np.array(rows, np.float32).reshape(len(rows), max(lengths, default=0))


def belong(vectors: F32, augmented: F32, metric: str) -> NDArray[np.bool_]:
    """Return for each row whether its corrected vector (r, d + 1) was made of this vector (r, d)."""
    if vectors.shape[1] + 1 != augmented.shape[1]:
        return np.zeros(len(vectors), np.bool_)
    wide = vectors.astype(np.float64)
    written = augmented[:, :-1].astype(np.float64)
    if metric == "cosine":
        wide /= np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), _TINY)
    gaps: F64 = np.linalg.norm(wide - written, axis=1)
    same: NDArray[np.bool_] = gaps <= _ROUNDED * np.linalg.norm(written, axis=1)
    return same


def metric_of(fit: bytes) -> str:
    """Return the metric of a packed fit."""
    return str(unpacked(fit)[1]["asking"]["metric"])


def pieces(content: bytes, size: int) -> list[str]:
    """Return content as texts of at most `size` characters, for databases that hold no bytes."""
    text = b64encode(content).decode()
    return [text[start : start + size] for start in range(0, len(text), size)]


def from_pieces(texts: Sequence[str]) -> bytes | None:
    """Return the content of `pieces`, and None of none."""
    return b64decode("".join(texts)) if texts else None
