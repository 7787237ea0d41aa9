"""Types of payload columns: which operators each has, and how its values stand in JSON."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from math import isfinite
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

EQUALITY = ("eq", "ne", "in")
ORDER = ("gt", "gte", "lt", "lte")

T = TypeVar("T")
Read = Callable[[Any, pa.DataType], Any]
"""From a JSON value and a column's type to a Python value; ValueError or TypeError where that is not of the type."""


@dataclass(frozen=True)
class Kind:
    """What values of a family of Arrow types can be asked.

    Attributes
    ----------
    says : what a value has to be in JSON, for errors
    operators : those that compare a column with values
    read : see `Read`
    compared : the type in which they are compared, of the column's type
    """

    says: str
    operators: tuple[str, ...]
    read: Read
    compared: Callable[[pa.DataType], pa.DataType] = lambda stored: stored


def kind_of(stored: pa.DataType) -> Kind | None:
    """The kind of a column's type; None where it can only be asked whether there is a value."""
    return next((kind for belongs, kind in _KINDS if belongs(stored)), None)


def _boolean(value: Any, stored: pa.DataType) -> bool:
    return _exactly(bool, value)


def _integer(value: Any, stored: pa.DataType) -> int:
    return _exactly(int, value)


def _float(value: Any, stored: pa.DataType) -> float:
    """Rounded as the column is, so that what was stored is found by the number that it was."""
    number = _number(value)
    with np.errstate(over="ignore"):
        return float(np.dtype(f"f{stored.bit_width // 8}").type(float(number)))


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


def _date(value: Any, stored: pa.DataType) -> date:
    return date.fromisoformat(_exactly(str, value))


def _time(value: Any, stored: pa.DataType) -> time:
    found = time.fromisoformat(_exactly(str, value))
    if found.tzinfo is not None:
        raise ValueError
    return found


def _timestamp(value: Any, stored: pa.DataType) -> datetime:
    found = datetime.fromisoformat(_exactly(str, value))
    if (found.tzinfo is None) != (stored.tz is None):
        raise ValueError
    return found


def _exactly(kind: type[T], value: Any) -> T:
    if type(value) is not kind:  # to isinstance, a bool is an int
        raise TypeError
    return value


def _number(value: Any) -> int | float:
    if type(value) not in (int, float) or not isfinite(value):
        raise TypeError
    number: int | float = value
    return number


def _is_text(stored: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(stored) or types.is_large_string(stored) or types.is_string_view(stored))


def _is_zoned(stored: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(stored) and stored.tz is not None)


_ALL = (*EQUALITY, *ORDER)
_ISO = "as ISO 8601"
_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Kind], ...] = (
    (pa.types.is_boolean, Kind("true or false", EQUALITY, _boolean)),
    (pa.types.is_integer, Kind("a whole number", _ALL, _integer)),
    (
        pa.types.is_floating,
        Kind("a number", _ALL, _float, lambda stored: pa.float32() if stored == pa.float16() else stored),
    ),
    (pa.types.is_decimal, Kind("a number that the column can hold exactly", _ALL, _decimal)),
    (
        _is_text,
        Kind(
            "a string",
            (*_ALL, "prefix"),
            _text,
            lambda stored: pa.large_string() if stored == pa.string_view() else stored,
        ),
    ),
    (pa.types.is_date, Kind(f'a date {_ISO}, such as "2026-01-31"', _ALL, _date, lambda stored: pa.date32())),
    (
        _is_zoned,
        Kind(
            f'a time with its offset {_ISO}, such as "2026-01-31T12:30:00Z"',
            _ALL,
            _timestamp,
            lambda stored: pa.timestamp("us", stored.tz),
        ),
    ),
    (
        pa.types.is_timestamp,
        Kind(
            f'a date and time without offset {_ISO}, such as "2026-01-31T12:30:00"',
            _ALL,
            _timestamp,
            lambda stored: pa.timestamp("us"),
        ),
    ),
    (
        pa.types.is_time,
        Kind(f'a time of day {_ISO}, such as "12:30:00"', _ALL, _time, lambda stored: pa.time64("us")),
    ),
)
