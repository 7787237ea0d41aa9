"""Opens vectors with their ids and payload, and leaves out their bad rows where that is asked for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from hubless.builder.inputs.codes import warn_of_codes
from hubless.errors import HublessError, InputError, names_of, one_line
from hubless.vectors.arrays import I64, letting_through, to_arrow
from hubless.vectors.bad_rows import good_rows, rows_left, with_count
from hubless.vectors.files import Items, Vectors, as_items
from hubless.vectors.ids import ID_COLUMN, ID_FILES, Ids, as_ids, id_array, repeated
from hubless.vectors.listing import ending_of
from hubless.vectors.npy import split_member
from hubless.vectors.payload import (
    Dataset,
    PayloadLike,
    PayloadTypes,
    as_payload,
    open_dataset,
    parted_ids,
    typed_payload,
)


def open_given(given: Vectors, parameter: str, metric: str, *, skip_bad_rows: bool = False) -> Items:
    """Open vectors. An error about a row says how many are like it, unless bad rows are let through to be skipped."""
    try:
        with letting_through() if skip_bad_rows else nullcontext():
            items = as_items(given, parameter)
    except InputError as error:
        if skip_bad_rows:
            raise
        with suppress(HublessError), letting_through():
            error = with_count(error, as_items(given, parameter).vectors, metric)
        raise error from error.__cause__
    warn_of_codes(items.vectors)
    return items


def open_targets(
    targets: Vectors,
    ids: Ids | None,
    payload: PayloadLike | None,
    payload_schema: PayloadTypes | None = None,
    parameter: str = "targets",
    metric: str = "cosine",
    *,
    skip_bad_rows: bool = False,
) -> Items:
    """Open targets, their ids and payload, by the parameters of `build`. Errors call the targets `parameter`.

    With `skip_bad_rows` the rows that are no vectors are still there: see `without_bad_rows`.
    """
    items = open_given(targets, parameter, metric, skip_bad_rows=skip_bad_rows)
    return _with_ids(_with_payload(items, ids, payload, payload_schema), ids)


def without_bad_rows(items: Items, metric: str) -> tuple[Items, I64 | None]:
    """Return targets without the rows that are no vectors, which a warning names, and the rows left; None for all."""
    rows = good_rows(items.vectors, metric)
    if rows is None:
        return items, None
    ids = to_arrow(np.arange(items.vectors.shape[0])) if items.ids is None else items.ids
    payload = None
    if items.payload is not None:
        payload = open_dataset(payload_rows(items.payload, items.payload_columns, rows))
    vectors = rows_left(items.vectors, rows)
    return replace(items, vectors=vectors, ids=ids.take(to_arrow(rows)), payload=payload), rows


def column_of_ids(ids: "Ids | None") -> str | None:
    """Return the name of the column that has the ids, if they are given as one: a text that names no file of ids."""
    given = isinstance(ids, str | Path) and ending_of(split_member(ids)[0]) not in ID_FILES
    return str(ids) if given else None


def payload_rows(payload: Dataset, columns: Sequence[str], rows: I64) -> pa.Table:
    """Return some rows of payload, ascending, which is read batch by batch."""
    batches = []
    start = 0
    with reading_payload():
        scanner = payload.scanner(columns=list(columns))
        for batch in scanner.to_batches():
            low, high = np.searchsorted(rows, (start, start + len(batch)))
            if high > low:
                batches.append(batch.take(pa.array(rows[low:high] - start)))
            start += len(batch)
        return pa.Table.from_batches(batches, scanner.projected_schema)


@contextmanager
def reading_payload() -> Iterator[None]:
    """Turn what the readers of payload raise into an `InputError`. Errors of the disk stay."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk's: without a number, Arrow's own
            raise
        raise InputError("payload", "readable rows of one shape", one_line(error)) from error


def _with_payload(
    items: Items, ids: Ids | None, payload: PayloadLike | None, payload_schema: PayloadTypes | None
) -> Items:
    """Put the given payload in the place of the file's. Its column `id` has the ids, if nothing else has."""
    found = items.ids
    table = items.payload
    columns = list(items.payload_columns)
    if table is not None and payload is None:
        table = typed_payload(table, payload_schema, columns)
    elif payload is None and payload_schema:
        raise InputError("payload schema", "a payload", "none")
    if payload is not None:
        table = as_payload(payload, payload_schema)
        columns = list(table.schema.names)
        if ids is None and found is None:
            with reading_payload():
                found, columns = parted_ids(table)
    if table is not None:
        count = items.vectors.shape[0]
        with reading_payload():
            rows = table.count_rows()
        if rows != count:
            raise InputError("payload", f"{count} rows, one a target", f"{rows} rows")
    return replace(items, ids=found, payload=table if columns else None, payload_columns=tuple(columns))


def _with_ids(items: Items, ids: Ids | None) -> Items:
    """Put the given ids in the place of the file's: a column of the payload, a file, or an array."""
    if ids is None:
        return items
    count = items.vectors.shape[0]
    column = column_of_ids(ids)
    if column is None:
        array = as_ids(ids)
        if len(array) != count:
            raise InputError("ids", f"{count}, one a target", f"{len(array)}")
        return replace(items, ids=array)
    table = items.payload
    columns = list(items.payload_columns)
    if column == ID_COLUMN and items.ids is not None:
        return items
    if table is None or column not in columns:
        known = f"a column: {names_of(columns)}" if columns else "a column, but there is none"
        raise InputError("ids", f"a file ending in {', '.join(ID_FILES)}, or {known}", column)
    with reading_payload():
        values = table.to_table(columns=[column]).column(0)
    array = id_array(values, f"ids (column {column})")
    if (twice := repeated(array)) is not None:
        raise InputError(f"ids (column {column})", "an id for each target, each once", twice)
    columns.remove(column)
    if items.ids is not None and ID_COLUMN in table.schema.names:  # it is no id then
        columns.insert(0, ID_COLUMN)
    return replace(items, ids=array, payload=table if columns else None, payload_columns=tuple(columns))
