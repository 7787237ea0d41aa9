"""Encoders turn texts into query vectors, so that a collection takes questions in words. `ENCODERS` names every kind.

An encoder is stored beside the index as JSON and plain arrays, without pickle and without secrets.
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hubless.encoders.bag_of_words import ROWS, BagOfWords, tokenise
from hubless.encoders.base import DESCRIPTION, Encoder, brief
from hubless.encoders.endpoint import Endpoint
from hubless.encoders.installed import Installed
from hubless.encoders.unusable import Unusable
from hubless.errors import InputError
from hubless.records import one_line

__all__ = [
    "DESCRIPTION",
    "ENCODERS",
    "ROWS",
    "BagOfWords",
    "Encoder",
    "Endpoint",
    "Installed",
    "Unusable",
    "load_encoder",
    "tokenise",
]

ENCODERS: dict[str, type[BagOfWords] | type[Endpoint] | type[Installed]] = {
    "bag-of-words": BagOfWords,
    "openai": Endpoint,
    "installed": Installed,
}


def load_encoder(path: Path, dim: int | None = None, changes: Mapping[str, Any] | None = None) -> Encoder:
    """Read an encoder.

    Parameters
    ----------
    path : a folder in which `save` wrote one, or a description of one: .json or .toml
    dim : of the collection, for a description that does not say it
    changes : fields of the description to replace; one of another type replaces it altogether

    Raises
    ------
    InputError
        naming the file that is missing, damaged, or does not fit the other one, or the field that is wrong.
    """
    path = Path(path)
    folder, file = (path, path / DESCRIPTION) if path.is_dir() or not path.suffix else (path.parent, path)
    changes = changes or {}
    description: Any = {}
    if changes.get("type") is None or file.exists():
        description = _read(file)
    if not isinstance(description, dict) or changes.get("type") not in (None, description.get("type")):
        description = {}
    description = {**({} if dim is None else {"dim": dim}), **description, **changes}
    kind = description.get("type")
    if not isinstance(kind, str) or kind not in ENCODERS:
        raise InputError(f"encoder, {file}, type", f"one of {', '.join(ENCODERS)}", brief(kind))
    return ENCODERS[kind].load(folder, description)


def _read(file: Path) -> Any:
    try:
        text = file.read_text(encoding="utf-8")
        return tomllib.loads(text) if file.suffix == ".toml" else json.loads(text)
    except FileNotFoundError:
        expected = f"a folder with {DESCRIPTION}, or a description in .json or .toml"
        raise InputError("encoder", expected, f"{file}, which does not exist") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"encoder, {file}", "the JSON description of an encoder", one_line(error)) from error
