"""The roles that a column of targets can play beside id, vector and payload, in a closed table that all else reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, names_of
from hubless.vectors.arrays import F64, Flags, as_array, to_arrow
from hubless.vectors.free_payload import free_rows, is_free
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.columns import Column, listed, read_column

Names: TypeAlias = NDArray[np.object_]
"""The group of each row (n,), as text; "" for none."""
NumbersLike: TypeAlias = str | Path | NDArray[Any] | list[float]
"""Forms of numbers, one a target: a file, or anything that NumPy makes an array of."""
NO_GROUP = ""
_NAMING = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)
"""Tests of the types of columns whose values name groups."""


@dataclass(frozen=True)
class TargetRole:
    """A role: what messages call it, what its values have to be, and above what; None for names in place of numbers.

    `of_queries`: bank queries have the column, too.
    """

    name: str
    expected: str
    above: float | None = None
    of_queries: bool = False

    @property
    def parameter(self) -> str:
        """The parameter of `hubless.build` that brings it."""
        return self.name.replace(" ", "_")

    def unknown(self, count: int) -> NDArray[Any]:
        """Return what stands for targets (n,) of which nobody says: NaN, which counts as the usual value, or ""."""
        return np.full(count, NO_GROUP, object) if self.above is None else np.full(count, np.nan)

    def holds(self, values: F64) -> Flags:
        """Return which numbers can play the role."""
        return np.isfinite(values) & (values > (-np.inf if self.above is None else self.above))

    def checked(self, values: NDArray[Any], count: int, name: str = "") -> F64:
        """Return numbers (n,) as float64. Raises `InputError`, which calls them `name`, for what cannot be one."""
        name = name or self.name
        if values.dtype.kind not in "iuf":
            raise InputError(name, "numbers", f"{values.dtype}")
        if values.shape != (count,):
            received = f"{len(values)}" if values.ndim == 1 else f"an array of shape {values.shape}"
            raise InputError(name, f"{count} numbers, one a target", received)
        numbers = values.astype(np.float64)
        if (wrong := ~self.holds(numbers)).any():
            row = int(np.argmax(wrong))
            raise InputError(f"{name}, row {row}", self.expected, values[row])
        return numbers

    def given(self, values: NumbersLike, count: int, ids: pa.Array | None = None) -> F64:
        """Return the numbers of n targets from a file, or an array. Raises `StorageError`, `InputError`.

        Numbers of a table with ids go to the targets of these `ids`, without them row numbers.
        """
        if not isinstance(values, str | Path):
            return self.checked(as_array(values, self.name), count)
        known = to_arrow(np.arange(count)) if ids is None else ids
        column = read_column(values, self.name, lone=True).joined("target", known)
        return self.checked(_numbers(column), count, column.name)


PRIOR = TargetRole("target prior", "a finite number above 0; add 1 to counts that may be 0", 0.0)
OWN_OFFSETS = TargetRole("offsets", "a finite number", -np.inf)
FIT_BY = TargetRole("fit_by", "texts, whole numbers or booleans that name groups", of_queries=True)
TARGET_ROLES: Mapping[str, TargetRole] = {role.parameter: role for role in (PRIOR, OWN_OFFSETS, FIT_BY)}


def group_names(payload: pa.Table | None, column: str, name: str) -> Names:
    """Return the group of each row of payload (n,): texts, whole numbers or booleans of a column, all as text.

    Rows whose column is null or empty belong to none; of free payload also those that have another kind of value.
    Raises `InputError` naming the payload, by `name`, that has no such column, or another type in it.
    """
    schema = None if payload is None else payload.schema
    if payload is not None and is_free(schema):
        objects = (row for batch in payload.to_batches() for row in free_rows(batch, [column]))
        return np.array([text_of(row.get(column)) for row in objects], object)
    if payload is None or column not in payload.column_names:
        known = "no columns" if payload is None else names_of(payload.column_names)
        raise InputError(name, f"a column {column}, which names the group of each row", known)
    values = payload.column(column)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    kind = values.type
    if not any(is_named(kind) for is_named in _NAMING):
        raise InputError(f"{name}, column {column}", FIT_BY.expected, str(kind))
    return np.array([each or NO_GROUP for each in values.cast(pa.large_string()).to_pylist()], object)


def text_of(value: Any) -> str:
    """Return the name of the group that a value of payload stands for; "" for none."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int) else NO_GROUP


def _numbers(column: Column) -> NDArray[Any]:
    values = column.values if isinstance(column.values, np.ndarray) else listed(column, "numbers, one a target")
    if column.as_text:
        values = [_number(text, f"{column.name}, row {row}") for row, text in enumerate(values)]
    return as_array(values, column.name)


def _number(text: str, place: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(place, "a number", brief(text)) from error
