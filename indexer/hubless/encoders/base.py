"""The contract of an encoder, and what encoders share: descriptions, and the check of foreign vectors."""

import json
import threading
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hubless.errors import EncoderFailed, InputError, NoEncoder, storage_errors
from hubless.kernels.forks import in_each_process
from hubless.vectors.arrays import F32
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.pictures import PictureSource

ENCODER_FILE = "encoder.json"
_LONGEST_NAME = 100
"""Characters of an unknown field that an error shows."""


class Encoder(Protocol):
    """Turns texts into query vectors. Several threads may use it at once."""

    @property
    def dim(self) -> int:
        """Dimensions of its vectors."""

    @property
    def quick(self) -> bool:
        """Return True if it encodes a short text in less time than handing the text to another thread takes."""

    @property
    def left_alone(self) -> bool | None:
        """Return True if it is not asked at present because it failed repeatedly; None if it is always asked."""

    def check(self) -> None:
        """Raise `InputError` if it cannot encode texts on this machine, and name the field of its description."""

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        """Return (m, d) vectors of texts, none of them zero. `seconds` limits the time of a remote encoder."""

    def save(self, folder: Path) -> None:
        """Write the encoder into an existing folder."""


@runtime_checkable
class PictureEncoder(Encoder, Protocol):
    """An encoder that may take pictures too. Texts and pictures share its space."""

    @property
    def takes_pictures(self) -> bool:
        """Return True if this one does. Looks at its description and names of files only."""

    def check_pictures(self) -> None:
        """Raise `NoEncoder` if it takes no pictures, and `InputError` if it cannot encode them on this machine."""

    def picture_input(self, picture: PictureSource, parameter: str = "picture") -> Any:
        """Return what `encode_pictures` takes of a picture. Several threads may do so at once.

        Raises `InputError` for what `read_picture` refuses, and `NoEncoder` if it takes no pictures.
        """

    def encode_pictures(self, inputs: Sequence[Any], seconds: float | None = None) -> F32:
        """Return (m, d) vectors of what `picture_input` returned. `seconds` limits the time of a remote encoder."""


def for_pictures(encoder: Encoder | None, parameter: str = "picture") -> PictureEncoder:
    """Return an encoder that may take pictures. Raises `NoEncoder` for any other."""
    if isinstance(encoder, PictureEncoder):
        return encoder
    received = "one without an encoder" if encoder is None else "one whose encoder takes texts only"
    raise NoEncoder(parameter, "a collection whose encoder takes pictures", received)


def checked(vectors: Any, count: int, dim: int) -> F32:
    """Check the answer of a foreign encoder, or raise `EncoderFailed`, and return it as (m, d) float32."""
    try:
        with np.errstate(over="ignore"):  # overflow becomes infinity, which is refused below
            array = np.ascontiguousarray(vectors, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise EncoderFailed("it answered with something else than vectors of one dimension") from error
    if array.ndim != 2 or len(array) != count:
        raise EncoderFailed(f"it answered with an array of shape {array.shape} to {count}")
    if array.shape[1] != dim:
        raise EncoderFailed(f"it answered with {array.shape[1]} dimensions, the collection has {dim}")
    if not np.isfinite(array).all():
        raise EncoderFailed("it answered with a number that is not finite as float32")
    if not array.any(axis=1).all():
        raise EncoderFailed("it answered with a vector of length zero")
    return array


def check_texts(texts: Sequence[str]) -> None:
    """Raise `InputError` unless all are texts."""
    if isinstance(texts, str) or not hasattr(texts, "__len__"):
        raise InputError("texts", "a sequence of texts", "one text" if isinstance(texts, str) else brief(texts))
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(named(number, texts), "a text", brief(text))


def named(number: int, texts: Sequence[str]) -> str:
    """Return what an error calls a text."""
    return "text" if len(texts) == 1 else f"text {number}"


class EncoderDescription(BaseModel):
    """The description of an encoder in a bundle or a setting. It holds no secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    type: str
    dim: int = Field(ge=1)
    """Dimensions of the vectors; those of the targets if not given."""


class DescribedEncoder(Encoder):
    """An encoder that is stored as its description alone, and makes what it needs when it is asked."""

    described: ClassVar[type[EncoderDescription]]
    quick: bool = False
    left_alone: bool | None = None

    def __init__(self, description: Any) -> None:
        self.description = description
        in_each_process(self)

    def renew(self) -> None:
        """Make what no other process can use. An encoder that adds something calls this first."""
        self._lock = threading.Lock()

    @property
    def dim(self) -> int:
        return int(self.description.dim)

    def save(self, folder: Path) -> None:
        """Write `encoder.json`, without the fields that are not set, into an existing folder."""
        fields = {name: value for name, value in self.description.model_dump().items() if value is not None}
        with storage_errors(Path(folder)):
            (Path(folder) / ENCODER_FILE).write_text(json.dumps(fields, ensure_ascii=False), "utf-8")

    @classmethod
    def load(cls, folder: Path, description: Mapping[str, Any]) -> Self:
        """Make it from its description. The error never shows a text: that may be a key in the wrong place."""
        try:
            return cls(cls.described.model_validate(description))
        except ValidationError as error:
            first = error.errors()[0]
        field = str(first["loc"][0])[:_LONGEST_NAME]
        wrong = first["type"]
        came = first["input"]
        if wrong == "extra_forbidden":
            nearest = get_close_matches(field, cls.described.model_fields, 1)
            meant = f"; did you mean {nearest[0]}?" if nearest else ""
            known = f"one of {', '.join(cls.described.model_fields)}"
            raise InputError(f"encoder, {field}", known, f"an unknown field{meant}")
        expected = first["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
        shown = came if isinstance(came, bool | int | float) else type(came).__name__
        if wrong == "missing":
            expected = "a value"
            shown = "nothing"
        raise InputError(f"encoder, {field}", expected, shown)


class Unusable:
    """Stands in for an encoder that cannot be made, so that the collection still answers vectors."""

    quick = True
    left_alone = None

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def check(self) -> None:
        """Do nothing: the log already says what is wrong."""

    def encode(self, texts: Sequence[str], seconds: float | None = None) -> F32:
        raise EncoderFailed("its description is wrong, the log of the server says how")

    def save(self, folder: Path) -> None:
        raise EncoderFailed("it cannot be stored")
