"""Payload columns as Milvus keeps them: booleans, whole numbers, doubles, texts, and lists of these.

Values are stored so that they compare as in `hubless.filters`: dates as days since 1970, times as microseconds,
decimals in units of their last digit. A column that cannot be stored exactly stays out.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hubless.filters.kinds import TEXT, ValueKind, kind_of, plain_of
from hubless.vectors.arrays import is_list
from hubless.vectors.free_payload import is_free

BOOL, INT64, DOUBLE, VARCHAR = "BOOL", "INT64", "DOUBLE", "VARCHAR"
LONGEST_TEXT = 65_535
"""Most bytes of a VARCHAR."""
MOST_ELEMENTS = 4096
"""Most elements of an ARRAY."""
MOST_COLUMNS = 56
"""Milvus takes 64 fields by default, of which some are ours."""
_MOST_DIGITS = 18
"""Digits of every decimal that fit int64."""

_WORD = re.compile(r"[A-Za-z0-9_]{1,200}")


@dataclass(frozen=True)
class Column:
    """A payload column in Milvus.

    `field`: its name there. `type`: name of its type there, or of its elements. `listed`: whether values are lists.
    """

    field: str
    type: str
    listed: bool

    def values(self, column: pa.Array) -> list[Any]:
        """Return the values of a column of a batch for Milvus. Lists lose their nulls, which `contains` never finds."""
        if not self.listed:
            return plain(column, column.type).to_pylist()  # type: ignore[no-any-return]
        lists = pc.list_value_length(column).to_pylist()
        elements = iter(plain(pc.list_flatten(column), column.type.value_type).to_pylist())
        return [
            None if length is None else [element for _ in range(length) if (element := next(elements)) is not None]
            for length in lists
        ]


def kept_columns(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> dict[str, Column]:
    """The columns that Milvus can keep, by their names in the payload. Reads all rows once."""
    if is_free(schema):
        return {}
    fitting = {name: column for place, name in enumerate(schema.names) if (column := _column(schema, place))}
    for batch in batches:
        for name in [name for name, column in fitting.items() if not _fits(batch.column(name), column)]:
            del fitting[name]
    return dict(list(fitting.items())[:MOST_COLUMNS])


def plain(values: pa.Array, stored: pa.DataType) -> pa.Array:
    """Values of a type as booleans, int64, double or text, which compare alike.

    `values`: of the stored type, or of the type in which its kind compares.
    """
    if pa.types.is_dictionary(values.type):
        values, stored = values.dictionary_decode(), stored.value_type
    kind = kind_of(stored)
    if kind is None:
        raise TypeError(f"Milvus keeps no {stored}")
    compared = kind.compared(stored)
    return _PLAIN[_type_of(stored, kind)](values.cast(compared, safe=False))


def _column(schema: pa.Schema, place: int) -> Column | None:
    stored, name = schema.field(place).type, schema.names[place]
    listed = is_list(stored)
    values = plain_of(stored)
    kind = kind_of(values)
    type_ = kind and _type_of(values, kind)
    # the prefix keeps a name from being a word of Milvus' language, or one of our fields
    field = f"payload_{name}" if _WORD.fullmatch(name) else f"column_{place}"
    return Column(field, type_, listed) if type_ else None


def _type_of(values: pa.DataType, kind: ValueKind) -> str | None:
    types = pa.types
    if types.is_boolean(values):
        return BOOL
    if types.is_floating(values):
        return DOUBLE
    if kind.family == TEXT:
        return VARCHAR
    if types.is_decimal(values) and not (values.precision <= _MOST_DIGITS and 0 <= values.scale <= _MOST_DIGITS):
        return None
    return INT64


def _fits(column: pa.Array, kept: Column) -> bool:
    """Return True if Milvus holds these values exactly."""
    if kept.listed:
        longest = pc.max(pc.list_value_length(column)).as_py() or 0
        return longest <= MOST_ELEMENTS and _fit(pc.list_flatten(column), kept.type)
    return _fit(column, kept.type)


def _fit(values: pa.Array, type_: str) -> bool:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if type_ == DOUBLE:
        return bool(pc.all(pc.is_finite(values.cast(pa.float64()))).as_py() is not False)
    if type_ == VARCHAR:
        return bool((pc.max(pc.binary_length(values.cast(pa.large_string()))).as_py() or 0) <= LONGEST_TEXT)
    if pa.types.is_uint64(values.type):
        return bool((pc.max(values).as_py() or 0) < 2**63)
    return True


def _whole(values: pa.Array) -> pa.Array:
    if pa.types.is_decimal(values.type):
        scale = values.type.scale
        units = pc.multiply(values.cast(pa.decimal128(18, scale)), pa.scalar(10**scale, pa.decimal128(19, 0)))
        return units.cast(pa.int64())
    if pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    elif not pa.types.is_integer(values.type):
        values = values.view(pa.int64())
    return values.cast(pa.int64())


_PLAIN: dict[str | None, Callable[[pa.Array], pa.Array]] = {
    BOOL: lambda values: values,
    INT64: _whole,
    DOUBLE: lambda values: values.cast(pa.float64()),
    VARCHAR: lambda values: values.cast(pa.large_string()),
}
