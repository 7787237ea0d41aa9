"""An encoder on this machine: a model of the package sentence-transformers, by its name or from a folder."""

import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field

from hubless.encoders.base import DescribedEncoder, EncoderDescription, checked
from hubless.errors import EncoderFailed, InputError, how_to_install
from hubless.vectors.arrays import F32

PACKAGE = "sentence_transformers"
_log = logging.getLogger("hubless.encoders")


class SentenceModelDescription(EncoderDescription):
    """The model, and how it is asked."""

    type: Literal["sentence-transformers"] = "sentence-transformers"
    model: str
    """Its name, or the path of its folder, which is relative to the description."""
    prompt: str | None = None
    """Written before each text, such as `query: ` for E5."""
    device: str | None = None
    """Such as `cpu` or `cuda`; the package's choice if not given."""
    batch: int = Field(default=32, ge=1)
    """Texts that the model takes at once."""


class SentenceModel(DescribedEncoder):
    """Loads the model with the first text: a collection must answer vectors even where the package is missing."""

    described = SentenceModelDescription
    description: SentenceModelDescription
    _model: Any = None

    def check(self) -> None:
        if find_spec(PACKAGE) is None:
            expected = (
                f"the package sentence-transformers: {how_to_install('sentence-transformers', 'hubless-encoders')}"
            )
            raise InputError("encoder, type", expected, "'sentence-transformers', which is not installed")
        model = Path(self.description.model)
        if model.is_absolute() and not model.is_dir():
            raise InputError("encoder, model", "the name of a model, or its folder", f"{model}, which does not exist")

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Return vectors (m, d) of texts. The model is loaded by the first call. Raises `EncoderFailed`."""
        wanted = self.description
        with self._lock:  # one call at a time: several would take several times the memory
            try:
                if self._model is None:
                    from sentence_transformers import SentenceTransformer

                    self._model = SentenceTransformer(wanted.model, device=wanted.device)
                # models with prompts have one of their own for queries
                encode = getattr(self._model, "encode_query", self._model.encode)
                answer = encode(list(texts), prompt=wanted.prompt, batch_size=wanted.batch, show_progress_bar=False)
            except Exception as error:
                _log.exception("encoder %s failed", wanted.model)
                # no more than that: a client may read it
                missing = isinstance(error, ImportError)
                why = "sentence-transformers cannot be imported" if missing else f"it raised {type(error).__name__}"
                raise EncoderFailed(f"model {Path(wanted.model).name}: {why}") from error
        return checked(answer, len(texts), self.dim)

    @classmethod
    def load(cls, folder: Path, description: Mapping[str, Any]) -> Self:
        found = super().load(folder, description)
        beside = (Path(folder) / found.description.model).absolute()
        if beside.is_dir():
            found.description = found.description.model_copy(update={"model": str(beside)})
        return found
