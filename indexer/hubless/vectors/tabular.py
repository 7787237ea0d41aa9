"""Columns of tables that hold vectors."""

import pyarrow as pa

from hubless.vectors.arrays import is_list


def is_vectors(kind: pa.DataType) -> bool:
    """Return True if a column of this type can hold vectors: lists of numbers, whole or not."""
    return is_list(kind) and (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def vector_columns(schema: pa.Schema) -> list[str]:
    """Return the names of the columns that could be meant as vectors."""
    return [field.name for field in schema if is_vectors(field.type)]
