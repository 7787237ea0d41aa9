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


def plain_id(value: Any, by_text: bool, as_text: bool, expected: str) -> Any:
    """Return an id: a text with `by_text`, and else a whole number; None where there is no value.

    UUIDs and bytes are their text, and 5.0 is 5. None, NaN and pandas' NA are no value. Where all is text (`as_text`),
    an empty one is no value, and a text of a whole number is this number. Raises `InputError`, which says what was
    `expected`.
    """
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        value = value.item()
    if value is None or type(value).__name__ in _MISSING or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, UUID):
        value = str(value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if as_text and value == "":
        return None
    if isinstance(value, str):
        number = None if by_text or not as_text else _number(value)
        if by_text or number is not None:
            return value if by_text else number
        raise InputError("", expected, f"{brief(value)}, a text")
    whole = whole_number(value)
    if whole is None or by_text:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        raise InputError("", expected, f"{brief(value)}{', a number' if number else ''}")
    return whole


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
