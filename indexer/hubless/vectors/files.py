"""Opening files of vectors in the formats of `hubless.vectors.readers.formats`, and folders of such shards."""

import os
import zipfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from hubless.errors import InputError
from hubless.vectors.arrays import as_float32
from hubless.vectors.fetched import fetched_file, reading_given
from hubless.vectors.ids import ID_COLUMN, id_array
from hubless.vectors.listing import is_folder, is_there
from hubless.vectors.npy import NpyVectors, NpzArrays, chosen_array, read_header, read_npy, split_member
from hubless.vectors.object_rows import by_column
from hubless.vectors.payload import as_table
from hubless.vectors.readers.arrow_rows import Dataset, open_arrow, open_dataset, open_parquet
from hubless.vectors.readers.formats import Use, endings_of, format_of
from hubless.vectors.readers.json_rows import json_document
from hubless.vectors.readers.pickles import plain_pickle
from hubless.vectors.readers.raw_rows import open_faiss, open_safetensors, open_vecs
from hubless.vectors.readers.several_files import Shard, shard_files, stacked_payload
from hubless.vectors.readers.tabular import TableFile, columns_of_vectors, dimensions, is_number, matrices
from hubless.vectors.readers.text_tables import open_csv, open_jsonl
from hubless.vectors.sources import (
    ArrayVectors,
    Chunks,
    StackedVectors,
    StreamedVectors,
    VectorSource,
    as_source,
    block_rows,
)

SHARDS = endings_of(Use.SHARDS)
"""Endings of files of vectors, which may stand in a folder together."""
_IDS = 65_536
"""Ids that are read at a time."""
_SPLITS = "dataset_dict.json"
"""What Hugging Face writes into a folder of several data sets."""


@dataclass(frozen=True)
class Items:
    """Contents of a file of vectors: the vectors, and ids and payload if it is a table (or `.npz`, for ids)."""

    vectors: VectorSource
    ids: pa.Array | None = None
    payload: Dataset | None = None
    payload_columns: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


Vectors: TypeAlias = str | Path | VectorSource | ArrayLike
"""Forms of vectors: a file or a folder, a source, or an array as `hubless.vectors.arrays.as_array` takes it."""


def as_items(vectors: Vectors, parameter: str) -> Items:
    """Return the content of a file of vectors; or vectors that come without a file, ids and payload."""
    if isinstance(vectors, str | Path):
        return open_items(vectors, parameter)
    if hasattr(vectors, "__arrow_c_stream__") and hasattr(vectors, "columns"):
        table = as_table(vectors)
        # a table of numbers only is a matrix, whatever its columns are called
        if ID_COLUMN in table.column_names or not all(map(is_number, table.schema.types)):
            return _table_items(_held(table, parameter))
    return Items(as_source(vectors, parameter))


def open_items(path: str | Path, parameter: str) -> Items:
    """Open a file of vectors, or a folder of such files: shards, in `natural_order`.

    A `.npz` has an array `vectors`, or a single array, and perhaps `ids`; `file.npz:name` names another. A table has
    vectors as `hubless.vectors.readers.tabular.columns_of_vectors` says, perhaps a column `id`, and payload.
    `parameter` says what the file is for.
    """
    path, member = split_member(path)
    name = f"{parameter} ({path.name})"
    if is_there(path) and is_folder(path):
        with reading_given(path, name):
            return _open_folder(path, name)
    if fetched_file(path, parameter).stat().st_size == 0:
        raise InputError(name, "a file of vectors", "an empty file")
    opener = _OPENERS[format_of(path, name, Use.VECTORS).name]
    with reading_given(path, name):
        items = opener(path, name) if member is None else _open_npz(path, name, member)
        items = replace(items, files=(path,))
    if min(items.vectors.shape) < 1:
        raise InputError(name, "at least one row and one dimension", f"shape {items.vectors.shape}")
    return items


def _open_folder(path: Path, name: str) -> Items:
    """Open the shards of a folder as one. Raises `InputError` if there are none, or they are not alike."""
    if (path / _SPLITS).exists():
        raise InputError(name, "one of its splits, such as its folder train", "a folder of several data sets")
    files = shard_files(path, SHARDS, name)
    shards = [open_items(file, name) for file in files]
    ids = _ids_of([shard.ids for shard in shards], name)
    parts = [Shard(each.payload, each.payload_columns, each.vectors.shape[0]) for each in shards]
    payload, columns = stacked_payload(dict(zip(files, parts, strict=True)), path, name)
    return Items(StackedVectors([shard.vectors for shard in shards], name), ids, payload, tuple(columns), tuple(files))


def _ids_of(found: Sequence[pa.Array | None], name: str) -> pa.Array | None:
    """Return the ids of all shards. Raises `InputError` unless they are of one type, or there are none."""
    ids = [each for each in found if each is not None]
    if ids and len(ids) < len(found):
        raise InputError(name, "ids in all shards or in none", f"ids in {len(ids)} of {len(found)}")
    if len({each.type for each in ids}) > 1:
        raise InputError(name, "ids of one type in all shards", "numbers and strings")
    return pa.concat_arrays(ids) if ids else None


