"""One id as programs and files write it, made a plain text or a whole number."""

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
        return value.decode("utf-8", "replace")
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
