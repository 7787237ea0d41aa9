"""Reads the files of a model in a folder, as sentence-transformers stores them. Errors name the file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hubless.errors import InputError, one_line

TOKENISER_FILE = "tokenizer.json"


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
