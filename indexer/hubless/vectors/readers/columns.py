"""A file with a value for each row, or a list of values: labels, groups, priors."""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from hubless.errors import InputError
from hubless.vectors.arrays import to_arrow
from hubless.vectors.fetched import fetched_file, reading_given
from hubless.vectors.ids import ID_COLUMN, Ids, id_array, rows_by_id
from hubless.vectors.listing import ending_of
from hubless.vectors.npy import chosen_array, open_npz, read_npy, split_member
from hubless.vectors.readers.arrow_rows import open_arrow, open_parquet
from hubless.vectors.readers.csv_rows import CsvFile
from hubless.vectors.readers.pickles import read_pickle
from hubless.vectors.readers.several_files import shard_files

_Table: TypeAlias = tuple[Sequence[str], Callable[[str], Any]]
"""The names of the columns of a table, and what reads one."""

_IDS = "ids"
_KINDS = "iufUSOT"
"""Kinds of NumPy that hold values: numbers, texts and objects."""


class Column(NamedTuple):
    """Values in the order of the rows, or by key, and the name of their file in messages.

    `as_text` says that the file holds nothing but text, so that 5 and "5" look the same in it. `ids` name the rows.
    """

    values: Any
    name: str
    as_text: bool = False
    ids: pa.Array | None = None

    def joined(self, noun: str, ids: pa.Array | None) -> "Column":
        """Return the values in the order of things, each called `noun`, that have these ids. It may have more.

        Things without ids are called by their row numbers, if these are the ids here; else they are taken row by row.
        """
        rows = None
        if ids is not None:
            rows = rows_by_id(ids, self.ids, noun, self.name, more=True)
        elif self.ids is not None:
            with suppress(InputError):
                rows = rows_by_id(to_arrow(np.arange(len(self.ids))), self.ids, noun, self.name)
        if rows is None:
            return self
        values = listed(self, "a table")
        return self._replace(values=[values[row] for row in rows])


def read_column(path: str | Path, parameter: str, *, lone: bool = False) -> Column:
    """Return the values in a file. Of several columns or arrays it takes the one with the name of the parameter.

    Kinds: `.npy`, `.npz` (or `file.npz:name`), `.txt` (a value a line), `.csv`, `.tsv`, `.json`, `.jsonl` (values, or
    objects), `.parquet`, `.arrow`, and `.pkl` with a NumPy array of numbers. A column `id` names the rows of a table;
    a `lone` one beside it may have any name. Raises `StorageError` if there is no such file, and `InputError` if it
    cannot be read.
    """
    path, member = split_member(path)
    fetched_file(path, parameter)
    name = f"{parameter} ({path.name})"
    ending = ending_of(path)
    if ending not in ID_FILES:
        *some, last = ID_FILES
        raise InputError(name, f"a file ending in {', '.join(some)} or {last}", path.suffix or "no ending")
    ids = None
    try:
        usual = parameter.rpartition(".")[2].replace(" ", "_")
        with reading_given(path, name):
            named = ID_COLUMN if usual == _IDS else usual
            if ending in _TABLES:
                values, ids = _picked(_TABLES[ending](path), named, lone)
            elif ending in _LINES:
                values, ids = _jsonl(path, named, lone)
            else:
                values = _READERS[ending](path, usual) if member is None else _npz(path, usual, member)
    except InputError as error:
        raise InputError(name, error.expected, error.received) from error
    return Column(values, name, ending in _OF_TEXT, None if ids is None else id_array(ids, f"{name}, column id"))


def listed(column: Column, expected: str) -> list[Any]:
    """Return the values of a column as a list. Raises `InputError` that says what was expected."""
    values = column.values
    if isinstance(values, np.ndarray):
        if values.ndim not in (1, 2) or values.dtype.kind not in _KINDS:
            raise InputError(column.name, expected, f"an array of {values.dtype}, shape {values.shape}")
        found: list[Any] = values.tolist()
        return found
    for method in ("to_pylist", "to_list", "tolist"):  # of Arrow, of pandas and polars, of tensors
        if hasattr(values, method):
            return listed(Column(getattr(values, method)(), column.name), expected)
    if not isinstance(values, list | tuple):
        raise InputError(column.name, expected, "none" if values is None else type(values).__name__)
    return list(values)


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file of text in UTF-8."""
    # str.splitlines would also split at form feeds and Unicode separators, which an id may contain
    text = path.read_text("utf-8-sig")
    return text.removesuffix("\n").split("\n") if text else []


def as_ids(ids: Ids) -> pa.Array:
    """Return ids from a file, as `read_ids`, or else as `id_array`."""
    return read_ids(ids) if isinstance(ids, str | Path) else id_array(ids, "ids")


def read_ids(path: str | Path) -> pa.Array:
    """Return ids from a file of `read_column`, or of a folder of such. Raises `StorageError`, and `InputError`."""
    if Path(path).is_dir():
        return id_array(pa.chunked_array([read_ids(file) for file in shard_files(Path(path), ID_FILES, _IDS)]), _IDS)
    column = read_column(path, _IDS)
    return id_array(column.values, column.name)


def _npz(path: Path, usual: str, member: str | None = None) -> Any:
    with open_npz(path) as arrays:
        return arrays[chosen_array([*arrays], member, usual, "")]


def _picked(table: _Table, wanted: str, lone: bool) -> tuple[Any, Any]:
    """Return the values of the column that is wanted, and the ids of the rows if another has them."""
    names, read = table
    others = [name for name in names if name != ID_COLUMN]
    if wanted not in names and len(names) != 1 and not (lone and len(others) == 1):
        beside = f" beside {ID_COLUMN}" * lone
        raise InputError("", f"a column named {wanted}, or a single one{beside}", ", ".join(names) or "none")
    column = wanted if wanted in names else (others or names)[0]
    return read(column), read(ID_COLUMN) if ID_COLUMN in names and column != ID_COLUMN else None


def _stored(path: Path) -> _Table:
    opened = (open_parquet if ending_of(path) == ".parquet" else open_arrow)(path, path.name)
    return opened.schema.names, lambda column: opened.payload(()).to_table(columns=[column])[column]


def _texts(path: Path) -> _Table:
    opened = CsvFile.open(path, path.name)
    return opened.columns, lambda column: opened.table([column])[column]


def _jsonl(path: Path, wanted: str, lone: bool) -> tuple[Any, Any]:
    values = []
    for number, line in enumerate(lines_of(path), 1):
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    if all(isinstance(value, dict) and (wanted in value or (lone and ID_COLUMN in value)) for value in values):
        names = list(dict.fromkeys(name for value in values for name in value))
        return _picked((names, lambda column: [value.get(column) for value in values]), wanted, lone)
    return values, None


_READERS: dict[str, Callable[[Path, str], Any]] = {
    ".npy": lambda path, _: read_npy(path),
    ".npz": _npz,
    ".txt": lambda path, _: lines_of(path),
    ".json": lambda path, _: json.loads(path.read_text("utf-8-sig")),
    ".pkl": lambda path, _: read_pickle(path),
}
_TABLES: dict[str, Callable[[Path], _Table]] = {
    ".parquet": _stored,
    ".arrow": _stored,
    ".feather": _stored,
    ".csv": _texts,
    ".tsv": _texts,
}
"""Readers of tables, whose rows may have ids."""
_LINES = (".jsonl", ".ndjson")
_OF_TEXT = (".txt", ".csv", ".tsv")
ID_FILES = (*_READERS, *_TABLES, *_LINES)
"""Endings of files of ids: of tables the column `id`, of archives the array `ids`, or a single one of any name."""
