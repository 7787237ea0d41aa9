"""What a build is given: vectors, ids, payload and an encoder, opened, checked against each other, and recorded."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hubless import bundle
from hubless.arrays import check_dim
from hubless.bundle import InputRecord
from hubless.catalog import Staging
from hubless.encoders import DESCRIPTION, ROWS, Encoder, load_encoder
from hubless.errors import InputError
from hubless.payload import PayloadWriter
from hubless.records import id_array, one_line, open_payload, payload_schema, read_ids, write_ids
from hubless.sources import VectorSource, block_rows, under_metric
from hubless.vectors import Items, Vectors, as_items

Ids: TypeAlias = str | Path | Sequence[str] | Sequence[int] | NDArray[Any] | pa.Array
Payload: TypeAlias = str | Path | pa.Table | Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Inputs:
    """What a build is given, opened and checked against each other."""

    targets: VectorSource
    query_bank: VectorSource
    target_bank: VectorSource | None
    ids: pa.Array
    payload: ds.Dataset | None
    payload_columns: list[str]
    encoder: Encoder | None
    records: dict[str, InputRecord]


def open_inputs(
    targets: Vectors,
    query_bank: Vectors,
    target_bank: Vectors | None,
    ids: Ids | None,
    payload: Payload | None,
    encoder: str | Path | Encoder | None,
    metric: str,
) -> Inputs:
    """Open all that a build is given, by the parameters of `build`.

    Raises
    ------
    InputError, StorageError
        naming the input and what is wrong with it.
    """
    items = as_items(targets, "targets")
    bank = as_items(query_bank, "query bank")
    extra = None if target_bank is None else as_items(target_bank, "target bank")
    check_dim(bank.vectors.shape[1], items.vectors.shape[1], bank.vectors.name, items.vectors.name)
    if extra is not None:
        check_dim(extra.vectors.shape[1], items.vectors.shape[1], extra.vectors.name, items.vectors.name)
    count, dim = items.vectors.shape
    loaded = load_encoder(Path(encoder), dim) if isinstance(encoder, str | Path) else encoder
    if loaded is not None:
        check_dim(loaded.dim, dim, "encoder", items.vectors.name)
    table, columns = _payload(payload, items)
    if table is not None and (rows := table.count_rows()) != count:
        raise InputError("payload", f"{count} rows, one a target", f"{rows} rows")
    given = {"targets": items, "query_bank": bank} | ({} if extra is None else {"target_bank": extra})
    beside = {"ids": ids, "payload": payload, "encoder": encoder}
    return Inputs(
        under_metric(items.vectors, metric),
        under_metric(bank.vectors, metric),
        None if extra is None else under_metric(extra.vectors, metric),
        _ids(ids, items, count),
        table,
        columns,
        loaded,
        {name: _input_record(opened) for name, opened in given.items()}
        | {name: _files_record(_files(Path(path))) for name, path in beside.items() if isinstance(path, str | Path)},
    )


def _ids(ids: Ids | None, items: Items, count: int) -> pa.Array:
    if ids is None:
        return items.ids if items.ids is not None else pa.array(np.arange(count))
    array = read_ids(ids) if isinstance(ids, str | Path) else id_array(ids, "ids")
    if len(array) != count:
        raise InputError("ids", f"{count}, one a target", f"{len(array)}")
    return array


def _payload(payload: Payload | None, items: Items) -> tuple[ds.Dataset | None, list[str]]:
    if payload is None:
        return items.payload, list(items.payload_columns)
    if isinstance(payload, str | Path):
        opened = open_payload(payload)
    else:
        try:
            opened = ds.dataset(payload if isinstance(payload, pa.Table) else pa.Table.from_pylist(list(payload)))
        except (pa.ArrowException, AttributeError, TypeError) as error:
            raise InputError("payload", "a table, or a list of dicts of one shape", one_line(error)) from error
    try:
        columns = list(opened.schema.names)
    except UnicodeError as error:
        raise InputError("payload", "names of columns in Unicode", one_line(error)) from error
    if len(set(columns)) < len(columns):
        raise InputError("payload", "columns of different names", columns)
    return opened, columns


def _input_record(items: Items) -> InputRecord:
    return _files_record(items.files) if items.files else _array_record(items.vectors)


def _files_record(files: Sequence[Path]) -> InputRecord:
    """The record of a file, or of a folder by those of its files: its hash is that of their hashes."""
    records = [bundle.record_of(file) for file in files]
    together = hashlib.sha256("".join(record.sha256 for record in records).encode()).hexdigest()
    name = files[0].name if len(files) == 1 else files[0].parent.name
    return InputRecord(
        # a name need not be Unicode, a manifest is
        name=os.fsencode(name).decode("utf-8", "replace"),
        size=sum(record.size for record in records),
        sha256=records[0].sha256 if len(records) == 1 else together,
    )


def _files(path: Path) -> list[Path]:
    return [path / name for name in (DESCRIPTION, ROWS) if (path / name).exists()] if path.is_dir() else [path]


def _array_record(source: VectorSource) -> InputRecord:
    digest = hashlib.sha256()
    for block in source.blocks(block_rows(source.shape[1])):
        digest.update(block.data)
    return InputRecord(name=source.name, size=4 * source.shape[0] * source.shape[1], sha256=digest.hexdigest())


def write_records(inputs: Inputs, staged: Staging) -> None:
    """Ids, payload and encoder: first, so that what is wrong with them is said before the long work."""
    write_ids(inputs.ids, staged.folder / bundle.IDS)
    if inputs.encoder is not None:
        inputs.encoder.save(staged.folder)
    if inputs.payload is None:
        return
    try:
        scanner = inputs.payload.scanner(columns=inputs.payload_columns)
        schema = payload_schema(scanner.projected_schema)
        with (
            pq.ParquetWriter(staged.folder / bundle.PAYLOAD, schema) as writer,
            PayloadWriter(staged.folder / bundle.PAYLOAD_MAPPED, schema) as mapped,
        ):
            for batch in scanner.to_batches():
                stored = batch.cast(schema, safe=False)
                writer.write_batch(stored)
                mapped.write(stored)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's: without a number, Arrow's own
            raise
        raise InputError("payload", "readable rows of one shape", one_line(error)) from error