def _open_npy(path: Path, name: str) -> Items:
    with path.open("rb") as file:
        shape, fortran_order, dtype = read_header(file)
        start = file.tell()
        size = file.seek(0, os.SEEK_END)
    _check_matrix(shape, dtype, name)
    rows, dim = shape
    if size - start < rows * dim * dtype.itemsize:
        raise ValueError(f"{size - start} bytes for {rows} rows of {dim} numbers")
    if fortran_order:
        return Items(ArrayVectors(read_npy(path), name))
    return Items(NpyVectors(path, start, dtype, (rows, dim), name))


def _open_npz(path: Path, name: str, wanted: str | None = None) -> Items:
    with zipfile.ZipFile(path) as archive:
        members = [member.removesuffix(".npy") for member in archive.namelist() if member.endswith(".npy")]
        ids = id_array(NpzArrays(archive)["ids"], f"{name}, ids") if "ids" in members else None
        arrays = [member for member in members if member != "ids"]
        member = chosen_array(arrays, wanted, "vectors", name)
        with archive.open(f"{member}.npy") as stream:
            shape, fortran_order, dtype = read_header(stream)
            size = archive.getinfo(f"{member}.npy").file_size - stream.tell()
        _check_matrix(shape, dtype, name)
        if size != shape[0] * shape[1] * dtype.itemsize:
            raise InputError(name, f"{shape[0]} rows of {shape[1]} numbers, as its header says", f"{size} bytes")
        if fortran_order:
            return Items(ArrayVectors(NpzArrays(archive)[member], name), ids)
    return Items(StreamedVectors(lambda: _npz_chunks(path, member, name), (shape[0], shape[1]), name), ids)


def _npz_chunks(path: Path, member: str, name: str) -> Chunks:
    with reading_given(path, name), zipfile.ZipFile(path) as archive, archive.open(f"{member}.npy") as stream:
        (rows, dim), _, dtype = read_header(stream)
        step = block_rows(dim)
        for start in range(0, rows, step):
            count = min(step, rows - start)
            chunk = stream.read(count * dim * dtype.itemsize)
            yield np.frombuffer(chunk, dtype).reshape(count, dim)


def _check_matrix(shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> None:
    if len(shape) != 2:
        raise InputError(name, "a matrix, one row an item", f"an array of shape {shape}")
    as_float32(np.empty((0, shape[1]), dtype), name)


def _of_table(open_table: Callable[[Path, str], TableFile]) -> Callable[[Path, str], Items]:
    """Return what opens a table with vectors, and perhaps ids and payload."""
    return lambda path, name: _table_items(open_table(path, name), path)


def _table_items(table: TableFile, path: Path | None = None) -> Items:
    """Return the vectors of a table, its ids and its payload; of one in memory without a path."""
    columns = columns_of_vectors(table)
    dim = dimensions(table, columns)

    def chunks() -> Chunks:
        with nullcontext() if path is None else reading_given(path, table.name):
            yield from matrices(table, columns, dim, block_rows(dim))

    ids = None
    if ID_COLUMN in table.schema.names:
        found = pa.Table.from_batches(table.batches([ID_COLUMN], _IDS)).column(0).combine_chunks()
        ids = id_array(found, f"{table.name}, column id")
    payload = tuple(field for field in table.schema.names if field not in (*columns, ID_COLUMN))
    vectors = StreamedVectors(chunks, (table.count, dim), table.name)
    return Items(vectors, ids, table.payload(payload) if payload else None, payload)


def _held(table: pa.Table, name: str) -> TableFile:
    return TableFile(
        name,
        table.schema,
        len(table),
        lambda columns, rows: iter(table.select(list(columns)).to_batches(rows)),
        lambda columns: open_dataset(table),
    )


def _of_object(read: Callable[[Path], Any]) -> Callable[[Path, str], Items]:
    """Return what opens a file of one object: a list of rows or vectors, a dict of columns or of vectors by id."""
    return lambda path, name: _table_items(_held(as_table(by_column(read(path))), name))


_OPENERS: dict[str, Callable[[Path, str], Items]] = {
    "NumPy": _open_npy,
    "NumPy archive": _open_npz,
    "Parquet": _of_table(open_parquet),
    "Arrow IPC": _of_table(open_arrow),
    "CSV": _of_table(open_csv),
    "JSON lines": _of_table(open_jsonl),
    "JSON": _of_object(json_document),
    "pickle": _of_object(plain_pickle),
    "vecs of TEXMEX": lambda path, name: Items(open_vecs(path, name)),
    "safetensors": lambda path, name: Items(open_safetensors(path, name)),
    "Faiss index": lambda path, name: Items(*open_faiss(path, name)),
}
"""What opens the formats that may hold vectors."""
