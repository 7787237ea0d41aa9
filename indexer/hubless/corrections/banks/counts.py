"""The number of times that each query of a bank was asked: a table of distinct queries has it as a column."""

import numpy as np
import pyarrow as pa

from hubless.errors import InputError
from hubless.vectors.arrays import F64, I64
from hubless.vectors.files import Items
from hubless.vectors.readers.arrow_rows import reading_payload

COUNT = "count"
"""The name of the column."""
_MOST = 2**53


def counts_of(bank: Items) -> I64:
    """Return how often each query of a bank (b, d) was asked, (b,): its column `count`; without one, once.

    Raises `InputError` for other values than whole numbers from 1 on, such as 2 or 2.0.
    """
    if bank.payload is None or COUNT not in bank.payload_columns:
        return np.ones(bank.vectors.shape[0], np.int64)
    with reading_payload():
        column = bank.payload.to_table(columns=[COUNT])[COUNT]
    kind = column.type
    name = f"{bank.vectors.name}, column {COUNT}"
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(name, "numbers", kind)
    counts: F64 = column.cast(pa.float64()).to_numpy()
    if (wrong := ~((counts >= 1) & (counts <= _MOST) & (np.floor(counts) == counts))).any():
        row = int(np.argmax(wrong))
        expected = "a whole number from 1 on: how often the query was asked"
        raise InputError(f"{name}, row {row}", expected, column[row])
    return counts.astype(np.int64)
