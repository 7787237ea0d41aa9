"""In the place of an encoder that cannot be made, so that a collection goes on answering vectors."""

from collections.abc import Sequence
from pathlib import Path

from hubless.arrays import F32
from hubless.errors import EncoderFailed


class Unusable:
    """Refuses every text.

    Parameters
    ----------
    dim : of the collection
    """

    quick = True
    left_alone = None

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def check(self) -> None:
        """Nothing more is to be found out."""

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Raise `EncoderFailed`; what is wrong stands in the log, as it may name files of the server."""
        raise EncoderFailed("its description is wrong, the log of the server says how")

    def save(self, folder: Path) -> None:
        """Raise `EncoderFailed`: it stands for something that is described elsewhere."""
        raise EncoderFailed("it cannot be stored")
