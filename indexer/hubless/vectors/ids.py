"""Ids of targets, one a row: checked, stored, looked up."""

from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hubless.errors import DuplicateIds, InputError, PointNotFound, StorageError, one_line
from hubless.vectors.npy import read_npy

Ids: TypeAlias = str | Path | Sequence[str] | Sequence[int] | NDArray[Any] | pa.Array

ID_COLUMN = "id"
_ORDER_COLUMN = "order"


def id_array(values: Any, name: str) -> pa.Array:
    """Return ids as an Arrow array of int64 or large_string."""
    expected = "strings, or whole numbers of 64 bits"
    try:
        if isinstance(values, np.ndarray):
            if values.ndim != 1 or values.dtype.kind not in "iuU":
                raise InputError(name, expected, f"an array of {values.dtype}, shape {values.shape}")
            values = values.astype(values.dtype.newbyteorder("="), copy=False)  # Arrow takes no other
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        array = values if isinstance(values, pa.Array) else pa.array(values)
        if pa.types.is_integer(array.type):
            array = array.cast(pa.int64())
        elif pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
            array = array.cast(pa.large_string())
        else:
            raise InputError(name, expected, f"{array.type}")
    except (pa.ArrowException, OverflowError, UnicodeError, TypeError) as error:
        raise InputError(name, expected, one_line(error)) from error
    if array.null_count:
        raise InputError(name, "an id for each row", f"{array.null_count} empty ids")
    return array


def as_ids(ids: "Ids") -> pa.Array:
    """Return ids from a file, as `read_ids`, or else as `id_array`."""
    return read_ids(ids) if isinstance(ids, str | Path) else id_array(ids, "ids")


def read_ids(path: str | Path) -> pa.Array:
    """Return ids from a `.npy`, a `.txt` (one a line) or a `.parquet` (the column `id`, or the only one)."""
    path = Path(path)
    name = f"ids ({path.name})"
    if not path.is_file():
        raise StorageError(path, "ids: there is no such file")
    try:
        match path.suffix:
            case ".npy":
                return id_array(read_npy(path), name)
            case ".txt":
                # str.splitlines would also split at form feeds and Unicode separators, which an id may contain
                text = path.read_text("utf-8-sig")
                return id_array(text.removesuffix("\n").split("\n") if text else [], name)
            case ".parquet":
                columns = pq.read_schema(path).names
                if ID_COLUMN not in columns and len(columns) != 1:
                    raise InputError(name, "a column named id, or a single column", f"columns {columns}")
                column = ID_COLUMN if ID_COLUMN in columns else columns[0]
                return id_array(pq.read_table(path, columns=[column]).column(0).combine_chunks(), name)
    except InputError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(name, f"a readable {path.suffix} file", one_line(error)) from error
    raise InputError(name, "a file ending in .npy, .txt or .parquet", path.suffix or "no ending")


def write_ids(ids: pa.Array, path: Path) -> None:
    """Write unique ids and their sorted order to an Arrow file. Raises `DuplicateIds` naming an id that repeats."""
    table = pa.table({ID_COLUMN: ids, _ORDER_COLUMN: _order(ids)})
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _numbers(array: pa.Array) -> NDArray[np.int64]:
    numbers: Any = np.from_dlpack(array)  # to_numpy imports pandas if it is installed
    found: NDArray[np.int64] = numbers
    return found


def _order(ids: pa.Array) -> pa.Array:
    order = pc.sort_indices(ids)
    ordered = ids.take(order)
    twice = pc.equal(ordered[1:], ordered[:-1])
    if pc.any(twice).as_py():
        place = pc.index(twice, True).as_py()
        rows = sorted((order[place].as_py(), order[place + 1].as_py()))
        raise DuplicateIds("ids", "unique ids", f"{ordered[place].as_py()!r} in rows {rows[0]} and {rows[1]}")
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
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        # whatever the file holds, a lookup may not read outside it
        table.validate(full=True)
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

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        if self._numbers is not None:
            numbers: list[str | int] = self._numbers[rows].tolist()
            return numbers
        return [self.array[row].as_py() for row in rows.tolist()]

    def row(self, wanted: str | int) -> int:
        if isinstance(wanted, str if self._numbers is None else int | np.integer) and not isinstance(wanted, bool):
            place = bisect_left(self._order, wanted, key=self._id)
            if place < len(self._order) and self._id(self._order[place]) == wanted:
                return int(self._order[place])
        raise PointNotFound(f"no target has the id {wanted!r}")

    def parse(self, text: str) -> str | int:
        if self._numbers is None:
            return text
        with suppress(ValueError):
            if str(number := int(text)) == text:
                return number
        raise PointNotFound(f"no target has the id {text!r}: ids are whole numbers here")

    def _id(self, row: int) -> Any:
        return self.array[int(row)].as_py() if self._numbers is None else int(self._numbers[row])
