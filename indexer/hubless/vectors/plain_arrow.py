"""Arrow IPC whose buffers stand in it as they are. A small stream that unpacks to gigabytes is refused unread."""

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.errors import InputError
from hubless.vectors.arrays import is_list

_HEADER, _COMPRESSION = 2, 3
"""Places of fields in the flatbuffers of a message and of a record batch: Message.fbs of Arrow."""
_BATCH, _DICTIONARY = 3, 2
_MAGIC = 8
"""Bytes before the stream in a file."""


def plain_stream(body: bytes) -> pa.Table:
    """Return the rows of a stream, which are sound. Raises `InputError`, `ValueError`, `OSError`, `ArrowException`."""
    _check_uncompressed(pa.py_buffer(body))
    with pa.ipc.open_stream(body) as stream:
        return _sound(stream.read_all(), len(body))


def plain_file(path: Path) -> pa.Table:
    """Return the rows of a file, mapped into memory. Errors are those of `plain_stream`.

    It is read from its beginning: the list at its end may name parts that stand elsewhere.
    """
    with pa.memory_map(str(path)) as mapped:
        return plain_content(mapped.read_buffer())


def plain_content(content: pa.Buffer) -> pa.Table:
    """Return the rows of the bytes of a file. Errors are those of `plain_stream`."""
    if content.slice(0, len(b"ARROW1")).to_pybytes() != b"ARROW1":
        raise ValueError("it is no Arrow file")
    _check_uncompressed(content.slice(_MAGIC))
    return _sound(pa.ipc.open_stream(content.slice(_MAGIC)).read_all(), content.size)


def write_arrow(table: pa.Table, path: Path) -> None:
    """Write rows to a new file, as `plain_file` reads it."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _sound(table: pa.Table, size: int) -> pa.Table:
    table.validate(full=True)
    for column in table.columns:
        for chunk in column.chunks:
            _check_stored(chunk, size)
    return table


def _check_stored(array: Any, size: int) -> None:
    """Refuse lists of more nulls than there are bytes: they take none, and memory once they are Python's."""
    kind = array.type
    if pa.types.is_run_end_encoded(kind):
        raise InputError("body", "columns without runs", "runs, which may be of any length")
    if pa.types.is_struct(kind):
        for place in range(kind.num_fields):
            _check_stored(array.field(place), size)
    elif is_list(kind):
        if pa.types.is_null(kind.value_type) and len(array.values) > size:
            raise InputError("body", f"lists of at most {size} nulls", len(array.values))
        _check_stored(array.values, size)


def _check_uncompressed(stream: pa.Buffer) -> None:
    try:
        for message in pa.ipc.MessageReader.open_stream(stream):
            kind = {"record batch": _BATCH, "dictionary": _DICTIONARY}.get(message.type)
            if kind is None:
                continue
            metadata = message.metadata.to_pybytes()
            header = _table(metadata, *_field(metadata, _unsigned(metadata, 0), _HEADER))
            if kind == _DICTIONARY:
                header = _table(metadata, *_field(metadata, header, 1))
            if _field(metadata, header, _COMPRESSION)[1]:
                raise InputError("body", "a stream whose buffers are not compressed", "compressed ones")
    except (struct.error, IndexError) as error:
        raise ValueError("its messages are damaged") from error


def _unsigned(data: bytes, place: int) -> int:
    found: int = struct.unpack_from("<I", data, place)[0]
    return found


def _field(data: bytes, table: int, number: int) -> tuple[int, int]:
    """Return where a table of a flatbuffer stands, and how far from it a field is; 0 for a field that is not there."""
    fields = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, fields)
    place = 4 + 2 * number
    return table, struct.unpack_from("<H", data, fields + place)[0] if place < size else 0


def _table(data: bytes, table: int, offset: int) -> int:
    """Return where the table stands that a field points to."""
    return table + offset + _unsigned(data, table + offset)
