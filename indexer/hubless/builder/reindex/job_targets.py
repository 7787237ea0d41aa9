"""The targets of the next version: those of the collection that stay, and those that the files bring."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.inputs.build_inputs import Contents, added_payload
from hubless.builder.inputs.reading import in_file
from hubless.builder.pipeline.carry import TARGETS, NextTargets, with_vector_first
from hubless.builder.reindex.row_changes import FileTargets, RowChanges
from hubless.encoders import Encoder
from hubless.errors import InputError, one_line
from hubless.search.parts import Parts
from hubless.vectors.arrays import I64
from hubless.vectors.basis import Basis, as_compared
from hubless.vectors.free_payload import is_free
from hubless.vectors.sources import VectorSource, block_rows

_COUNTED = "\0counted"
"""A column of nulls that keeps the number of rows of a table without any other."""


def job_targets(
    before: Parts | None,
    changes: RowChanges,
    metric: str,
    encoder: Encoder | None,
    folder: Path,
    basis: Basis | None = None,
) -> NextTargets:
    """Put the targets of the files into a collection as it is now, and take out those that left the files."""
    puts = list(changes.put())
    ids = [put.ids for put in puts]
    kept = kept_rows(before, ids, changes.gone)
    bare = kept[:0]
    if before is not None:
        kept, bare = with_vector_first(before, kept)
        ids = [before.ids.array.take(pa.array(kept)), *ids, before.ids.array.take(pa.array(bare))]
    payload = _payload(before, kept, bare, puts)
    contents = Contents.of_table(pa.concat_arrays(ids) if ids else changes.gone[:0], payload, encoder)
    return NextTargets(before, kept, bare, _spooled(puts, metric, basis, folder), contents, payload)


def kept_rows(before: Parts | None, put: Sequence[pa.Array], gone: pa.Array) -> I64:
    """Return the rows of a collection that stay, ascending: neither put anew nor gone."""
    if before is None:
        return np.empty(0, np.int64)
    known = before.ids.array
    if put and put[0].type != known.type:
        raise InputError(TARGETS, f"ids of type {known.type}, as the collection has", put[0].type)
    leaving = pa.concat_arrays([*put, gone if len(gone) else known[:0]])
    return np.flatnonzero(~pc.is_in(known, leaving).to_numpy(zero_copy_only=False))


def _spooled(puts: Sequence[FileTargets], metric: str, basis: Basis | None, folder: Path) -> VectorSource | None:
    if not puts:
        return None
    sources = [as_compared(put.vectors, metric, basis) for put in puts]
    shape = sum(source.shape[0] for source in sources), sources[0].shape[1]
    blocks = (block for source in sources for block in source.blocks(block_rows(shape[1])))
    return in_file(blocks, shape, folder, TARGETS)


def _payload(before: Parts | None, kept: I64, bare: I64, puts: Sequence[FileTargets]) -> pa.Table | None:
    """Return the payload of all. A column keeps its type; values that a row lacks are null."""
    known = None if before is None or before.payload is None else before.payload.table()
    if known is None and all(put.payload is None for put in puts):
        return None
    if known is not None and is_free(known.schema):
        tables = [added_payload(put.payload, known.schema, len(put.ids)) for put in puts]
    else:
        tables = [_nothing(len(put.ids)) if put.payload is None else _cast(put.payload, known) for put in puts]
    first, last = (_nothing(len(rows)) if known is None else known.take(pa.array(rows)) for rows in (kept, bare))
    every = [*([] if before is None else [first]), *tables, *([last] if len(bare) else [])]
    counted = [each if _COUNTED in each.column_names else each.append_column(_COUNTED, _nulls(each)) for each in every]
    try:
        return pa.concat_tables(counted, promote_options="default").drop_columns([_COUNTED])
    except pa.ArrowException as error:
        raise InputError("payload", "columns of one type in all files", one_line(error)) from error


def _nothing(count: int) -> pa.Table:
    return pa.table({_COUNTED: pa.nulls(count)})


def _nulls(table: pa.Table) -> pa.Array:
    return pa.nulls(len(table))


def _cast(table: pa.Table, known: pa.Table | None) -> pa.Table:
    """Return a table with its columns in the types that are known already."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        there = known is not None and field.name in known.column_names
        wanted = known.schema.field(field.name).type if there and known is not None else field.type
        try:
            columns.append(column if column.type == wanted or pa.types.is_null(wanted) else column.cast(wanted))
        except pa.ArrowException as error:
            expected = f"{wanted}, as the collection has, or another collection"
            raise InputError(f"payload, column {field.name}", expected, f"{column.type} ({one_line(error)})") from error
    return pa.table(columns, table.column_names) if columns else table
