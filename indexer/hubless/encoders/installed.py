"""An encoder from another installed package: an entry point of the group `hubless.encoders`."""

import logging
from collections.abc import Sequence
from importlib.metadata import EntryPoints, entry_points
from typing import Any, Literal

from pydantic import Field

from hubless.encoders.base import DescribedEncoder, EncoderDescription, checked
from hubless.errors import EncoderFailed, HublessError, InputError
from hubless.vectors.arrays import F32

GROUP = "hubless.encoders"
log = logging.getLogger("hubless.encoders")


class InstalledDescription(EncoderDescription):
    """The entry point and its arguments."""

    type: Literal["installed"] = "installed"
    name: str = Field(description="Of the entry point.")
    options: dict[str, Any] = Field(default={}, description="Given to the entry point by name.")


class Installed(DescribedEncoder):
    """Calls the entry point with the options; it returns an object with `encode(texts)` → (m, d).

    The first text loads it: a collection must answer vectors even if the package is not installed.
    """

    described = InstalledDescription
    description: InstalledDescription
    _made: Any = None

    def check(self) -> None:
        """Raise `InputError` if the entry point is not installed. Does not load it, as that may take long."""
        if not self._found():
            known = ", ".join(sorted(entry_points(group=GROUP).names)) or "none"
            expected = f"an encoder of an installed package ({known}): install the one with this entry point of {GROUP}"
            raise InputError("encoder, name", expected, f"{self.description.name!r}, which is not installed")

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Return (m, d) vectors of texts.

        Raises errors of hubless that the encoder raises itself, and `EncoderFailed` if it fails or answers wrongly.
        """
        try:
            answer = self._encoder().encode(list(texts))
        except HublessError:
            raise
        except Exception as error:
            log.exception("encoder %s failed", self.description.name)
            raise EncoderFailed(f"{self.description.name} raised {type(error).__name__}") from error
        return checked(answer, len(texts), self.dim)

    def _found(self) -> EntryPoints:
        return entry_points(group=GROUP, name=self.description.name)

    def _encoder(self) -> Any:
        with self._lock:
            if self._made is None:
                if not (found := self._found()):
                    raise EncoderFailed(f"no package with an encoder {self.description.name!r} is installed")
                self._made = next(iter(found)).load()(**self.description.options)
            return self._made
