"""Tables with vectors: which columns have them, and their rows as matrices."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, advice, names_of
from hubless.vectors.arrays import as_floats, is_list, lets_through, matrix_of

VECTOR_COLUMNS = ("vector", "embedding")
FEWEST_WIDE = 8
"""Fewer numbered columns are rather other numbers than the dimensions of vectors."""
_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]*)")


@dataclass(frozen=True)
class TableFile:
    """Rows of a file that can be read again and again, some columns at a time.

    `batches` yields the rows of some columns, at most so many in a batch; `payload` gives those of others as a dataset.
    """

    name: str
    schema: pa.Schema
    count: int
    batches: Callable[[Sequence[str], int], Iterator[pa.RecordBatch]]
    payload: Callable[[Sequence[str]], Any]


def is_vectors(kind: pa.DataType) -> bool:
    """Return True if a column of this type can hold vectors: lists of numbers, whole or not."""
    return is_list(kind) and is_number(kind.value_type)


def vector_columns(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that could be meant as vectors."""
    return [field.name for field in schema if is_vectors(field.type)]


def columns_of_vectors(table: TableFile) -> list[str]:
    """Return the column of lists that has the vectors, or the numbered columns that have a dimension each.

    The column is named `vector` or `embedding`, or is the only list of floats. Numbered columns share a name before
    numbers from 0 or 1. Raises `InputError`.
    """
    schema = table.schema
    check_names(schema.names, table.name)
    lists = [field.name for field in schema if is_list(field.type) and pa.types.is_floating(field.type.value_type)]
    named = [column for column in VECTOR_COLUMNS if column in vector_columns(schema)]
    if named or len(lists) == 1:
        return (named or lists)[:1]
    if not lists and (wide := numbered(schema)):
        return wide
    raise _no_vectors(table, lists)


def check_names(names: Sequence[str], where: str) -> None:
    """Raise `InputError` if two columns have one name."""
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(where, "columns of different names", f"columns {names_of(twice)}")


def _no_vectors(table: TableFile, lists: list[str]) -> InputError:
    """Return the error for a table of which no column has the vectors. Several of lists of floats could be meant."""
    expected = f"one list<float> column, or one named {' or '.join(VECTOR_COLUMNS)}"
    if lists:
        return InputError(table.name, expected, f"list columns {names_of(lists)}")
    numbers = [field.name for field in table.schema if is_number(field.type) and field.name != "id"]
    if len(numbers) >= FEWEST_WIDE:
        expected += f"; if they are a dimension each, name them e0 to e{len(numbers) - 1}"
        return InputError(table.name, expected, f"{len(numbers)} columns of numbers: {names_of(numbers)}")
    expected += "; texts have to be encoded first" + advice(", and other fields are {}", "payload")
    return InputError(table.name, expected, f"columns {names_of(table.schema.names)}, none of them a list of floats")


def numbered(schema: pa.Schema) -> list[str]:
    """Return the columns of numbers that share a name before 0, 1, 2, … or 1, 2, …, in this order; none for several."""
    stems: dict[str, dict[int, str]] = {}
    for field in schema:
        if is_number(field.type) and (match := _NUMBERED.fullmatch(field.name)):
            stems.setdefault(match[1], {})[int(match[2])] = field.name
    whole = [
        [columns[number] for number in sorted(columns)]
        for columns in stems.values()
        if len(columns) >= FEWEST_WIDE and sorted(columns) == list(range(min(columns), min(columns) + len(columns)))
        if min(columns) in (0, 1)
    ]
    return whole[0] if len(whole) == 1 else []


def dimensions(table: TableFile, columns: Sequence[str]) -> int:
    """Return the number of dimensions, of lists of any size that of the first row."""
    if len(columns) > 1:
        return len(columns)
    kind = table.schema.field(columns[0]).type
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    for batch in table.batches(columns, 1):
        for first in batch.column(0):
            if lets_through() and not (first.is_valid and len(first)):
                continue
            if not first.is_valid:
                raise InputError(f"{table.name}, row 0", "a vector", "a null")
            return len(first)
    return 0


def matrices(table: TableFile, columns: Sequence[str], dim: int, rows: int) -> Iterator[NDArray[Any]]:
    """Yield the vectors of a table as arrays (m, d), m at most `rows`."""
    start = 0
    for batch in table.batches(columns, rows):
        for first in range(0, len(batch), rows):
            part = batch.slice(first, rows)
            yield _matrix(part, table.name, dim, start)
            start += len(part)


def _matrix(batch: pa.RecordBatch, name: str, dim: int, start: int) -> NDArray[Any]:
    if batch.num_columns == 1:
        return matrix_of(batch.column(0), name, dim, start)
    for place, column in enumerate(batch.columns):
        if column.null_count and not lets_through():
            row = start + column.is_null().index(True).as_py()
            raise InputError(f"{name}, row {row}, column {place}", "a number", "a null")
    return as_floats(np.column_stack([column.to_numpy(zero_copy_only=False) for column in batch.columns]))


def is_number(kind: pa.DataType) -> bool:
    """Return True for floats and whole numbers."""
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
