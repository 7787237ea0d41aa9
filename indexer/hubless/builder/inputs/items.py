"""Opens vectors, and leaves out their bad rows with all that belongs to them where that is asked for."""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from hubless.errors import HublessError, InputError
from hubless.vectors.arrays import I64, letting_through, to_arrow
from hubless.vectors.bad_rows import good_rows, rows_left, with_count
from hubless.vectors.files import Items, Vectors, as_items
from hubless.vectors.ids import Ids
from hubless.vectors.listing import ending_of
from hubless.vectors.npy import split_member
from hubless.vectors.readers.arrow_rows import Dataset, open_dataset, reading_payload
from hubless.vectors.readers.columns import ID_FILES


def open_given(given: Vectors, parameter: str, metric: str, *, skip_bad_rows: bool = False) -> Items:
    """Open vectors. An error about a row says how many are like it, unless bad rows are let through to be skipped."""
    try:
        with letting_through() if skip_bad_rows else nullcontext():
            return as_items(given, parameter)
    except InputError as error:
        if skip_bad_rows:
            raise
        with suppress(HublessError), letting_through():
            error = with_count(error, as_items(given, parameter).vectors, metric)
        raise error from error.__cause__


def without_bad_rows(items: Items, metric: str) -> tuple[Items, I64]:
    """Return targets without the rows that are no vectors, which a warning names, and the rows that are left."""
    every = np.arange(items.vectors.shape[0])
    rows = good_rows(items.vectors, metric)
    if rows is None:
        return items, every
    ids = to_arrow(every) if items.ids is None else items.ids
    payload = None
    if items.payload is not None:
        payload = open_dataset(payload_rows(items.payload, items.payload_columns, rows))
    vectors = rows_left(items.vectors, rows)
    return replace(items, vectors=vectors, ids=ids.take(to_arrow(rows)), payload=payload), rows


def column_of_ids(ids: "Ids | None") -> str | None:
    """Return the name of the column that has the ids, if they are given as one: a text that names no file of ids."""
    file = Path(ids) if isinstance(ids, str | Path) else None
    given = file is not None and ending_of(split_member(file)[0]) not in ID_FILES and not file.is_dir()
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
