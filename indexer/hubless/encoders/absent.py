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
        raise InputError("encoder, type", "one that is installed", self._lacking())

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        raise EncoderFailed(self._lacking())

    def _lacking(self) -> str:  # the extra of a type has its name, and brings what it runs in too
        kind = self.description.type
        return str(not_installed(repr(kind), kind, needs="hubless-encoders"))
