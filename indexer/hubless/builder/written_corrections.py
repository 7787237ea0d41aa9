"""Corrections as people write them: in short, as `csls:k=5`, or in a file of `tune`."""

import json
import re
from pathlib import Path
from typing import Any

from hubless.corrections import correction as correction_named, is_given
from hubless.errors import InputError, one_line
from hubless.vectors.fetched import fetched_file

_SHORT_NUMBER = re.compile(r"[+-]?\.[0-9]+")


def parse_value(text: str) -> Any:
    """Return a JSON value such as `64`, `0.5` or `null`, or a number such as `.5`. Anything else is a string."""
    if _SHORT_NUMBER.fullmatch(text):
        return float(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def short_correction(text: str) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of NAME or NAME:KEY=VALUE,KEY=VALUE. Raises `InputError` for another form.

    `offsets:FILE` and a file of JSON, whatever its address, have no parameters.
    """
    name, colon, rest = text.partition(":")
    if is_given(text) or not colon or text.endswith(".json"):
        return text, {}
    pairs = [setting.partition("=") for setting in rest.split(",")]
    if not all(key and equals for key, equals, _ in pairs):
        raise InputError("correction", "NAME:KEY=VALUE,…", text)
    return name, {key: parse_value(value) for key, _, value in pairs}


def read_correction(path: str | Path) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of a correction from a parameter file, as `tune` writes it."""
    path = fetched_file(Path(path), "correction from")
    name = f"correction from ({path.name})"
    try:
        read = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(name, "a JSON file, as tune writes it", one_line(error)) from error
    chosen, parameters = (
        (read.get("correction"), read.get("parameters", {})) if isinstance(read, dict) else (None, None)
    )
    if not isinstance(chosen, str) or not isinstance(parameters, dict):
        raise InputError(name, 'an object with "correction" and "parameters"', repr(read)[:80])
    correction_named(chosen, parameters)
    return chosen, parameters
