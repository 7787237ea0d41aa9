"""A stand-in for an encoder whose package is not installed: the collection still answers vectors."""

from collections.abc import Sequence

from pydantic import ConfigDict

from hubless.encoders.base import DescribedEncoder, EncoderDescription
from hubless.errors import EncoderFailed, InputError, not_installed
from hubless.vectors.arrays import F32


class AnyDescription(EncoderDescription):
    """A description whose other fields only the missing package knows."""

    model_config = ConfigDict(extra="allow")


class Absent(DescribedEncoder):
    """Keeps the description as it is, and says what to install."""

    described = AnyDescription

    def check(self) -> None:
        received = f"{self.description.type!r}: {not_installed('it', RING)}"
        raise InputError("encoder, type", "one that is installed", received)

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        raise EncoderFailed(str(not_installed(f"{self.description.type!r}", RING)))
