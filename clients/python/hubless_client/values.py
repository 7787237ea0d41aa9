"""Python values as JSON: dates as ISO text, arrays as lists. What JSON cannot say is named with its place."""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any, TypeAlias
from uuid import UUID

from hubless_client.errors import CannotSend

MOST_NESTED = 64
"""Lists and objects inside each other; servers take fewer."""

_LONG = re.compile(rb"\d{19}")
"""Digits of a whole number that may have more than 64 bits."""

Place: TypeAlias = tuple[str | int, ...]


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not None. The server decides on the others."""
    return {name: value for name, value in options.items() if value is not None}


def as_json(document: Any) -> bytes:
    """A document as JSON.

    Dates and times become ISO text, UUIDs text, decimals numbers, members of an Enum their values; arrays, tensors,
    tuples and sets become lists; numpy's scalars plain ones; NaT becomes null.

    Raises
    ------
    CannotSend : it holds NaN, infinity, a whole number of more than 64 bits, or something else that JSON cannot say;
        names its place, and the id of a point
    """
    try:
        written = json.dumps(document, ensure_ascii=False, allow_nan=False, default=_plain).encode()
        if not _LONG.search(written) or next(_misfits(document, ()), None) is None:
            return written
        raise ValueError
    except (TypeError, ValueError, RecursionError) as error:
        place, wrong = next(_misfits(document, ()), ((), str(error)))
        raise CannotSend(f"{_named(document, place)}: {wrong}") from error


def _plain(value: Any) -> Any:
    """A value that is nearer to JSON. Raises `TypeError` in words if there is none."""
    if isinstance(value, date | time):
        return value.isoformat() if value == value else None  # NaT of pandas is a date that equals nothing
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)  # the same each time
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M":
        return _moments(value)
    if hasattr(value, "tolist") and kind != "m":
        return value.tolist()
    raise TypeError(f"expected a value that JSON can carry, got {type(value).__name__} {value!r:.60}")


def _moments(value: Any) -> Any:
    """Dates of numpy or pandas. numpy gives nanoseconds as bare numbers, so they are cut to microseconds first."""
    plain = first = value.tolist()
    while isinstance(first, list) and first:
        first = first[0]
    return value.astype("datetime64[us]").tolist() if isinstance(first, int) else plain


def _misfits(value: Any, place: Place) -> Iterator[tuple[Place, str]]:
    """Find what JSON cannot say in a value: the place, and what is wrong there."""
    if len(place) > MOST_NESTED:
        yield place[:4], f"expected at most {MOST_NESTED} lists and objects inside each other, got more"
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str | int | float | None):
                yield place, f"expected names in text, got {type(key).__name__} {key!r:.60}"
            yield from _misfits(inner, (*place, str(key)))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _misfits(inner, (*place, number))
    elif isinstance(value, int | float):
        if (said := _wrong_number(value)) is not None:
            yield place, said
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeError:
            yield place, f"expected text in Unicode, got {value!r:.60}"
    elif value is not None:
        try:
            plain = _plain(value)
        except (TypeError, ValueError) as error:
            yield place, str(error)
        else:
            yield from _misfits(plain, place)


def _wrong_number(value: float) -> str | None:
    """Return why a number is refused: it is not finite, or a server would round it; None if it is right."""
    if isinstance(value, float):
        return (
            None
            if isfinite(value)
            else f"expected a number that JSON can carry, or None for a missing one, got {value}"
        )
    return None if -(2**63) <= value < 2**64 else f"expected a whole number of 64 bits, or text, got {value!r:.60}"


def _named(document: Any, place: Place) -> str:
    """A place in words, such as `points[1].payload.year, of id 'y'`."""
    if not place:
        return "request"
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in place]
    path = "".join(steps).removeprefix(".")
    if place[0] == "points" and len(place) > 1:
        return f"{path}, of id {document['points'][place[1]].get('id')!r:.60}"
    return path
