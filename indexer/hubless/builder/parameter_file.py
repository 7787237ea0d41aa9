"""The parameter file that `tune` writes: a correction and its parameters, and perhaps a strength."""

import json
from pathlib import Path
from typing import Any

from hubless.corrections import correction as make_correction
from hubless.errors import InputError, StorageError, one_line
from hubless.search.collection import MOST_STRENGTH
from hubless.vectors.arrays import check_between


def read_correction(path: str | Path) -> tuple[str, dict[str, Any]]:
    """Name and parameters of a correction from a parameter file, as `tune` writes it.

    Raises
    ------
    StorageError
        if there is no such file.
    InputError
        if it is no parameter file, or names an unknown correction or parameter.
    """
    path = Path(path)
    name = f"correction from ({path.name})"
    if not path.is_file():
        raise StorageError(path, "correction from: there is no such file")
    try:
        read = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(name, "a JSON file, as tune writes it", one_line(error)) from error
    if not isinstance(read, dict) or not isinstance(read.get("correction"), str):
        raise InputError(name, 'an object with "correction" and "parameters"', one_line(ValueError(repr(read)[:80])))
    parameters = read.get("parameters", {})
    if not isinstance(parameters, dict):
        raise InputError(f"{name}, parameters", "an object", type(parameters).__name__)
    make_correction(read["correction"], parameters)
    return read["correction"], parameters


def read_strength(path: str | Path) -> float | None:
    """The strength that live queries chose, from a parameter file that `read_correction` has read; None without any.

    Raises
    ------
    InputError
        if it is no number from 0 to 2.
    """
    evidence = json.loads(Path(path).read_text("utf-8")).get("tuned")
    chosen = evidence.get("strength") if isinstance(evidence, dict) else None
    if chosen is None:
        return None
    strength: Any = chosen.get("strength") if isinstance(chosen, dict) else chosen
    check_between(f"correction from ({Path(path).name}), strength", strength, 0, MOST_STRENGTH)
    return float(strength)
