"""What a collection needs of an encoder, and the check of vectors that come from elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hubless.arrays import F32
from hubless.errors import EncoderFailed

DESCRIPTION = "encoder.json"


class Encoder(Protocol):
    """Turns texts into query vectors. Safe to use from several threads."""

    @property
    def dim(self) -> int:
        """How many dimensions its vectors have."""

    @property
    def quick(self) -> bool:
        """Whether a short text takes it no longer than it takes to hand the text to another thread."""

    @property
    def left_alone(self) -> bool | None:
        """Whether it is not asked for now, as it failed again and again; None if it is asked always."""

    def check(self) -> None:
        """Raise an `InputError` that names the field of its description with which no text can be encoded here."""

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Texts as (m, d) vectors, none of them zero; within some seconds, if the encoder is not on this machine."""

    def save(self, folder: Path) -> None:
        """Write the encoder into a folder that exists."""


def checked(vectors: Any, count: int, dim: int) -> F32:
    """The answer of an encoder that is not ours, as (m, d) float32.

    Raises
    ------
    EncoderFailed
        if it is no matrix of numbers, of another shape, not finite, or a row is zero.
    """
    try:
        with np.errstate(over="ignore"):  # what overflows becomes infinite, and infinities are looked for
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
    """A value in a few words, for an error about it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
