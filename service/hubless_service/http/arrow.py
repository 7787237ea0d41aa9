"""Arrow IPC streams as bodies: vectors, and whole points."""

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import hubless
from hubless.errors import InputError, one_line
from hubless.vectors.arrays import F32
from hubless_service.http.problems import HttpProblem, clip

ARROW = "application/vnd.apache.arrow.stream"
VECTOR = "vector"
_HEADER, _COMPRESSION = 2, 3
"""Places of fields in the flatbuffers of a message and of a record batch: Message.fbs of Arrow."""
_BATCH, _DICTIONARY = 3, 2


def read_table(body: bytes) -> pa.Table:
    """The rows of a stream."""
    try:
        _refuse_compressed(body)
        with pa.ipc.open_stream(body) as stream:
            table = stream.read_all()
        table.validate(full=True)
        _check_names(pa.struct(list(table.schema)))
    except InputError:
        raise
    except (pa.ArrowException, OSError, struct.error, IndexError, ValueError) as error:
        raise HttpProblem("malformed_body", f"The body is not an Arrow IPC stream: {clip(one_line(error))}") from error
    return table


def vectors_of(
    table: pa.Table, collection: hubless.Collection, where: str = VECTOR, *, all_needed: bool = True
) -> tuple[F32, Any]:
    """The column `vector` as rows (m, d) prepared for the collection, and which of them are there (m,).

    Rows that are null are 0.
    """
    column = table[VECTOR].combine_chunks()
    kind = column.type
    lists = pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if not (lists and pa.types.is_floating(kind.value_type)):
        raise InputError(where, f"fixed_size_list<float32>[{collection.dim}]", clip(str(kind)))
    there = column.is_valid().to_numpy(zero_copy_only=False)
    if all_needed and not there.all():
        raise InputError(f"{where}[{int(np.argmin(there))}]", "a vector", "null")
    given = column.drop_null()
    numbers = given.flatten()
    if numbers.null_count:
        raise InputError(where, "numbers", "null in a vector")
    lengths = np.full(len(given), kind.list_size) if pa.types.is_fixed_size_list(kind) else pc.list_value_length(given)
    if len(wrong := np.flatnonzero(np.asarray(lengths) != collection.dim)):
        collection.prepare(np.zeros(int(np.asarray(lengths)[wrong[0]])), f"{where}[{np.flatnonzero(there)[wrong[0]]}]")
    rows = np.zeros((len(table), collection.stored_dim), np.float32)
    if len(given):
        values = numbers.cast(pa.float32()).to_numpy(zero_copy_only=False).reshape(-1, collection.dim)
        rows[there] = collection.prepare(values, where)
    return rows, there


def _refuse_compressed(body: bytes) -> None:
    """Refuse compressed buffers: a small body could fill the memory."""
    reader = pa.ipc.MessageReader.open_stream(body)
    for message in reader:
        kind = {"record batch": _BATCH, "dictionary": _DICTIONARY}.get(message.type)
        if kind is None:
            continue
        metadata = message.metadata.to_pybytes()
        header = _table(metadata, *_field(metadata, _unsigned(metadata, 0), _HEADER))
        if kind == _DICTIONARY:
            header = _table(metadata, *_field(metadata, header, 1))
        if _field(metadata, header, _COMPRESSION)[1]:
            raise InputError("body", "a stream whose buffers are not compressed", "compressed ones")


def _check_names(kind: pa.DataType) -> None:
    """Raise `ValueError` for a name that is not UTF-8, at any depth: `validate` passes it over."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    for place in range(kind.num_fields):
        str(kind.field(place).name)
        _check_names(kind.field(place).type)


def _unsigned(data: bytes, place: int) -> int:
    found: int = struct.unpack_from("<I", data, place)[0]
    return found


def _field(data: bytes, table: int, number: int) -> tuple[int, int]:
    """Where a table of a flatbuffer stands, and how far from it one of its fields; 0 for a field that is not there."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, fields)
    place = 4 + 2 * number
    return table, struct.unpack_from("<H", data, fields + place)[0] if place < size else 0


def _table(data: bytes, table: int, offset: int) -> int:
    """Where the table stands that a field points to."""
    return table + offset + _unsigned(data, table + offset)
