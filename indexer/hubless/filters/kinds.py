"""Kinds of payload columns: what can be asked of them, and how their values are written in JSON."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from hubless.vectors.arrays import is_list, is_text

BOOLEAN, ORDERED, TEXT, LIST, OTHER = "boolean", "ordered", "text", "list", "other"
"""Families of columns, which take the same operators. `OTHER` are those whose values JSON cannot say."""

_NANOSECONDS = re.compile(r"[.,][0-9]{6}0*[1-9]")
_T = TypeVar("_T")
Read = Callable[[Any, pa.DataType], Any]
"""JSON value and column type → Python value. Raises ValueError or TypeError if the value does not fit."""


@dataclass(frozen=True)
class ValueKind:
    """Family and JSON form of some Arrow types, in words for errors; `compared` is the type to compare in."""

    says: str
    family: str
    read: Read
    compared: Callable[[pa.DataType], pa.DataType] = lambda stored: stored


def kind_of(stored: pa.DataType) -> ValueKind | None:
    """Return the kind of a type; None if JSON cannot say its values."""
    return next((kind for belongs, kind in _KINDS if belongs(stored)), None)


def family_of(stored: pa.DataType) -> str:
    """Return the family of a column's type."""
    kind = kind_of(plain_of(stored))
    return OTHER if kind is None else LIST if is_list(stored) else kind.family


def plain_of(stored: pa.DataType) -> pa.DataType:
    """Return the type of a column's values: of the elements of lists, and of what a dictionary holds."""
    values = stored.value_type if is_list(stored) else stored
    return values.value_type if pa.types.is_dictionary(values) else values


def _float(value: Any, stored: pa.DataType) -> Any:
    """Return the number rounded as in the column, so that the original number finds the stored one."""
    number = _number(value)
    with np.errstate(over="ignore"):
        rounded = np.dtype(f"f{stored.bit_width // 8}").type(float(number))
    return rounded if stored == pa.float16() else float(rounded)  # which alone Arrow 18 takes as one


def _decimal(value: Any, stored: pa.DataType) -> Decimal:
    try:
        number = Decimal(value if isinstance(value, str) else str(_number(value)))
    except InvalidOperation as error:
        raise ValueError from error
    pa.scalar(number, stored)  # pa.ArrowInvalid, a ValueError, if it has more digits
    return number


def _text(value: Any, stored: pa.DataType) -> str:
    text = _exactly(str, value)
    text.encode()  # UnicodeEncodeError, a ValueError, for half a surrogate pair
    return text


def _time(value: Any, stored: pa.DataType) -> time:
    found = time.fromisoformat(_to_microseconds(value))
    if found.tzinfo is not None:
        raise ValueError
    return found


def _timestamp(value: Any, stored: pa.DataType) -> datetime:
    found = datetime.fromisoformat(_to_microseconds(value))
    if (found.tzinfo is None) != (stored.tz is None):
        raise ValueError
    return found


def _to_microseconds(value: Any) -> str:
    """Return a text without digits that Python drops. Raises `ValueError` for one that says nanoseconds."""
    if _NANOSECONDS.search(text := _exactly(str, value)):
        raise ValueError(text)
    return text


def _exactly(kind: type[_T], value: Any) -> _T:
    if type(value) is not kind:  # isinstance takes a bool for an int
        raise TypeError
    return value


def _number(value: Any) -> int | float:
    if type(value) not in (int, float) or not isfinite(value):
        raise TypeError
    number: int | float = value
    return number


_ISO = "as ISO 8601"
_KINDS: tuple[tuple[Callable[[pa.DataType], bool], ValueKind], ...] = (
    (pa.types.is_boolean, ValueKind("true or false", BOOLEAN, lambda value, stored: _exactly(bool, value))),
    (pa.types.is_integer, ValueKind("a whole number", ORDERED, lambda value, stored: _exactly(int, value))),
    (
        pa.types.is_floating,
        ValueKind("a number", ORDERED, _float, lambda stored: pa.float32() if stored == pa.float16() else stored),
    ),
    (pa.types.is_decimal, ValueKind("a number that the column can hold exactly", ORDERED, _decimal)),
    (
        is_text,
        ValueKind(
            "a string",
            TEXT,
            _text,
            lambda stored: pa.large_string() if stored == pa.string_view() else stored,
        ),
    ),
    (
        pa.types.is_date,
        ValueKind(
            f'a date {_ISO}, such as "2026-01-31"',
            ORDERED,
            lambda value, stored: date.fromisoformat(_exactly(str, value)),
            lambda stored: pa.date32(),
        ),
    ),
    (
        lambda stored: pa.types.is_timestamp(stored) and stored.tz is not None,
        ValueKind(
            f'a time with its offset {_ISO}, such as "2026-01-31T12:30:00Z"',
            ORDERED,
            _timestamp,
            lambda stored: pa.timestamp("us", stored.tz),
        ),
    ),
    (
        pa.types.is_timestamp,
        ValueKind(
            f'a date and time without offset {_ISO}, such as "2026-01-31T12:30:00"',
            ORDERED,
            _timestamp,
            lambda stored: pa.timestamp("us"),
        ),
    ),
    (
        pa.types.is_time,
        ValueKind(f'a time of day {_ISO}, such as "12:30:00"', ORDERED, _time, lambda stored: pa.time64("us")),
    ),
)
