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


def write_payload(payload: Dataset, columns: list[str], folder: Path) -> None:
    """Write payload as an Arrow file, which can be mapped."""
    with reading_payload():
        schema, batches = _stored_batches(payload, columns)
        with pa.OSFile(str(folder / bundle.PAYLOAD), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)


def held_payload(payload: Dataset, columns: list[str], rows: I64 | range = ALL_ROWS) -> Payload:
    """Payload in memory, with the types that it would be stored with; `rows` are what errors call its rows.

    Raises `InputError` as `write_payload`.
    """
    with reading_payload():
        schema, batches = _stored_batches(payload, columns, rows)
        return Payload(pa.Table.from_batches(batches, schema))


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


def _stored_batches(
    payload: Dataset, columns: list[str], rows: I64 | range = ALL_ROWS
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    scanner = payload.scanner(columns=columns)
    schema = payload_schema(scanner.projected_schema)

    def batches() -> Iterator[pa.RecordBatch]:
        start = 0
        for batch in scanner.to_batches():
            here = partial(in_column, rows=rows[start : start + len(batch)])
            yield from in_columns(pa.Table.from_batches([batch]), schema, here).to_batches()
            start += len(batch)

    return schema, batches()
