"""Payload of a build: written batch by batch, held, and checked where it is added."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from hubless.errors import InputError, UnknownField, names_of
from hubless.store import bundle
from hubless.vectors.arrays import I64
from hubless.vectors.free_payload import free_table, is_free
from hubless.vectors.payload import Payload, PayloadLike, as_payload
from hubless.vectors.payload_types import in_columns, payload_schema
from hubless.vectors.readers.arrow_rows import Dataset, reading_payload
from hubless.vectors.readers.kept_values import ALL_ROWS, in_column


def held_payload(
    payload: Dataset, columns: Sequence[str], rows: I64 | range = ALL_ROWS, folder: Path | None = None
) -> Payload:
    """Payload in the types that it is stored with: written to a folder as an Arrow file and mapped, or in memory.

    `rows` are what errors call its rows.
    """
    with reading_payload():
        scanner = payload.scanner(columns=list(columns))
        schema = payload_schema(scanner.projected_schema)
        batches = _stored_batches(scanner, schema, rows)
        if folder is None:
            return Payload(pa.Table.from_batches(batches, schema))
        with pa.OSFile(str(folder / bundle.PAYLOAD), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
    return Payload.open(folder / bundle.PAYLOAD)


def added_payload(payload: PayloadLike | None, schema: pa.Schema | None, count: int) -> pa.Table | None:
    """Rows to add to a payload of this schema, in its columns. What is not given is null."""
    if schema is None:
        if payload is not None:
            raise InputError("payload", "none, as the index has no payload", "a payload")
        return None
    if is_free(schema):
        rows = [{}] * count if payload is None else _objects(payload)
        if len(rows) != count:
            raise InputError("payload", f"{count} rows, one a vector", f"{len(rows)} rows")
        return free_table(rows)
    if payload is None:
        return pa.table([pa.nulls(count, field.type) for field in schema], schema)
    opened = as_payload(payload)
    columns = list(opened.schema.names)
    for name in columns:
        if name not in schema.names:
            raise UnknownField("payload", f"one of the columns {names_of(schema.names)}", name)
    table = held_payload(opened, columns).table()
    if len(table) != count:
        raise InputError("payload", f"{count} rows, one a vector", f"{len(table)} rows")
    with reading_payload():
        return in_columns(table, schema, in_column)


def _objects(payload: PayloadLike) -> Sequence[Mapping[str, Any]]:
    rows: Sequence[Mapping[str, Any]]
    rows = payload if isinstance(payload, list | tuple) else as_payload(payload).to_table().to_pylist()
    return rows


def _stored_batches(scanner: Any, schema: pa.Schema, rows: I64 | range) -> Iterator[pa.RecordBatch]:
    start = 0
    for batch in scanner.to_batches():
        here = partial(in_column, rows=rows[start : start + len(batch)])
        yield from in_columns(pa.Table.from_batches([batch]), schema, here).to_batches()
        start += len(batch)
