"""The targets, the query bank and the target prior that a job gives the next version."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.banks.thinning import thin
from hubless.builder.inputs.bank_table import QUERY_BANK, BankTable
from hubless.builder.inputs.items import open_given, without_bad_rows
from hubless.builder.inputs.payloads import added_payload
from hubless.builder.inputs.readings import in_file
from hubless.builder.pipeline.next_version import TARGETS, NextTargets, with_vector_first
from hubless.corrections.roles import TARGET_ROLES
from hubless.encoders import Encoder
from hubless.errors import InputError, advice, one_line
from hubless.jobs.plan import JobPlan
from hubless.jobs.source_files import FileTargets, RowChanges
from hubless.search.parts import Parts
from hubless.store.draws import holds_asked
from hubless.store.query_sample import read_sample
from hubless.vectors.arrays import I64
from hubless.vectors.comparing import OF_TARGETS
from hubless.vectors.files import Items
from hubless.vectors.free_payload import is_free
from hubless.vectors.readers.kept_values import in_column, kept_in
from hubless.vectors.sources import HeldVectors, SelectedVectors, StackedVectors, VectorSource, block_rows, in_memory
from hubless.vectors.space import Space

_IDS = "\0ids"
"""A column of ids beside those of the payload, which may have any name that people give."""


def job_targets(
    before: Parts | None,
    changes: RowChanges,
    space: Space,
    encoder: Encoder | None,
    folder: Path,
    *,
    full: bool = False,
) -> NextTargets:
    """Put the targets of the files into a collection as it is now, and take out those that left the files.

    With `full` a column takes the type that it has in the files, else it keeps the one in the collection.
    """
    puts = list(changes.put())
    staying = kept_rows(before, [put.ids for put in puts], changes.gone)
    bare = staying[:0]
    if before is not None:
        staying, bare = with_vector_first(before, staying)
    table = _ids_and_payload(before, staying, bare, puts, full)
    ids = table[_IDS].combine_chunks()
    payload = table.drop_columns([_IDS])
    spooled = None
    if puts:
        sources = [space.compared(put.vectors, OF_TARGETS) for put in puts]
        shape = sum(source.shape[0] for source in sources), sources[0].shape[1]
        blocks = (block for source in sources for block in source.blocks(block_rows(shape[1])))
        spooled = in_file(blocks, shape, folder, TARGETS)
    return NextTargets(before, staying, bare, spooled, ids, payload if payload.column_names else None, encoder)


def kept_rows(before: Parts | None, put: Sequence[pa.Array], gone: pa.Array) -> I64:
    """Return the rows of a collection that stay, ascending: neither put anew nor gone."""
    if before is None:
        return np.empty(0, np.int64)
    known = before.ids.array
    if put and put[0].type != known.type:
        raise InputError(TARGETS, f"ids of type {known.type}, as the collection has", put[0].type)
    leaving = pa.concat_arrays([*put, gone if len(gone) else known[:0]])
    return np.flatnonzero(~pc.is_in(known, leaving).to_numpy(zero_copy_only=False))


def _ids_and_payload(
    before: Parts | None, staying: I64, bare: I64, puts: Sequence[FileTargets], full: bool
) -> pa.Table:
    known = None if before is None or before.payload is None else before.payload.table()
    tables = [_with_ids(put.ids, _payload(put, known, full)) for put in puts]
    if before is not None:
        every = _with_ids(before.ids.array, known)
        tables = [every.take(pa.array(staying)), *tables, every.take(pa.array(bare))]
    if full:
        tables = [each for each in tables if len(each)] or tables  # those without rows have no say in the types
    try:
        return pa.concat_tables(tables, promote_options="permissive" if full else "default")
    except pa.ArrowException as error:
        raise InputError("payload", "columns of one type in all files", one_line(error)) from error


def _payload(put: FileTargets, known: pa.Table | None, full: bool) -> pa.Table | None:
    """Return the payload of a file in the types that the collection has, or if it may have others as it is."""
    if known is not None and is_free(known.schema):
        return added_payload(put.payload, known.schema, len(put.ids))
    if known is None or put.payload is None or full:
        return put.payload
    types = {field.name: field.type for field in known.schema if not pa.types.is_null(field.type)}
    more = ", as the collection has" + advice("; {} takes the new type", "full", "true")
    names = put.payload.column_names
    columns = [
        kept_in(column, types.get(name, column.type), in_column(name, put.rows), more)
        for name, column in zip(names, put.payload.columns, strict=True)
    ]
    return pa.table(columns, names)


def _with_ids(ids: pa.Array, payload: pa.Table | None) -> pa.Table:
    return pa.table({_IDS: ids}) if payload is None else payload.append_column(_IDS, ids)


def is_thinned(plan: JobPlan) -> bool:
    """Return whether a part of the bank is thinned. The result then depends on the targets."""
    return any(_is_sample(plan.paths[entry]) for entry in _bank_entries(plan))


def _bank_entries(plan: JobPlan) -> list[str]:
    return [entry for entry in plan.paths if entry.startswith("query_bank.")]


def open_bank(
    plan: JobPlan, targets: VectorSource | None = None, space: Space | None = None
) -> tuple[BankTable, list[str]]:
    """Return the bank of the job, and what was left out: samples of live queries are thinned by the targets."""
    parts = list[BankTable]()
    notes = list[str]()
    asked = {name: played.column for name, played in plan.roles.items() if TARGET_ROLES[name].of_queries}
    for entry in _bank_entries(plan):
        files = plan.paths[entry]
        if not _is_sample(files):
            opened = {each.name: _opened(each, QUERY_BANK, plan) for each in files}
            parts += [BankTable.of(items, plan.roles, f"{entry} ({name})") for name, items in opened.items()]
            continue
        for role, column in asked.items():
            raise InputError(entry, f"a file with the column {column}, as {role} asks for it", "live queries")
        sample = read_sample(files)
        clients: Sequence[str] = sample.clients
        queries: VectorSource = HeldVectors(sample.vectors, QUERY_BANK)
        if targets is not None and space is not None:
            left = thin(in_memory(space.compared(HeldVectors(sample.vectors, entry))), targets, clients)
            queries = SelectedVectors(queries, left.rows, QUERY_BANK)
            notes.append(left.note(entry))
            clients = [clients[row] for row in left.rows.tolist()]
        parts.append(BankTable(queries, np.ones(len(clients), np.int64), clients))
    return BankTable.joined(parts), notes


def open_vectors(entry: str, plan: JobPlan) -> VectorSource:
    """Return the vectors of an entry of the job."""
    name = entry.replace("_", " ")
    if _is_sample(files := plan.paths[entry]):
        return HeldVectors(read_sample(files).vectors, name)
    parts = [_opened(each, name, plan).vectors for each in files]
    return parts[0] if len(parts) == 1 else StackedVectors(parts, name)


def _opened(path: Path, name: str, plan: JobPlan) -> Items:
    metric = plan.job.metric
    skip = plan.job.skip_bad_rows
    items = open_given(path, name, metric, skip_bad_rows=skip)
    return without_bad_rows(items, metric)[0] if skip else items


def _is_sample(files: Sequence[Path]) -> bool:
    return files[0].suffix == ".parquet" and holds_asked(files[0])
