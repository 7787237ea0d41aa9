"""Kinds of payload that databases have types for, and columns of payload as these kinds."""

import base64
from datetime import date, time
from enum import StrEnum
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError, one_line

_ZONE = "UTC"


class ExportedType(StrEnum):
    """Kinds of values. Dates and times are text in ISO 8601, an instant in UTC with a Z; `JSON` is text that holds it.

    What JSON has no type for stands in it as a service sends it: bytes in base64, other things as Python writes them.
    """

    BOOL = "bool"
    WHOLE = "whole"
    NUMBER = "number"
    TEXT = "text"
    DATE = "date"
    TIME = "time"
    INSTANT = "instant"
    JSON = "json"


def type_of(stored: pa.DataType) -> ExportedType:
    """Return the kind of a column of payload."""
    types = pa.types
    if types.is_boolean(stored):
        return ExportedType.BOOL
    if types.is_integer(stored):
        return ExportedType.WHOLE
    if types.is_floating(stored) or types.is_decimal(stored):
        return ExportedType.NUMBER
    if types.is_string(stored) or types.is_large_string(stored):
        return ExportedType.TEXT
    if types.is_date(stored):
        return ExportedType.DATE
    if types.is_timestamp(stored):
        return ExportedType.TIME if stored.tz is None else ExportedType.INSTANT
    return ExportedType.JSON


_STORED = {ExportedType.BOOL: pa.bool_(), ExportedType.WHOLE: pa.int64(), ExportedType.NUMBER: pa.float64()}


def stored_type(kind: ExportedType) -> pa.DataType:
    """Return the Arrow type of a converted column."""
    return _STORED.get(kind, pa.large_string())


def converted(column: pa.Array, name: str) -> pa.Array:
    """Return a column as its kind: `stored_type(type_of(column.type))`. Nulls stay.

    Raises `InputError` naming a column whose values do not fit, such as whole numbers beyond 64 bits.
    """
    kind = type_of(column.type)
    try:
        if kind is ExportedType.DATE:
            return column.cast(pa.large_string())
        if kind is ExportedType.TIME:
            return _written(column.cast(pa.timestamp("us")), "%Y-%m-%dT%H:%M:%S")
        if kind is ExportedType.INSTANT:
            return _written(column.cast(pa.timestamp("us", _ZONE)), "%Y-%m-%dT%H:%M:%SZ")
        if kind is ExportedType.JSON:
            return pa.array([None if one is None else json_of(one).decode() for one in column.to_pylist()], _TEXT)
        return column.cast(stored_type(kind))
    except pa.ArrowException as error:
        raise InputError(f"payload, column {name}", f"values that become {kind}", one_line(error)) from error


_TEXT = pa.large_string()


def _written(column: pa.Array, pattern: str) -> pa.Array:
    return pc.strftime(column, format=pattern).cast(_TEXT)


def json_of(value: Any) -> bytes:
    """Return JSON of a value of payload, or of a row of it."""
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(value, _plain, options)


def _plain(value: object) -> object:
    if isinstance(value, date | time):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
