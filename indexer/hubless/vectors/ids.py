"""Ids of targets, one a row: checked, stored, looked up."""

import json
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hubless.errors import DuplicateIds, InputError, PointNotFound
from hubless.vectors.arrays import is_text
from hubless.vectors.object_rows import brief, unmasked
from hubless.vectors.plain_arrow import plain_file, write_arrow

Ids: TypeAlias = str | Path | Sequence[str] | Sequence[int] | NDArray[Any] | pa.Array

ID_COLUMN = "id"
_EXPECTED = "strings, or whole numbers of 64 bits"
_BEYOND = 2**63
_ORDER_COLUMN = "order"
PANDAS_INDEX = "__index_level_"
"""How the columns begin that have the index of a frame, if it has no name."""


def id_array(values: Any, name: str) -> pa.Array:
    """Return ids as an Arrow array of int64 or large_string. UUIDs and bytes become text.

    Takes lists, arrays, also of objects, and columns of Arrow, pandas or polars. Raises `InputError` naming the first
    row that has no id, or one of another type than the first.
    """
    if isinstance(values, np.ma.MaskedArray):
        values = unmasked(values, name)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise InputError(name, f"{_EXPECTED}, one a row", f"an array of shape {values.shape}")
        # Arrow takes no other order of bytes
        plain = values.dtype.kind in "iuU"
        values = values.astype(values.dtype.newbyteorder("="), copy=False) if plain else list(values)
    try:
        array = values if isinstance(values, pa.Array) else pa.array(values)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        kind = _kind(array.type)
        if kind is not None and not array.null_count:
            return array if array.type == kind else array.cast(kind)
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError, ValueError):
        pass
    return _read_one_by_one(values.to_pylist() if isinstance(values, pa.Array | pa.ChunkedArray) else values, name)


def _kind(given: pa.DataType) -> pa.DataType | None:
    """Return the type that ids of a type are stored with; None for those that are looked at one by one."""
    if pa.types.is_integer(given):
        return pa.int64()
    return pa.large_string() if is_text(given) else None


def _read_one_by_one(values: Any, name: str) -> pa.Array:
    try:
        rows = np.asarray(values) if hasattr(values, "__array__") else values  # of dask and zarr, whose rows are arrays
        ids = [_id(value, f"{name}, row {row}") for row, value in enumerate(rows)]
    except TypeError as error:
        raise InputError(name, _EXPECTED, type(values).__name__) from error
    if not ids:
        raise InputError(name, _EXPECTED, "none")
    for row, each in enumerate(ids):
        if type(each) is not type(ids[0]):
            expected = "a string" if isinstance(ids[0], str) else "a whole number"
            raise InputError(f"{name}, row {row}", f"{expected}, as row 0 has", brief(each))
    return pa.array(ids, pa.int64() if isinstance(ids[0], int) else pa.large_string())


def _id(value: Any, place: str) -> str | int:
    """Return an id as text or as a whole number. Raises `InputError` naming the place of what is neither."""
    if isinstance(value, bool | np.bool_):
        raise InputError(place, _EXPECTED, brief(value))
    if isinstance(value, int | np.integer):
        if not -_BEYOND <= value < _BEYOND:
            raise InputError(place, "a whole number below 2^63, or a string", brief(value))
        return int(value)
    if value is None or value != value:  # NaN, or what pandas has in its place
        raise InputError(place, "an id for each row", "none")
    try:
        text = value.decode() if isinstance(value, bytes) else str(value) if isinstance(value, UUID) else value
        if isinstance(text, str):
            text.encode()
            return str(text)
    except UnicodeError as error:
        raise InputError(place, "text in UTF-8", brief(value)) from error
    raise InputError(place, _EXPECTED, brief(value))


