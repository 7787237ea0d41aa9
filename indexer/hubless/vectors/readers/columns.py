"""A file with a value for each row, or a list of values: labels, groups, priors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from hubless.errors import InputError
from hubless.vectors.fetched import fetched_file, reading_given
from hubless.vectors.ids import lines_of
from hubless.vectors.listing import ending_of
from hubless.vectors.npy import chosen_array, open_npz, read_npy, split_member
from hubless.vectors.readers.csv_rows import CsvFile
from hubless.vectors.readers.pickles import read_pickle

_KINDS = "iufUSOT"
"""Kinds of NumPy that hold values: numbers, texts and objects."""


class Column(NamedTuple):
    """Values in the order of the rows, or by key, and the name of their file in messages.

    `as_text` says that the file holds nothing but text, so that 5 and "5" look the same in it.
    """

    values: Any
    name: str
    as_text: bool = False


def read_column(path: str | Path, parameter: str) -> Column:
    """Return the values in a file. Of several columns or arrays it takes the one with the name of the parameter.

    Kinds: `.npy`, `.npz` (or `file.npz:name`), `.txt` (a value a line), `.csv`, `.tsv`, `.json`, `.jsonl` (values, or
    objects), `.parquet`, and `.pkl` with a NumPy array of numbers. Raises `StorageError` if there is no such file, and
    `InputError` if it cannot be read.
    """
    path, member = split_member(path)
    fetched_file(path, parameter)
    name = f"{parameter} ({path.name})"
    ending = ending_of(path)
    if ending not in _READERS:
        *some, last = _READERS
        raise InputError(name, f"a file ending in {', '.join(some)} or {last}", path.suffix or "no ending")
    try:
        usual = parameter.rpartition(".")[2].replace(" ", "_")
        with reading_given(path, name):
            values = _READERS[ending](path, usual) if member is None else _npz(path, usual, member)
    except InputError as error:
        raise InputError(name, error.expected, error.received) from error
    return Column(values, name, ending in _OF_TEXT)


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


def _chosen(names: list[str], wanted: str) -> str:
    if wanted in names:
        return wanted
    if len(names) != 1:
        raise InputError("", f"a column named {wanted}, or a single one", ", ".join(names) or "none")
    return names[0]


def _npz(path: Path, usual: str, member: str | None = None) -> Any:
    with open_npz(path) as arrays:
        return arrays[chosen_array([*arrays], member, usual, "")]


def _parquet(path: Path, wanted: str) -> Any:
    column = _chosen(pq.read_schema(path).names, wanted)
    return pq.read_table(path, columns=[column]).column(0).to_pylist()


def _csv(path: Path, wanted: str) -> Any:
    opened = CsvFile.open(path, path.name)
    return opened.table([_chosen([*opened.columns], wanted)]).column(0).to_pylist()


def _jsonl(path: Path, wanted: str) -> Any:
    values = []
    for number, line in enumerate(lines_of(path), 1):
        try:
            values.append(json.loads(line))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
    if all(isinstance(value, dict) and wanted in value for value in values):
        return [value[wanted] for value in values]
    return values


_READERS: dict[str, Callable[[Path, str], Any]] = {
    ".npy": lambda path, _: read_npy(path),
    ".npz": _npz,
    ".txt": lambda path, _: lines_of(path),
    ".json": lambda path, _: json.loads(path.read_text("utf-8-sig")),
    ".jsonl": _jsonl,
    ".parquet": _parquet,
    ".csv": _csv,
    ".tsv": _csv,
    ".pkl": lambda path, _: read_pickle(path),
}
_OF_TEXT = (".txt", ".csv", ".tsv")
