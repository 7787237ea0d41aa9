"""Values that the files of a job take out of the columns of a collection."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import names_of
from hubless.jobs.source_files import FileTargets
from hubless.vectors.arrays import Flags, is_text
from hubless.vectors.free_payload import free_rows, is_free


def emptied(ids: pa.Array, known: pa.Table, puts: Sequence[FileTargets]) -> tuple[float, str]:
    """Return the largest share of its values that a column loses, and what it loses in words.

    `ids` (n,) and `known` are the targets of the collection and their payload.
    """
    held = _filled(known)
    lost = dict.fromkeys(held, 0)
    new = set[str]()
    for put in puts:
        places = pc.index_in(put.ids, ids)
        there = places.is_valid().to_numpy(zero_copy_only=False)
        now = {} if put.payload is None else _filled(put.payload)
        new |= now.keys() - held.keys()
        for name, had in held.items():
            has = now[name][there] if name in now else False
            lost[name] += int((had[places.drop_null()] & np.logical_not(has)).sum())
    shares = [(lost[name] / had.sum(), name) for name, had in held.items() if lost[name]]
    share, name = max(shares, default=(0.0, ""))
    note = f"column {name} loses {lost[name]:,} of its {held[name].sum():,} values" if share else ""
    return share, f"{note}; {names_of(sorted(new))} is new" if new else note


def _filled(payload: pa.Table) -> Mapping[str, Flags]:
    """Return which rows have a value, by column: an empty text is none, nor is NaN."""
    if is_free(payload.schema):
        rows = [row for batch in payload.to_batches() for row in free_rows(batch)]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) not in (None, "") for row in rows]) for name in names}
    return {field.name: ~_is_empty(payload[field.name]).to_numpy().astype(np.bool_) for field in payload.schema}


def _is_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    empty = pc.is_null(column, nan_is_null=True)
    return pc.or_(empty, pc.fill_null(pc.equal(column, ""), True)) if is_text(column.type) else empty
