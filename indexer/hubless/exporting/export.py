"""Exports a collection to a file: Parquet or JSON lines, written block by block, whole or not at all."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from hubless.errors import InputError, storage_errors
from hubless.exporting.target_rows import FREE, ID, VECTOR, TargetRows
from hubless.progress import Advance, progress_bars
from hubless.search.collection import Collection
from hubless.store.bundle import BASIS
from hubless.store.durable import check_place, replaced

GROUP = 10_000
"""Rows of a group of Parquet, so that a reader needs no more in memory."""


@dataclass(frozen=True)
class Exported:
    """Result of an export: so many targets, vectors of `width` d + 1, targets without a vector left out, and notes."""

    path: Path
    count: int
    width: int
    left_out: int
    notes: tuple[str, ...] = ()


def export(collection: Collection, output: str | Path, *, progress: bool | None = None) -> Exported:
    """Write the targets with their offsets in the vectors, for another program.

    Each vector is [t, −h], d + 1 numbers. Ask with [q, λ] by inner product: the score is q·t − λh. Targets have
    length 1 under metric cosine, and so must queries.

    Parameters
    ----------
    collection : what `hubless.open` gave, with a correction that folds into offsets
    output : a file that ends in `.parquet` or `.jsonl`, with the columns `id`, `vector` and those of the payload
    progress : show a bar; None shows it on a terminal

    Raises
    ------
    InputError
        if the correction does more than offsets can, or the file has another ending.
    StorageError
        if the disk or the folder refuses; nothing is left then.
    """
    path = Path(output)
    writers = {".parquet": _write_parquet, ".jsonl": _write_jsonl}
    rows = TargetRows(collection)
    if path.suffix not in writers:
        raise InputError("output", f"a name that ends in {', '.join(writers)}", path.name)
    check_place(path)
    with progress_bars(progress) as steps, storage_errors(path), replaced(path) as temporary:
        writers[path.suffix](rows, temporary, steps.step("writing targets", rows.count))
    return Exported(path, rows.count, rows.width, rows.left_out, tuple(_notes(rows)))


def _notes(rows: TargetRows) -> Iterator[str]:
    if (kept := rows.width - 1) < rows.collection.dim:
        yield f"Vectors have {kept} of {rows.collection.dim} dimensions: multiply queries by {BASIS} of the version."
    for old, new in rows.columns.items():
        if new != old and not rows.is_free:
            yield f"Payload column {old!r} is named {new!r}."


def _write_parquet(rows: TargetRows, path: Path, advance: Advance) -> None:
    """Write a Parquet file. The vector is a fixed-size list of float32."""
    # random numbers have no shorter form, and dictionaries of them cost memory
    texts = [name for name in rows.schema.names if name != VECTOR]
    with pq.ParquetWriter(path, rows.schema, use_dictionary=texts, compression="zstd") as writer:
        for block in _counted(rows, advance):
            writer.write_batch(block, row_group_size=GROUP)


def _write_jsonl(rows: TargetRows, path: Path, advance: Advance) -> None:
    """Write lines of JSON: `id`, `vector` and the payload columns. Free payload is the object `payload`."""
    free = rows.columns[FREE] if rows.is_free else None
    with path.open("wb") as file:
        for block in _counted(rows, advance):
            vectors = block.column(VECTOR).flatten().to_numpy().reshape(-1, rows.width)
            ids = block.column(ID).to_pylist()
            payload = block.drop_columns([ID, VECTOR]).to_pylist() if rows.columns else [{}] * len(ids)
            for wanted, vector, row in zip(ids, vectors, payload, strict=True):
                if free is not None:
                    row[free] = orjson.Fragment(row[free])
                file.write(_json_of({ID: wanted, VECTOR: vector, **row}) + b"\n")


def _counted(rows: TargetRows, advance: Advance) -> Iterator[pa.RecordBatch]:
    for block in rows.blocks():
        yield block
        advance(block.num_rows)


def _json_of(row: dict[str, Any]) -> bytes:
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_NON_STR_KEYS
    return orjson.dumps(row, _plain, options)


def _plain(value: object) -> object:
    """Return what stands in JSON for a value without a type there: as a service sends it, or as Python writes it."""
    if isinstance(value, date | time):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
