"""The contract of an encoder, and the check of vectors that foreign encoders return."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hubless.errors import EncoderFailed
from hubless.vectors.arrays import F32


class Encoder(Protocol):
    """Turns texts into query vectors. Several threads may use it at once."""

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""

    @property
    def quick(self) -> bool:
        """Whether it encodes a short text in less time than handing the text to another thread takes."""

    @property
    def left_alone(self) -> bool | None:
        """Whether it is not asked at present because it failed repeatedly; None if it is always asked."""

    def check(self) -> None:
        """Raise `InputError` if it cannot encode texts on this machine, and name the field of its description."""

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Return (m, d) vectors of texts, none of them zero. `seconds` limits the time of a remote encoder."""

    def save(self, folder: Path) -> None:
        """Write the encoder into an existing folder."""


def checked(vectors: Any, count: int, dim: int) -> F32:
    """Check the answer of a foreign encoder, and return it as (m, d) float32.

    Raises
    ------
    EncoderFailed
        if it is not a finite matrix of numbers of that shape, or a row is zero.
    """
    try:
        with np.errstate(over="ignore"):  # overflow becomes infinity, which is refused below
            array = np.ascontiguousarray(vectors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise EncoderFailed("it answered with something else than vectors of one dimension") from error
    if array.ndim != 2 or len(array) != count:
        raise EncoderFailed(f"it answered with an array of shape {array.shape} to {count} texts")
    if array.shape[1] != dim:
        raise EncoderFailed(f"it answered with {array.shape[1]} dimensions, the collection has {dim}")
    if not np.isfinite(array).all():
        raise EncoderFailed("it answered with a number that is not finite as float32")
    if not array.any(axis=1).all():
        raise EncoderFailed("it answered with a vector of length zero")
    return array


def brief(value: object) -> str:
    """Return a value as a short text for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
