"""One way from a type to another: a value comes back as it was, or is refused by its row."""

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError
from hubless.vectors.arrays import I64, is_text, to_arrow
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.places import UNREADABLE, first_refused, place

ArrowColumn: TypeAlias = Any
ALL_ROWS = range(sys.maxsize)
RowName: TypeAlias = Callable[[int], str]
"""Number of a row → how an error names it."""


def in_column(name: str, rows: I64 | range = ALL_ROWS) -> RowName:
    """Return how errors name the rows of a column of payload, which have these numbers."""
    return lambda row: f"payload, column {name}, {place(rows[row])}"


def kept_in(column: ArrowColumn, wanted: pa.DataType, named: RowName, more: str = "") -> ArrowColumn:
    """Return a column in another type, by `exactly`. Raises `InputError` naming the first row that is not kept.

    `more` is said after the type that was expected.
    """
    if column.type == wanted:
        return column
    return converted(column, lambda part: exactly(part, wanted), named, f"values of type {wanted}{more}")


def converted(values: Any, read: Callable[[Any], ArrowColumn], named: RowName, expected: str) -> ArrowColumn:
    """Return what `read` makes of a column or a list. Raises `InputError` naming the first row that it refuses."""

    def some(rows: range) -> Any:
        # a slice of lists would be cast with the elements of all
        return values[rows.start : rows.stop] if isinstance(values, list) else values.take(to_arrow(np.array(rows)))

    try:
        return read(values)
    except UNREADABLE as error:
        row = first_refused(len(values), lambda stop: read(some(range(stop))))
        raise InputError(named(row), expected, _shown(some(range(row, row + 1)))) from error


def _shown(one: Any) -> str:
    try:
        return brief(one[0] if isinstance(one, list) else one[0].as_py())
    except UNREADABLE:  # nanoseconds, without pandas
        return " ".join(str(one).split())


def exactly(column: ArrowColumn, wanted: pa.DataType) -> ArrowColumn:
    """Return a column in another type, in which each value is what it was.

    Floats are rounded to floats, and a text may say a date or a time. Raises `ValueError`, `LookupError` or
    `ArrowException` for what the type cannot hold, and for values of another kind: a number becomes no text, nor true.
    """
    if column.null_count == len(column):
        return pa.nulls(len(column), wanted)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    made = column.cast(wanted)
    for given, now in zip(getattr(column, "chunks", [column]), getattr(made, "chunks", [made]), strict=True):
        _check_same(given, now)
    return made


def _check_same(given: pa.Array, made: pa.Array) -> None:
    """Raise `ValueError`, or `LookupError` for a member that is lost, unless an array has the values of the other."""
    types = pa.types
    kind = given.type
    if types.is_dictionary(kind):
        _check_same(given.dictionary_decode(), made)
    elif types.is_struct(kind):
        for name in kind.names:
            _check_same(given.field(name), made.field(name))
    elif types.is_nested(kind):
        for part, now in zip(inner_arrays(given), inner_arrays(made), strict=False):
            _check_same(part, now)
    elif given.null_count < len(given) and not _is_same(given, made):
        raise ValueError(made.type)


def _is_same(given: pa.Array, made: pa.Array) -> bool:
    kind, now = given.type, made.type
    if kind == now or (is_text(kind) and pa.types.is_temporal(now)):
        return True
    if pa.types.is_floating(kind) and pa.types.is_floating(now):
        return bool(_infinite(given).equals(_infinite(made)))
    return all(test(kind) == test(now) for test in _KINDS) and bool(made.cast(kind, safe=False).equals(given))


def _infinite(floats: pa.Array) -> pa.Array:
    return pc.is_inf(floats.cast(pa.float64()))


def _has_zone(kind: pa.DataType) -> bool:
    return getattr(kind, "tz", None) is not None


_KINDS = (is_text, pa.types.is_boolean, pa.types.is_temporal, pa.types.is_time, pa.types.is_duration, _has_zone)
"""What types of equal values have in common, or not."""


def inner_arrays(column: pa.Array) -> list[pa.Array]:
    """Return the arrays inside an array: storage, elements, members, or keys and items."""
    if isinstance(column, pa.ExtensionArray):
        return [column.storage]
    if isinstance(column, pa.MapArray):
        return [column.keys, column.items]
    if not pa.types.is_nested(column.type):
        return []
    flat = column.flatten()
    return flat if isinstance(flat, list) else [flat]
