"""An encoder that another installed package brings, as an entry point of the group `hubless.encoders`."""

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hubless.arrays import F32
from hubless.encoders.base import DESCRIPTION, checked
from hubless.errors import EncoderFailed, HublessError, InputError
from hubless.storage import storage_errors

GROUP = "hubless.encoders"
log = logging.getLogger("hubless.encoders")


class Description(BaseModel):
    """Which entry point, and what it is called with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = "installed"
    name: str = Field(description="Of the entry point.")
    dim: int = Field(ge=1, description="Dimensions of the vectors; those of the targets if not given.")
    options: dict[str, Any] = Field(default={}, description="Given to the entry point by name.")


class Installed:
    """The entry point is called with the options and returns an object with `encode(texts)` → (m, d).

    It is loaded when the first text comes, as a collection must answer vectors also where it is not installed.
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        self._lock = threading.Lock()
        self._made: Any = None

    quick = False
    left_alone = None

    @property
    def dim(self) -> int:
        """How many dimensions its vectors have."""
        return self.description.dim

    def check(self) -> None:
        """Raise `InputError` if the entry point is not installed; it is not loaded, as that may take long."""
        if not self._found():
            raise InputError(
                "encoder, name", f"an installed entry point of the group {GROUP}", repr(self.description.name)
            )

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Texts as (m, d) vectors.

        Raises
        ------
        HublessError
            what the encoder raises of our errors on purpose, such as an InputError.
        EncoderFailed
            if it is not installed, fails, or answers with anything but one sound vector for each text.
        """
        try:
            answer = self._encoder().encode(list(texts))
        except HublessError:
            raise
        except Exception as error:
            log.exception("encoder %s failed", self.description.name)
            raise EncoderFailed(f"{self.description.name} raised {type(error).__name__}") from error
        return checked(answer, len(texts), self.dim)

    def save(self, folder: Path) -> None:
        """Write `encoder.json` into a folder that exists."""
        with storage_errors(Path(folder)):
            text = json.dumps(self.description.model_dump(), ensure_ascii=False)
            (Path(folder) / DESCRIPTION).write_text(text, "utf-8")

    @classmethod
    def load(cls, folder: Path, description: Mapping[str, Any]) -> Self:
        """Make it from its description; `InputError` names the field that is wrong."""
        try:
            return cls(Description.model_validate(description))
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise InputError(f"encoder, {field}", first["msg"], type(first["input"]).__name__) from None

    def _found(self) -> EntryPoints:
        return entry_points(group=GROUP, name=self.description.name)

    def _encoder(self) -> Any:
        with self._lock:
            if self._made is None:
                if not (found := self._found()):
                    raise EncoderFailed(f"no package with an encoder {self.description.name!r} is installed")
                self._made = next(iter(found)).load()(**self.description.options)
            return self._made
