"""An encoder on this machine: a model of the package sentence-transformers, by its name or from a folder."""

import importlib.util
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from hubless.encoders.base import checked
from hubless.encoders.descriptions import parse_description, write_description
from hubless.errors import EncoderFailed, InputError, how_to_install
from hubless.vectors.arrays import F32

PACKAGE = "sentence_transformers"
log = logging.getLogger("hubless.encoders")


class SentenceModelDescription(BaseModel):
    """The model, and how it is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["sentence-transformers"] = "sentence-transformers"
    model: str = Field(description="Its name, or the path of its folder, which is relative to the description.")
    dim: int = Field(ge=1, description="Dimensions of the vectors; those of the targets if not given.")
    prompt: str | None = Field(default=None, description="Written before each text, such as `query: ` for E5.")
    device: str | None = Field(default=None, description="Such as `cpu` or `cuda`; the package's choice if not given.")
    batch: int = Field(default=32, ge=1, description="Texts that the model takes at once.")


class SentenceModel:
    """Loads the model with the first text: a collection must answer vectors even where the package is missing."""

    def __init__(self, description: SentenceModelDescription) -> None:
        self.description = description
        self._lock = threading.Lock()
        self._model: Any = None

    quick = False
    left_alone = None

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""
        return self.description.dim

    def check(self) -> None:
        """Raise `InputError` if the package, or the folder of the model, is missing. Does not load the model."""
        if importlib.util.find_spec(PACKAGE) is None:
            expected = f"the package sentence-transformers: {how_to_install('sentence-transformers')}"
            raise InputError("encoder, type", expected, "'sentence-transformers', which is not installed")
        model = Path(self.description.model)
        if model.is_absolute() and not model.is_dir():
            raise InputError("encoder, model", "the name of a model, or its folder", f"{model}, which does not exist")

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Return (m, d) vectors of texts.

        Raises
        ------
        EncoderFailed
            if the package or the model is missing, or the model fails or has another number of dimensions.
        """
        wanted = self.description
        with self._lock:  # one call at a time: several would take several times the memory
            try:
                if self._model is None:
                    self._model = _load(wanted)
                # models with prompts have one of their own for queries
                encode = getattr(self._model, "encode_query", self._model.encode)
                answer = encode(list(texts), prompt=wanted.prompt, batch_size=wanted.batch, show_progress_bar=False)
            except Exception as error:
                log.exception("encoder %s failed", wanted.model)
                # no more than that: a client may read it
                missing = isinstance(error, ImportError)
                why = "sentence-transformers cannot be imported" if missing else f"it raised {type(error).__name__}"
                raise EncoderFailed(f"model {Path(wanted.model).name}: {why}") from error
        return checked(answer, len(texts), self.dim)

    def save(self, folder: Path) -> None:
        """Write `encoder.json` into an existing folder."""
        write_description(folder, self.description)

    @classmethod
    def load(cls, folder: Path, description: Mapping[str, Any]) -> Self:
        """Make it from its description. `InputError` names a wrong field."""
        found = parse_description(SentenceModelDescription, description)
        beside = (Path(folder) / found.model).absolute()
        # a version keeps the whole path: its own folder is elsewhere
        return cls(found.model_copy(update={"model": str(beside)}) if beside.is_dir() else found)


def _load(wanted: SentenceModelDescription) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(wanted.model, device=wanted.device)
