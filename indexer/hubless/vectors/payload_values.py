"""Values of payload as Python objects. What Python cannot hold, in bundles of early builds, becomes text.

A build refuses such values now (`payload_types`).
"""

from collections.abc import Callable
from typing import Any

import pyarrow as pa

UNREADABLE = (pa.ArrowException, ArithmeticError, LookupError, TypeError, ValueError)
"""What Arrow raises for a date beyond year 9999, an unknown time zone, a huge duration, or text that is not UTF-8."""


def rows_of(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows as dicts."""
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except UNREADABLE:
        columns = {name: _values_of(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
        return [{name: values[row] for name, values in columns.items()} for row in range(batch.num_rows)]
    return rows


def _values_of(column: pa.Array) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except UNREADABLE:
        return [_value_of(scalar) for scalar in column]
    return values


def _value_of(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except UNREADABLE:
        pass
    if isinstance(scalar, pa.StructScalar):
        return {field.name: _value_of(scalar[place]) for place, field in enumerate(scalar.type)}
    if isinstance(scalar, pa.ListScalar):
        return _values_of(scalar.values)
    return next((text for write in _WRITTEN if (text := _attempt(write, scalar)) is not None), "unreadable")


def _attempt(write: Callable[[pa.Scalar], str | None], scalar: pa.Scalar) -> str | None:
    try:
        return write(scalar)
    except (*UNREADABLE, AttributeError):
        return None


def _as_arrow_writes(scalar: pa.Scalar) -> str:
    return str(scalar.cast(pa.string()).as_py())


def _without_zone(scalar: pa.Scalar) -> str:
    text = _as_arrow_writes(scalar.cast(pa.int64()).cast(pa.timestamp(scalar.type.unit)))
    return f"{text} {scalar.type.tz}"


def _with_unit(scalar: pa.Scalar) -> str | None:
    return f"{scalar.cast(pa.int64()).as_py()} {scalar.type.unit}" if pa.types.is_duration(scalar.type) else None


def _replaced(scalar: pa.Scalar) -> str:
    return str(scalar.as_buffer().to_pybytes(), "utf-8", "replace")


_WRITTEN: tuple[Callable[[pa.Scalar], str | None], ...] = (_replaced, _with_unit, _as_arrow_writes, _without_zone)
