"""Opening files of vectors: `.npy`, `.npz`, Parquet, and folders of such shards."""

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from hubless.errors import InputError, StorageError, one_line
from hubless.vectors.arrays import as_float32, is_list, matrix_of
from hubless.vectors.fetched import fetched_file
from hubless.vectors.ids import ID_COLUMN, id_array
from hubless.vectors.listing import ending_of, files_in, is_folder, is_there
from hubless.vectors.npy import NpyVectors, NpzArrays, read_header, read_npy
from hubless.vectors.payload import Dataset, open_dataset
from hubless.vectors.sources import (
    ArrayVectors,
    Chunks,
    StackedVectors,
    StreamedVectors,
    VectorSource,
    as_source,
    block_rows,
)

_VECTOR_COLUMNS = ("vector", "embedding")
SHARDS = (".npy", ".npz", ".parquet")
"""Endings of files of vectors, which may stand in a folder together."""
_OF_JSON = (
    " (targets are vectors; if the lines have some, make them Parquet: python -c "
    '\'from pyarrow import json, parquet; parquet.write_table(json.read_json("{0}.jsonl"), "{0}.parquet")\'; '
    "texts have to be encoded first, and other fields are --payload)"
)
_OF_TEXT = " (targets are vectors; texts have to be encoded first, and other fields are --payload)"
_HINTS = {".jsonl": _OF_JSON, ".ndjson": _OF_TEXT, ".json": _OF_TEXT, ".csv": _OF_TEXT, ".txt": _OF_TEXT}


@dataclass(frozen=True)
class Items:
    """Contents of a file of vectors: the vectors, and ids and payload if it is Parquet (or `.npz`, for ids)."""

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
    return Items(as_source(vectors, parameter))


def open_items(path: str | Path, parameter: str) -> Items:
    """Open a file of vectors, or a folder of such files: shards, in `natural_order`.

    A `.npz` has an array `vectors`, or a single array, and perhaps `ids`. A `.parquet` has a list column
    `vector` or `embedding`, or one only, perhaps a column `id`, and the rest is payload. `parameter` says what the file
    is for.
    """
    path = Path(path)
    name = f"{parameter} ({path.name})"
    if not is_there(path):
        raise StorageError(path, f"{parameter}: there is no such file")
    if is_folder(path):
        with _reading(path, name):
            return _open_folder(path, name)
    if fetched_file(path, parameter).stat().st_size == 0:
        raise InputError(name, "a file of vectors", "an empty file")
    openers = {".npy": _open_npy, ".npz": _open_npz, ".parquet": _open_parquet}
    if ending_of(path) not in openers:
        expected = f"a file ending in .npy, .npz or .parquet{_HINTS.get(path.suffix, '').format(path.with_suffix(''))}"
        raise InputError(name, expected, path.suffix or "no ending")
    with _reading(path, name):
        items = openers[ending_of(path)](path, name)
    if min(items.vectors.shape) < 1:
        raise InputError(name, "at least one row and one dimension", f"shape {items.vectors.shape}")
    return items


@contextmanager
def _reading(path: Path, name: str) -> Iterator[None]:
    """Turn what the readers raise for a damaged file into our errors. Some of them raise only at a later block."""
    try:
        yield
    except InputError:
        raise
    except PermissionError as error:
        raise StorageError(path, "no permission") from error
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, pa.ArrowException) as error:
        raise InputError(name, f"a readable {path.suffix} file", one_line(error)) from error


def _open_folder(path: Path, name: str) -> Items:
    files = files_in(path, SHARDS)
    if not files:
        raise InputError(name, f"a folder of {', '.join(SHARDS)} files", "a folder without any")
    if len(kinds := sorted({ending_of(file) for file in files})) > 1:
        raise InputError(name, "shards of one kind", " and ".join(kinds))
    shards = [open_items(file, name) for file in files]
    with_ids = [shard.ids for shard in shards if shard.ids is not None]
    if 0 < len(with_ids) < len(shards):
        raise InputError(name, "ids in all shards or in none", f"ids in {len(with_ids)} of {len(shards)}")
    if len({ids.type for ids in with_ids}) > 1:
        raise InputError(name, "ids of one type in all shards", "numbers and strings")
    columns = shards[0].payload_columns
    for file, shard in zip(files, shards, strict=True):
        if shard.payload_columns != columns:
            raise InputError(
                f"{name}, {file.name}", f"the payload columns {list(columns)}", list(shard.payload_columns)
            )
    return Items(
        StackedVectors([shard.vectors for shard in shards], name),
        pa.concat_arrays(with_ids) if with_ids else None,
        open_dataset([str(file) for file in files]) if columns else None,
        columns,
        tuple(files),
    )


