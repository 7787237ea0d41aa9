"""What encoders with a model in a folder share: the description, loading and batches. Nothing is downloaded."""

import importlib.util
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from hubless.encoders.base import brief, checked
from hubless.encoders.descriptions import parse_description, write_description
from hubless.errors import EncoderFailed, InputError, UnknownWords, how_to_install, one_line
from hubless.vectors.arrays import F32

log = logging.getLogger("hubless.encoders")


class FolderDescription(BaseModel):
    """The folder, and the text before each text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str
    path: str = Field(description="The folder of the model, relative to the description.")
    dim: int = Field(ge=1, description="Dimensions of the vectors; those of the targets if not given.")
    prompt: str | None = Field(default=None, description="Written before each text; the model's own if not given.")


class LoadedModel(Protocol):
    """A model in memory. Several threads may use it at once."""

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""

    @property
    def prompt(self) -> str:
        """What it wants before each text."""

    @property
    def batch(self) -> int:
        """Most texts that it takes at once."""

    def vectors(self, texts: Sequence[str]) -> F32:
        """Return (m, d) vectors of at most `batch` texts; zeros for a text of which it knows nothing."""


class FolderModel(ABC):
    """Loads the model with `check`, or with the first text: a collection must answer vectors even without the model."""

    described: ClassVar[type[FolderDescription]]
    packages: ClassVar[tuple[str, ...]]
    quick_when_loaded: ClassVar[bool]

    def __init__(self, description: FolderDescription) -> None:
        self.description = description
        self._lock = threading.Lock()
        self._loaded: LoadedModel | None = None

    left_alone = None

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""
        return self.description.dim

    @property
    def quick(self) -> bool:
        """Whether a short text takes less than handing it to a thread. Loading takes longer."""
        return self.quick_when_loaded and self._loaded is not None

    def check(self) -> None:
        """Load the model.

        Raises
        ------
        InputError
            if a package, the folder or a file is missing or damaged, or the model has other dimensions.
        """
        kind = self.description.type
        if missing := [name for name in self.packages if importlib.util.find_spec(name) is None]:
            expected = f"the packages {' and '.join(self.packages)}: {how_to_install(kind)}"
            raise InputError("encoder, type", expected, f"{kind!r} without {' and '.join(missing)}")
        found = self._model().dim
        if found != self.dim:
            path = self.description.path
            raise InputError("encoder, path", f"a model of {self.dim} dimensions", f"{path}, which has {found}")

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Return (m, d) vectors of texts.

        Raises
        ------
        UnknownWords
            if the model knows nothing of a text; names the first such text.
        EncoderFailed
            if the model cannot be loaded, fails, or has another number of dimensions.
        """
        _check_texts(texts)
        if not texts:
            return np.empty((0, self.dim), np.float32)
        try:
            vectors = _in_batches(self._model(), texts)
        except Exception as error:
            log.exception("encoder %s failed", self.description.path)
            # no more than that: a client may read it
            why = "the log of the server says why" if isinstance(error, InputError) else type(error).__name__
            raise EncoderFailed(f"model {Path(self.description.path).name}: {why}") from error
        if (unknown := np.flatnonzero(~vectors.any(axis=1))).size:
            number = int(unknown[0])
            raise UnknownWords(_name(number, texts), "at least one word that the model knows", brief(texts[number]))
        return checked(vectors, len(texts), self.dim)

    def save(self, folder: Path) -> None:
        """Write `encoder.json` into an existing folder. The model stays where it is."""
        write_description(folder, self.description)

    @classmethod
    def load(cls, folder: Path, description: Mapping[str, Any]) -> Self:
        """Make it from its description. `InputError` names a wrong field."""
        found = parse_description(cls.described, description)
        # a version keeps the whole path: its own folder is elsewhere
        return cls(found.model_copy(update={"path": str((Path(folder) / found.path).absolute())}))

    @abstractmethod
    def _read(self) -> LoadedModel:
        """Load the model. `InputError` names a file that is missing or damaged."""

    def _model(self) -> LoadedModel:
        with self._lock:
            if self._loaded is None:
                self._loaded = self._read_soundly()
            return self._loaded

    def _read_soundly(self) -> LoadedModel:
        try:
            return self._read()
        except InputError:
            raise
        except Exception as error:  # a package that cannot be imported, a configuration of other types, no memory
            received = f"{self.description.path}: {type(error).__name__}: {one_line(error)}"
            raise InputError("encoder, path", "a model that can be loaded", received) from error


def unit_rows(vectors: F32) -> F32:
    """Return rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)))


def _check_texts(texts: Sequence[str]) -> None:
    if isinstance(texts, str):
        raise InputError("texts", "a sequence of texts", "one text")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(_name(number, texts), "a text", brief(text))


def _name(number: int, texts: Sequence[str]) -> str:
    return "text" if len(texts) == 1 else f"text {number}"


def _in_batches(model: LoadedModel, texts: Sequence[str]) -> F32:
    """Return the vectors of texts. Texts of similar length share a batch, so that little is padded."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    vectors = np.empty((len(texts), model.dim), np.float32)
    for start in range(0, len(order), model.batch):
        rows = order[start : start + model.batch]
        vectors[rows] = model.vectors([model.prompt + texts[row] for row in rows])
    return vectors
