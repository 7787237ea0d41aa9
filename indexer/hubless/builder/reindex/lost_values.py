"""What the files of a job take out of the columns of a collection."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hubless.builder.reindex.source_files import FileTargets
from hubless.errors import names_of
from hubless.vectors.arrays import is_text
from hubless.vectors.free_payload import free_rows, is_free


def emptied(ids: pa.Array, known: pa.Table, puts: Sequence[FileTargets]) -> tuple[float, str]:
    """Return the largest share of its values that a column loses, and what it loses in words.

    `ids` (n,) and `known` are the targets of the collection and their payload. A column that a file lacks counts as
    lost, whatever the other files have.
    """
    held = _filled(known)
    found = []
    for put in puts:
        places = pc.index_in(put.ids, ids)
        there = places.is_valid().to_numpy(zero_copy_only=False)
        now = {} if put.payload is None else _filled(put.payload)
        found.append((places.drop_null().to_numpy(), {name: values[there] for name, values in now.items()}))
    new = {name for _, now in found for name in now} - held.keys()
    shares = [(0.0, "")]
    for name, had in held.items():
        lost = [had[rows] & ~now[name] if name in now else had[rows] for rows, now in found]
        count, most = int(sum(map(np.sum, lost))), int(had.sum())
        lacking = any(each.any() and name not in now for each, (_, now) in zip(lost, found, strict=True))
        note = f"column {name} loses {count:,} of its {most:,} values"
        shares.append((1.0 if lacking else count / max(1, most), f"{note}; {names_of(new)} is new" if new else note))
    return max(shares, key=lambda each: each[0])


def _filled(payload: pa.Table) -> Mapping[str, NDArray[np.bool_]]:
    """Return which rows have a value, by column: an empty text is none, nor is NaN."""
    if is_free(payload.schema):
        rows = [row for batch in payload.to_batches() for row in free_rows(batch)]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) not in (None, "") for row in rows]) for name in names}
    return {
        name: ~_is_empty(column).to_numpy().astype(np.bool_)
        for name, column in zip(payload.column_names, payload.columns, strict=True)
        if not pa.types.is_null(column.type)
    }


def _is_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    empty = pc.is_null(column, nan_is_null=True)
    return pc.or_(empty, pc.fill_null(pc.equal(column, ""), True)) if is_text(column.type) else empty