def rows_by_id(
    ids: pa.Array | None, others: pa.Array | None, noun: str, name: str, *, more: bool = False
) -> NDArray[np.int64] | None:
    """Return the row in another source of each target (n,), or of what else `noun` says; None for their own order.

    This is the one join of what belongs to targets, or to queries. The other source, called `name`, has the same ids
    in any order, and perhaps `more`. A side without ids is taken row by row. Raises `InputError` naming the first id
    that one side lacks or the other has twice, or both types if they differ.
    """
    if ids is None or others is None:
        return None
    name = f"{name}, id"
    known = _alike(others, ids.type, noun, name)
    if known.equals(ids):
        return None
    if (twice := repeated(known)) is not None:
        raise InputError(name, "each id once", twice)
    rows = pc.index_in(ids, value_set=known)
    if len(absent := ids.filter(rows.is_null())):
        further = f" and {len(absent) - 1:,} more" * (len(absent) > 1)
        raise InputError(name, f"a row for the id of each {noun}", f"none for {absent[0].as_py()!r}{further}")
    unknown = pc.invert(pc.is_in(known, value_set=ids))
    if not more and pc.any(unknown).as_py():
        row = pc.index(unknown, True).as_py()
        raise InputError(f"{name}, row {row}", f"the id of a {noun}", repr(known[row].as_py()))
    return _numbers(rows.cast(pa.int64()))


def _alike(ids: pa.Array, kind: pa.DataType, noun: str, name: str) -> pa.Array:
    """Return ids in the type of others, in which each says the same."""
    with suppress(pa.ArrowException):
        cast = ids.cast(kind)
        if cast.cast(ids.type).equals(ids):
            return cast
    raise InputError(name, f"ids of type {kind}, as each {noun} has", ids.type)


def share_ids(some: pa.Array, others: pa.Array) -> bool:
    """Return whether an id stands in both."""
    with suppress(pa.ArrowException):
        return some.equals(others) or bool(pc.any(pc.is_in(others.cast(some.type), value_set=some)).as_py())
    return False


