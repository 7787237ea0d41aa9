"""Vectors whose rows belong to groups, such as tenants; the names come from a column of their payload."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, names_of
from hubless.vectors.arrays import F32, I64
from hubless.vectors.free_payload import free_rows, is_free
from hubless.vectors.sources import HeldVectors, TakenVectors, VectorSource

Names: TypeAlias = NDArray[np.object_]
"""The group of each row (n,), as text; "" for none."""
NO_GROUP = ""
_NAMING = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)
"""Tests of the types of columns whose values name groups."""


@dataclass(frozen=True)
class GroupedVectors(HeldVectors):
    """Rows (n, d) in memory, with the group of each."""

    groups: Names = field(repr=False)


def groups_of(source: VectorSource) -> Names | None:
    """Return the groups of the rows of `GroupedVectors`, or of some of them; None for other sources."""
    if isinstance(source, GroupedVectors):
        return source.groups
    if isinstance(source, TakenVectors):
        known = groups_of(source.source)
        return None if known is None else known[source.rows]
    return None


def rows_by_group(groups: Names) -> Mapping[str, I64]:
    """Return the rows of each group, ascending, by its name; without those that belong to none."""
    names, codes = coded(groups)
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
    return {name: rows for name, rows in zip(names, parts, strict=bool(names)) if name != NO_GROUP}


def coded(groups: Names) -> tuple[list[str], I64]:
    """Return the names of groups, in the order in which they come, and for each row the place of its own, (n,)."""
    found = pa.array(groups, pa.large_string()).dictionary_encode()
    return found.dictionary.to_pylist(), found.indices.to_numpy().astype(np.int64)


def with_groups(vectors: F32, column: str, groups: Sequence[str]) -> pa.Table:
    """Return vectors (n, d) as a table with a column that has the group of each."""
    lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    return pa.table({"vector" if column != "vector" else "vectors": lists, column: pa.array(groups, pa.large_string())})


def group_names(payload: pa.Table | None, column: str, name: str) -> Names:
    """Return the group of each row of payload (n,): texts, whole numbers or booleans of a column, all as text.

    Rows whose column is null or empty belong to none; of free payload also those that have another kind of value.
    Raises `InputError` naming the payload, by `name`, that has no such column, or another type in it.
    """
    schema = None if payload is None else payload.schema
    if payload is not None and is_free(schema):
        objects = (row for batch in payload.to_batches() for row in free_rows(batch, [column]))
        return _array([text_of(row.get(column)) for row in objects])
    if payload is None or column not in payload.column_names:
        known = "no columns" if payload is None else names_of(payload.column_names)
        raise InputError(name, f"a column {column}, which names the group of each row", known)
    values = payload.column(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if not any(is_named(kind) for is_named in _NAMING):
        raise InputError(f"{name}, column {column}", "texts, whole numbers or booleans that name groups", str(kind))
    return _array([NO_GROUP if each is None else each for each in values.cast(pa.large_string()).to_pylist()])


def text_of(value: Any) -> str:
    """Return the name of the group that a value of payload stands for; "" for none."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) else NO_GROUP


def _array(names: list[str]) -> Names:
    made = np.empty(len(names), object)
    made[:] = names
    return made
