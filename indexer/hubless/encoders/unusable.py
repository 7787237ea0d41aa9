"""Stands in for an encoder that cannot be made, so that the collection still answers vectors."""

from collections.abc import Sequence
from pathlib import Path

from hubless.errors import EncoderFailed
from hubless.vectors.arrays import F32


class Unusable:
    """Refuses every text.

    Parameters
    ----------
    dim : dimensions of the collection
    """

    quick = True
    left_alone = None

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def check(self) -> None:
        """Do nothing: the log already says what is wrong."""

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Raise `EncoderFailed`. Only the log says what is wrong, since that may name files of the server."""
        raise EncoderFailed("its description is wrong, the log of the server says how")

    def save(self, folder: Path) -> None:
        """Raise `EncoderFailed`: there is nothing to store."""
        raise EncoderFailed("it cannot be stored")
