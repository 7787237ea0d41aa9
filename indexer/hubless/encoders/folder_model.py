"""Common parts of encoders with a model in a folder: the description, loading and batches. Nothing is downloaded."""

import importlib.util
import json
import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from hubless.encoders.base import DescribedEncoder, EncoderDescription, check_texts, checked, named
from hubless.errors import EncoderFailed, InputError, NoEncoder, UnknownWords, how_to_install, one_line
from hubless.vectors.arrays import F32
from hubless.vectors.object_rows import brief

_T = TypeVar("_T")
TOKENISER_FILE = "tokenizer.json"
_log = logging.getLogger("hubless.encoders")


class FolderDescription(EncoderDescription):
    """The folder, and the text before each text."""

    path: str
    """The folder of the model, relative to the description."""
    prompt: str | None = None
    """Written before each text; the model's own if not given."""


class LoadedModel(Protocol):
    """A model in memory. Several threads may use it at once."""

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""

    @property
    def prompt(self) -> str:
        """The text that it wants before each text."""

    @property
    def batch(self) -> int:
        """Most texts that it takes at once."""

    def vectors(self, texts: Sequence[str]) -> F32:
        """Return (m, d) vectors of at most `batch` texts; zeros for a text of which it knows nothing."""


class FolderModel(DescribedEncoder):
    """Loads the model with `check`, or with the first text: a collection must answer vectors even without the model."""

    description: FolderDescription
    packages: ClassVar[tuple[str, ...]]
    distribution: ClassVar[str] = "hubless"
    """The package of ours whose extra, named like the type, brings them."""
    quick_when_loaded: ClassVar[bool]

    _loaded: LoadedModel | None = None

    @property
    def quick(self) -> bool:  # type: ignore[override]
        """Return True if a short text takes less than handing it to a thread. Loading takes longer."""
        return self.quick_when_loaded and self._loaded is not None

    def check_packages(self) -> None:
        """Raise `InputError` that says what to install, if anything is missing."""
        kind = self.description.type
        if missing := [name for name in self.packages if importlib.util.find_spec(name) is None]:
            expected = f"the packages {' and '.join(self.packages)}: {how_to_install(kind, self.distribution)}"
            raise InputError("encoder, type", expected, f"{kind!r} without {' and '.join(missing)}")

    def check(self) -> None:
        self.check_packages()
        found = self._model().dim
        if found != self.dim:
            path = self.description.path
            raise InputError("encoder, path", f"a model of {self.dim} dimensions", f"{path}, which has {found}")

    def own_dim(self, *, pictures: bool = False) -> int:
        """Return the dimensions of the model itself: of its half for pictures, if asked."""
        self.check_packages()
        return self._model().dim

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        check_texts(texts)
        if not texts:
            return np.empty((0, self.dim), np.float32)
        vectors = self.guarded(lambda: _in_batches(self._model(), texts))
        if (unknown := np.flatnonzero(~vectors.any(axis=1))).size:
            number = int(unknown[0])
            raise UnknownWords(named(number, texts), "at least one word that the model knows", brief(texts[number]))
        return checked(vectors, len(texts), self.dim)

    @classmethod
    def load(cls, folder: Path, description: Mapping[str, Any]) -> Self:
        found = super().load(folder, description)
        path = str((Path(folder) / found.description.path).absolute())
        found.description = found.description.model_copy(update={"path": path})
        return found

    @abstractmethod
    def _read(self) -> LoadedModel:
        """Load the model. `InputError` names a file that is missing or damaged."""

    def guarded(self, work: Callable[[], _T]) -> _T:
        """Return what work returns. A failure of the model goes into the log; `EncoderFailed` says no more of it."""
        try:
            return work()
        except NoEncoder:
            raise
        except Exception as error:
            _log.exception("encoder %s failed", self.description.path)
            # no more than that: a client may read it
            why = "the log of the server says why" if isinstance(error, InputError) else type(error).__name__
            raise EncoderFailed(f"model {Path(self.description.path).name}: {why}") from error

    def _model(self) -> LoadedModel:
        with self._lock:
            if self._loaded is None:
                self._loaded = self.read_soundly(self._read)
            return self._loaded

    def read_soundly(self, read: Callable[[], _T]) -> _T:
        """Return what is read of the model. Whatever goes wrong becomes an `InputError` that names its folder."""
        try:
            return read()
        except InputError:
            raise
        except Exception as error:  # a package that cannot be imported, a configuration of other types, no memory
            received = f"{self.description.path}: {type(error).__name__}: {one_line(error)}"
            raise InputError("encoder, path", "a model that can be loaded", received) from error


def rows_of_length_one(vectors: F32) -> F32:
    """Return rows of length 1; rows of zeros stay."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-12)))


def _in_batches(model: LoadedModel, texts: Sequence[str]) -> F32:
    """Return the vectors of texts. Texts of similar length share a batch, so that little is padded."""
    order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    vectors = np.empty((len(texts), model.dim), np.float32)
    for start in range(0, len(order), model.batch):
        rows = order[start : start + model.batch]
        vectors[rows] = model.vectors([model.prompt + texts[row] for row in rows])
    return vectors


def wrong_file(expected: str, received: object) -> InputError:
    """Return the error for a file of the model."""
    return InputError("encoder, path", expected, received)


def read_tokeniser(folder: Path) -> Any:
    """Return the tokeniser of a folder, without padding. It needs the package tokenizers."""
    from tokenizers import Tokenizer

    file = existing(folder / TOKENISER_FILE)
    try:
        tokeniser = Tokenizer.from_file(str(file))
    except Exception as error:  # the package raises nothing narrower
        raise wrong_file("a tokeniser as the package tokenizers stores it", f"{file}: {one_line(error)}") from error
    tokeniser.no_padding()
    return tokeniser


def existing(file: Path) -> Path:
    """Return the file, or raise `InputError` if it does not exist."""
    if not file.is_file():
        raise wrong_file(f"a folder with {file.name}", f"{file}, which does not exist")
    return file


def read_json(file: Path) -> Any:
    """Return the content of a JSON file of the model, {} if it does not exist."""
    if not file.exists():
        return {}
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise wrong_file("a JSON file", f"{file}: {one_line(error)}") from error


def read_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file of the model, {} if the file does not exist."""
    found = read_json(file)
    if not isinstance(found, dict):
        raise wrong_file("a JSON file with an object", f"{file}, which holds something else")
    return found


def module_names(folder: Path) -> list[str]:
    """Return the steps of a model of sentence-transformers, such as Pooling, in order; [] without `modules.json`."""
    file = folder / "modules.json"
    found = read_json(file) or []
    if not isinstance(found, list) or not all(isinstance(step, dict) for step in found):
        raise wrong_file("a list of modules", f"{file}, which holds something else")
    return [str(step.get("type")).rpartition(".")[2] for step in found]


def check_modules(folder: Path, names: Sequence[str], known: Sequence[str]) -> None:
    """Raise `InputError` for a step that would be left out: the vectors would be others than the model's."""
    for name in names:
        if name not in known:
            wanted = f"a model of the modules {', '.join(known)}"
            raise wrong_file(wanted, f"{folder}, whose modules.json has {name}: use sentence-transformers")


def own_prompt(folder: Path) -> str:
    """Return the text that the model wants before queries, as sentence-transformers finds it."""
    config = read_object(folder / "config_sentence_transformers.json")
    prompts = config.get("prompts") or {}
    return str(prompts.get("query") or prompts.get(config.get("default_prompt_name")) or "")