def seeming_ids(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """Return the columns that look like ids, though none is called `id`: `_id`, `ID`, and the index of pandas.

    An index without a name has to be text: numbers rather tell the order of older rows.
    """
    about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    named = [*about.get("index_columns", []), *(each for each in columns if each.strip("_").lower() == ID_COLUMN)]
    return [
        name
        for name in columns
        if name != ID_COLUMN
        and (_kind(schema.field(name).type) == pa.large_string() if name.startswith(PANDAS_INDEX) else name in named)
    ]


def index_ids(frame: Any) -> pa.Array | None:
    """Return the texts that are the index of a frame of pandas; None for an index of another kind, or no frame."""
    if hasattr(frame, "iloc") and frame.index.dtype.kind == "O":
        with suppress(InputError):
            return id_array(frame.index.to_numpy(), "index")
    return None


def write_ids(ids: pa.Array, path: Path) -> None:
    """Write unique ids and their sorted order to an Arrow file. Raises `DuplicateIds` naming an id that repeats."""
    write_arrow(pa.table({ID_COLUMN: ids, _ORDER_COLUMN: _order(ids)}), path)


def _numbers(array: pa.Array) -> NDArray[np.int64]:
    return np.asarray(np.from_dlpack(array))  # to_numpy imports pandas if it is installed


def repeated(ids: pa.Array) -> str | None:
    """Return in words an id that stands twice, and its rows; None if each stands once."""
    return _repeated(ids, pc.sort_indices(ids))


def _repeated(ids: pa.Array, order: pa.Array) -> str | None:
    if not (rows := rows_of_repeated(ids, order)):
        return None
    return f"{ids[rows[0]].as_py()!r} in rows {rows[0]} and {rows[1]}"


def rows_of_repeated(ids: pa.Array, order: pa.Array) -> list[int]:
    """Return two rows of an id that stands twice, ascending; none if each stands once. `order` sorts the ids."""
    ordered = ids.take(order)
    place = pc.index(pc.equal(ordered[1:], ordered[:-1]), True).as_py()
    return sorted(order[place : place + 2].to_pylist()) if place >= 0 else []


def _order(ids: pa.Array) -> pa.Array:
    order = pc.sort_indices(ids)
    if (twice := _repeated(ids, order)) is not None:
        raise DuplicateIds("ids", "unique ids", twice)
    return order.cast(pa.int64())


class IdTable:
    """The ids (n,) of targets: row → id by position, id → row by binary search in the sorted order."""

    def __init__(self, ids: pa.Array, order: NDArray[np.int64]) -> None:
        self.array = ids
        self._order = order
        self._numbers = _numbers(ids) if pa.types.is_integer(ids.type) else None

    @classmethod
    def of(cls, ids: pa.Array) -> "IdTable":
        return cls(ids, _numbers(_order(ids)))

    @classmethod
    def open(cls, path: Path) -> "IdTable":
        """Return the table that `write_ids` wrote, mapped. Raises `ValueError` or `ArrowException` if it is none."""
        table = plain_file(path)  # sound: whatever the file holds, a lookup may not read outside it
        ids = table.column(ID_COLUMN).combine_chunks()
        order = _numbers(table.column(_ORDER_COLUMN).combine_chunks())
        if len(order) and not 0 <= order.min() <= order.max() < len(ids):
            raise ValueError("the order of the ids names rows that are not there")
        return cls(ids, order)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def type(self) -> str:
        return "string" if self._numbers is None else "int64"

    def part(self, start: int, stop: int) -> "IdTable":
        """The ids of the rows from one up to another."""
        whole = start == 0 and stop == len(self.array)
        return self if whole else IdTable.of(self.array.slice(start, stop - start))

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        if self._numbers is not None:
            return [*self._numbers[rows].tolist()]
        return [self.array[row].as_py() for row in rows.tolist()]

    def rows(self, wanted: Sequence[Any]) -> NDArray[np.int64]:
        """The row of each of some ids; −1 for one that is none of them."""
        if self._numbers is not None and len(self._order) and all(type(each) is int for each in wanted):
            with suppress(OverflowError):
                asked = np.array(wanted, np.int64)
                places = np.minimum(np.searchsorted(self._numbers, asked, sorter=self._order), len(self._order) - 1)
                found = self._order[places]
                return np.where(self._numbers[found] == asked, found, -1)
        return np.array([self._row(each) for each in wanted], np.int64)

    def row(self, wanted: str | int) -> int:
        if (row := self._row(wanted)) < 0:
            raise unknown_id(wanted, self.type)
        return row

    @property
    def largest(self) -> Any:
        """The largest; None without any."""
        return self._id(self._order[-1]) if len(self._order) else None

    def _row(self, wanted: Any) -> int:
        if isinstance(wanted, str if self._numbers is None else int | np.integer) and not isinstance(wanted, bool):
            place = bisect_left(self._order, wanted, key=self._id)
            if place < len(self._order) and self._id(self._order[place]) == wanted:
                return int(self._order[place])
        return -1

    def _id(self, row: int) -> Any:
        return self.array[int(row)].as_py() if self._numbers is None else int(self._numbers[row])


def unknown_id(wanted: Any, kind: str) -> PointNotFound:
    """Return the error for an id that no target has, which says if ids have another type, `int64` or `string`."""
    other = isinstance(wanted, str) != (kind == "string")
    such = f": ids are {'texts' if kind == 'string' else 'whole numbers'} here" if other else ""
    return PointNotFound(f"no target has the id {wanted!r}{such}")


def parsed_id(text: str, kind: str) -> str | int:
    """Return an id of a type, `int64` or `string`, from its text. Raises `PointNotFound` if it cannot be one."""
    if kind == "string":
        return text
    with suppress(ValueError):
        if str(number := int(text)) == text:
            return number
    raise unknown_id(text, kind)
