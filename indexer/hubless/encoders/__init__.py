"""Encoders turn texts into query vectors. A bundle stores one as JSON and plain arrays, without pickle and secrets."""

import json
import tomllib
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hubless.encoders.absent import Absent
from hubless.encoders.bag_of_words import WORDS_FILE as WORDS_FILE, BagOfWords as BagOfWords, tokenise as tokenise
from hubless.encoders.base import (
    ENCODER_FILE as ENCODER_FILE,
    DescribedEncoder as DescribedEncoder,
    Encoder as Encoder,
    PictureEncoder as PictureEncoder,
    Unusable as Unusable,
    for_pictures as for_pictures,
)
from hubless.encoders.endpoint import Endpoint as Endpoint
from hubless.encoders.folder_model import FolderModel as FolderModel
from hubless.encoders.static_model import StaticModel as StaticModel
from hubless.errors import InputError, one_line
from hubless.vectors.object_rows import brief

ENCODERS: dict[str, type[BagOfWords] | type[DescribedEncoder]] = {
    "bag-of-words": BagOfWords,
    "openai": Endpoint,
    "static": StaticModel,
}
BESIDE = ("sentence-transformers", "onnx")
"""Types that `hubless-encoders` brings. It and other packages do so by entry points of `hubless.encoders`."""


def load_encoder(path: Path, dim: int | None = None, changes: Mapping[str, Any] | None = None) -> Encoder:
    """Read an encoder: a folder in which `save` wrote one, or a description of one in .json or .toml.

    `dim` is for a description without it. `changes` replace fields; another `type` replaces the whole description.
    Raises `InputError` naming what is wrong. Without the package of a type, only `check` and `encode` fail.
    """
    path = Path(path)
    folder, file = (path, path / ENCODER_FILE) if path.is_dir() or not path.suffix else (path.parent, path)
    changes = changes or {}
    description: Any = {}
    if changes.get("type") is None or file.exists():
        description = _read(file)
    if not isinstance(description, dict) or changes.get("type") not in (None, description.get("type")):
        description = {}
    description = {**({} if dim is None else {"dim": dim}), **description, **changes}
    loaded: Encoder = _type_of(description.get("type"), f"encoder, {file}, type").load(folder, description)
    return loaded


def _type_of(name: Any, parameter: str) -> Any:
    if isinstance(name, str):
        if name in ENCODERS:
            return ENCODERS[name]
        for entry in entry_points(group="hubless.encoders", name=name):
            return entry.load()
        if name in BESIDE:
            return Absent
    raise InputError(parameter, f"one of {', '.join([*ENCODERS, *BESIDE])}", brief(name))


def _read(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except FileNotFoundError:
        expected = f"a folder with {ENCODER_FILE}, or a description in .json or .toml"
        raise InputError("encoder", expected, f"{file}, which does not exist") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"encoder, {file}", "the JSON description of an encoder", one_line(error)) from error