def _open_npy(path: Path, name: str) -> Items:
    with path.open("rb") as file:
        shape, fortran_order, dtype = read_header(file)
        start, size = file.tell(), file.seek(0, os.SEEK_END)
    _check_matrix(shape, dtype, name)
    rows, dim = shape
    if size - start < rows * dim * dtype.itemsize:
        raise ValueError(f"{size - start} bytes for {rows} rows of {dim} numbers")
    if fortran_order:
        return Items(ArrayVectors(read_npy(path), name), files=(path,))
    return Items(NpyVectors(path, start, dtype, (rows, dim), name), files=(path,))


def _open_npz(path: Path, name: str) -> Items:
    with zipfile.ZipFile(path) as archive:
        members = [member.removesuffix(".npy") for member in archive.namelist() if member.endswith(".npy")]
        ids = id_array(NpzArrays(archive)["ids"], f"{name}, ids") if "ids" in members else None
        arrays = [member for member in members if member != "ids"]
        if "vectors" not in arrays and len(arrays) != 1:
            raise InputError(name, "an array named vectors, or a single array", f"arrays {arrays}")
        member = "vectors" if "vectors" in arrays else arrays[0]
        with archive.open(f"{member}.npy") as stream:
            shape, fortran_order, dtype = read_header(stream)
            size = archive.getinfo(f"{member}.npy").file_size - stream.tell()
        _check_matrix(shape, dtype, name)
        if size != shape[0] * shape[1] * dtype.itemsize:
            raise InputError(name, f"{shape[0]} rows of {shape[1]} numbers, as its header says", f"{size} bytes")
        if fortran_order:
            return Items(ArrayVectors(NpzArrays(archive)[member], name), ids, files=(path,))
    return Items(
        StreamedVectors(lambda: _npz_chunks(path, member, name), (shape[0], shape[1]), name), ids, files=(path,)
    )


def _npz_chunks(path: Path, member: str, name: str) -> Chunks:
    with _reading(path, name), zipfile.ZipFile(path) as archive, archive.open(f"{member}.npy") as stream:
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


def _open_parquet(path: Path, name: str) -> Items:
    schema = pq.read_schema(path)
    column = _vector_column(schema, name)
    dim = _list_size(schema.field(column).type, path, column, name)
    shape = (pq.read_metadata(path).num_rows, dim)
    vectors = StreamedVectors(lambda: _parquet_chunks(path, column, dim, name), shape, name)
    ids = None
    if ID_COLUMN in schema.names:
        found = pq.read_table(path, columns=[ID_COLUMN]).column(0).combine_chunks()
        ids = id_array(found, f"{name}, column id")
    payload = tuple(field for field in schema.names if field not in (column, ID_COLUMN))
    return Items(vectors, ids, open_dataset(str(path)) if payload else None, payload, (path,))


def _vector_column(schema: pa.Schema, name: str) -> str:
    if len(set(schema.names)) < len(schema.names):
        raise InputError(name, "columns of different names", f"columns {schema.names}")
    lists = [field.name for field in schema if is_list(field.type) and pa.types.is_floating(field.type.value_type)]
    named = [column for column in _VECTOR_COLUMNS if column in lists]
    if named:
        return str(named[0])
    if len(lists) != 1:
        got = f"list columns {lists}" if lists else f"columns {schema.names}, none of them a list of floats"
        raise InputError(name, f"one list<float> column, or one named {' or '.join(_VECTOR_COLUMNS)}", got)
    return str(lists[0])


def _list_size(kind: pa.DataType, path: Path, column: str, name: str) -> int:
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1, columns=[column]):
            first = batch.column(column)[0]
            if not first.is_valid:
                raise InputError(f"{name}, row 0", "a vector", "a null")
            return len(first)
    return 0


def _parquet_chunks(path: Path, column: str, dim: int, name: str) -> Chunks:
    start = 0
    with _reading(path, name), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(block_rows(dim), columns=[column]):
            lists = batch.column(column)
            yield matrix_of(lists, name, dim, start)
            start += len(lists)
