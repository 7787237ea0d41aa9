"""The targets of the next version: those of the collection that stay, and then those that the files bring."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.inputs import added_payload
from hubless.builder.reading import in_file
from hubless.builder.reindex.rows import Put, RowChanges
from hubless.errors import InputError, one_line
from hubless.search.engines.base import StoredVectors
from hubless.search.parts import Parts
from hubless.vectors.arrays import F32, I64
from hubless.vectors.free_payload import is_free
from hubless.vectors.sources import StackedVectors, VectorSource, block_rows, under_metric

TARGETS = "targets"


@dataclass(frozen=True, eq=False)
class NextRows:
    """The targets of the next version.

    Attributes
    ----------
    kept : (r,) rows of the collection before that stay, ascending
    put : (p, d) those that the files bring, as they are compared; None for none. They come last
    ids : (r + p,)
    payload : (r + p,) rows; None without payload
    """

    before: Parts | None
    kept: I64
    put: VectorSource | None
    ids: pa.Array
    payload: pa.Table | None

    @property
    def count(self) -> int:
        return len(self.ids)

    @property
    def count_put(self) -> int:
        return self.count - len(self.kept)

    def more(self, start: int) -> VectorSource | None:
        """Those from a row on, at most the number of kept ones; None if there are none."""
        parts: list[VectorSource] = []
        if self.before is not None and start < len(self.kept):
            parts.append(_Taken(StoredVectors(self.before.targets, TARGETS), self.kept[start:]))
        if self.put is not None:
            parts.append(self.put)
        return StackedVectors(parts, TARGETS) if parts else None

    def vectors(self, folder: Path) -> VectorSource:
        """All of them (n, d), ready to be read again and again.

        Parameters
        ----------
        folder : on the disk that a temporary file goes to
        """
        every = self.more(0)
        if every is None:
            raise InputError(TARGETS, "at least one target", "none")
        if self.put is not None and not len(self.kept):
            return self.put
        return in_file(every.blocks(block_rows(every.shape[1])), every.shape, folder, TARGETS)


@dataclass(frozen=True)
class _Taken:
    """Some rows of a source that finds any row at once."""

    source: VectorSource
    rows: I64
    name: str = TARGETS

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.rows), self.source.shape[1]

    def blocks(self, rows: int) -> Iterator[F32]:
        for start in range(0, len(self.rows), rows):
            yield self.source.take(self.rows[start : start + rows])

    def take(self, rows: I64) -> F32:
        return self.source.take(self.rows[rows])


def next_rows(before: Parts | None, changes: RowChanges, metric: str, folder: Path) -> NextRows:
    """Put the targets of the files into a collection, and take out those that left the files.

    Parameters
    ----------
    before : the collection as it is now; None if there is none
    folder : on the disk that a temporary file goes to

    Raises
    ------
    InputError
        naming what does not fit the collection: the type of ids, or a column of the payload.
    """
    puts = list(changes.put())
    ids = [put.ids for put in puts]
    kept = kept_rows(before, ids, changes.gone)
    if before is not None:
        ids = [before.ids.array.take(pa.array(kept)), *ids]
    return NextRows(
        before,
        kept,
        _spooled(puts, metric, folder),
        pa.concat_arrays(ids) if ids else changes.gone[:0],
        _payload(before, kept, puts),
    )


def kept_rows(before: Parts | None, put: Sequence[pa.Array], gone: pa.Array) -> I64:
    """Return the rows of a collection that stay, ascending: neither put anew nor gone.

    Parameters
    ----------
    put, gone : ids

    Raises
    ------
    InputError
        if the ids have another type than those of the collection.
    """
    if before is None:
        return np.empty(0, np.int64)
    known = before.ids.array
    if put and put[0].type != known.type:
        raise InputError(TARGETS, f"ids of type {known.type}, as the collection has", put[0].type)
    leaving = pa.concat_arrays([*put, gone if len(gone) else known[:0]])
    return np.flatnonzero(~pc.is_in(known, leaving).to_numpy(zero_copy_only=False))


def _spooled(puts: Sequence[Put], metric: str, folder: Path) -> VectorSource | None:
    if not puts:
        return None
    sources = [under_metric(put.vectors, metric) for put in puts]
    shape = sum(source.shape[0] for source in sources), sources[0].shape[1]
    blocks = (block for source in sources for block in source.blocks(block_rows(shape[1])))
    return in_file(blocks, shape, folder, TARGETS)


def _payload(before: Parts | None, kept: I64, puts: Sequence[Put]) -> pa.Table | None:
    """The payload of both. A column keeps its type; what a row lacks is null."""
    if (before is None or before.payload is None) and all(put.payload is None for put in puts):
        return None
    if before is not None and before.payload is not None and is_free(before.payload.schema):
        schema = before.payload.schema
        objects = [added_payload(put.payload, schema, len(put.ids)) for put in puts]
        return pa.concat_tables([before.payload.table().take(pa.array(kept)), *objects])
    tables = [_as_table(put) for put in puts]
    if before is not None:
        rows = _nothing(len(kept)) if before.payload is None else before.payload.table().take(pa.array(kept))
        known = {field.name: field for field in rows.schema}
        tables = [rows, *(_cast(table, known) for table in tables)]
    try:
        joined = pa.concat_tables([_counted(table) for table in tables], promote_options="default")
    except pa.ArrowException as error:
        raise InputError("payload", "columns of one type in all files", one_line(error)) from error
    return joined.drop_columns([_COUNTED])


_COUNTED = "\0counted"
"""A column of nulls that keeps the number of rows of a table without any other."""


def _nothing(count: int) -> pa.Table:
    return pa.table({_COUNTED: pa.nulls(count)})


def _as_table(put: Put) -> pa.Table:
    return _nothing(len(put.ids)) if put.payload is None else put.payload


def _counted(table: pa.Table) -> pa.Table:
    return table if _COUNTED in table.column_names else table.append_column(_COUNTED, pa.nulls(len(table)))


def _cast(table: pa.Table, known: dict[str, pa.Field]) -> pa.Table:
    """A table with its columns in the types that are known already."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        wanted = known.get(field.name, field).type
        try:
            columns.append(column if column.type == wanted or pa.types.is_null(wanted) else column.cast(wanted))
        except pa.ArrowException as error:
            expected = f"{wanted}, as the collection has, or another collection"
            raise InputError(f"payload, column {field.name}", expected, f"{column.type} ({one_line(error)})") from error
    return pa.table(columns, table.column_names) if columns else table
