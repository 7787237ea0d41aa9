"""Payload as it stands in JSON → the values that Arrow holds, by the type of each column."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from hubless.errors import InputError, UnknownField, names_of, one_line
from hubless.filters.kinds import kind_of
from hubless.filters.shown import cut, shown
from hubless.vectors.arrays import is_list
from hubless.vectors.free_payload import free_table, is_free

_INFINITE = (float("inf"), float("-inf"))


def read_row(document: Mapping[str, Any], schema: pa.Schema | None) -> dict[str, Any]:
    """Check the payload of a target, as it stands in JSON, and return its values as `pyarrow.array` takes them.

    Raises `InputError` naming the column.
    """
    if schema is None:
        if document:
            raise InputError("", "none, as the collection has no payload", "an object")
        return {}
    if is_free(schema):
        return dict(document)
    for name in document:
        if name not in schema.names:
            raise UnknownField("", f"columns of the payload, {names_of(schema.names)}", cut(name))
    return {name: _value(value, schema.field(name).type, name) for name, value in document.items()}


def table_of(rows: list[dict[str, Any]], schema: pa.Schema | None) -> pa.Table | None:
    """Rows that `read_row` gave, as a table; columns that a row lacks are null."""
    if schema is None:
        return None
    if is_free(schema):
        return free_table(rows)
    return pa.table([_column(rows, field) for field in schema], schema)


def _column(rows: list[dict[str, Any]], field: pa.Field) -> pa.Array:
    try:
        return pa.array([row.get(field.name) for row in rows], field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:  # a stored one that early builds took
        raise InputError(f"payload, column {field.name}", f"values of {field.type}", one_line(error)) from error


def _value(value: Any, stored: pa.DataType, where: str) -> Any:
    """Return a value of JSON as a column of this type stores it. Raises `InputError` for another kind of value."""
    if value is None:
        return None
    if is_list(stored):
        if not isinstance(value, list):
            raise InputError(where, "a list", shown(value))
        if pa.types.is_fixed_size_list(stored) and len(value) != stored.list_size:
            raise InputError(where, f"a list of {stored.list_size}", shown(value))
        return [_value(each, stored.value_type, f"{where}[{number}]") for number, each in enumerate(value)]
    if pa.types.is_struct(stored):
        return _struct(value, stored, where)
    if pa.types.is_dictionary(stored):
        return _value(value, stored.value_type, where)
    kind = kind_of(stored)
    if kind is None:
        raise InputError(where, f"null, as JSON cannot say a value of the type {stored}", shown(value))
    try:
        read = kind.read(value, stored)
        # a number may be too large for the column, and a time in UTC be out of the years that Python has
        held = pa.scalar(read, stored).as_py()
        same = held == value if isinstance(value, int) else held == read or isinstance(held, float)
        if held in _INFINITE or not same:
            raise OverflowError
    except (TypeError, ValueError, LookupError, OverflowError) as error:
        raise InputError(where, f"{kind.says}, as the column is {stored}", shown(value)) from error
    return read


def _struct(value: Any, stored: pa.StructType, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(where, "an object", shown(value))
    types = {field.name: field.type for field in stored}
    for name in value:
        if name not in types:
            raise UnknownField(where, f"members {', '.join(types)}", cut(name))
    return {name: _value(each, types[name], f"{where}.{name}") for name, each in value.items()}
