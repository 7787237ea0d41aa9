"""Ids as programs and files write them, made plain texts or whole numbers: the one check of lists of ids."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

import numpy as np

from hubless.errors import InputError
from hubless.vectors.object_rows import brief

_MISSING = ("NAType", "NaTType")
"""Types of what stands in the columns of pandas where there is no value."""
_EXACT = 2**53
"""From here on float64 does not hold every whole number."""
_KINDS = {str: ", a text", int: ", a number", float: ", a number"}
"""What a message says beside a value that is no id here."""


def expected_id(noun: str, by_text: bool, example: Any = None) -> str:
    """Return words for an id of a target, a query or a hit: its type, and one of those that are known."""
    such = "" if example is None else f" such as {example!r}"
    return f"the id of a {noun}, a {'text' if by_text else 'whole number'}{such}"


def hit_like(first: Any) -> tuple[bool, str]:
    """Return whether ids of hits are texts, by the first that is known, and words for them: see `plain_ids`."""
    plain = _of_python(first)
    by_text = isinstance(plain, str)
    if by_text or whole_number(plain) is not None:
        return by_text, expected_id("hit", by_text, plain)
    return by_text, "the id of a hit, a text or a whole number"


def listed_ids(ids: Any) -> list[Any] | None:
    """Return the ids of a list, a set, an array or a column; None for what is one id."""
    if isinstance(ids, str | bytes | Mapping) or not isinstance(ids, Iterable):
        return None
    listed = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    return listed if isinstance(listed, list) else [listed]


def plain_ids(values: Any, by_text: bool, expected: str, name: str, *, as_text: bool = False) -> list[Any]:
    """Return ids as `plain_id`, to be looked up in others of one type; `values` may be a single one.

    Raises `InputError` that names the first of another type, or none, by its place, and what was `expected`.
    """
    listed = listed_ids(values)
    ids = [values] if listed is None else listed
    if {*map(type, ids)} <= {str if by_text else int}:
        return ids
    made = list[Any]()
    for place, each in enumerate(ids):
        where = name if listed is None else f"{name}[{place}]"
        try:
            made.append(plain_id(each, by_text, as_text, expected))
        except InputError as error:
            raise error.about(where) from error
        if made[-1] is None:
            raise InputError(where, expected, "none")
    return made


def plain_id(value: Any, by_text: bool, as_text: bool, expected: str) -> Any:
    """Return an id: a text with `by_text`, and else a whole number; None where there is no value.

    UUIDs and bytes are their text, and 5.0 is 5. None, NaN and pandas' NA are no value. Where all is text (`as_text`),
    an empty one is no value, and a text of a whole number is this number. Raises `InputError`, which says what was
    `expected`.
    """
    value = _of_python(value)
    if value is None or (as_text and value == ""):
        return None
    if by_text and isinstance(value, str):
        return value
    found = None
    if not by_text:
        found = _number(value) if as_text and isinstance(value, str) else whole_number(value)
    if found is None:
        raise InputError("", expected, f"{brief(value)}{_KINDS.get(type(value), '')}")
    return found


def _of_python(value: Any) -> Any:
    """Return a value as Python's own number or text, and None for what stands where there is no value."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if type(value).__name__ in _MISSING or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return str(value) if isinstance(value, UUID) else value


def whole_number(value: Any) -> int | None:
    """Return 5 for 5, 5.0 and NumPy's; None for what is no whole number, or too large to be exact."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    number = float(value) if isinstance(value, float | np.floating) else 0.5
    return int(number) if number.is_integer() and abs(number) < _EXACT else None


def _number(text: str) -> int | None:
    """Return the whole number that a text writes, as 5 or as 5.0; None if it writes none."""
    try:
        return int(text) if str(int(text)) == text else None
    except ValueError:
        pass
    try:
        return whole_number(float(text))
    except ValueError:
        return None
