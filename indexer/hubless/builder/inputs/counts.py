"""The number of times that each query of a bank was asked: a table of distinct queries has it as a column."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.inputs.items import reading_payload
from hubless.errors import InputError
from hubless.vectors.arrays import I64
from hubless.vectors.files import Items

COUNT = "count"
"""The name of the column."""


def counts_of(bank: Items) -> I64:
    """Return how often each query of a bank (b, d) was asked, (b,): its column `count`; without one, once.

    Raises `InputError` for other values than whole numbers from 1 on.
    """
    if bank.payload is None or COUNT not in bank.payload_columns:
        return np.ones(bank.vectors.shape[0], np.int64)
    with reading_payload():
        column = bank.payload.to_table(columns=[COUNT])[COUNT]
    whole = pa.types.is_integer(column.type) and not column.null_count
    if not whole or pc.min(column).as_py() < 1:
        expected = "whole numbers from 1 on: how often each was asked"
        received = "a smaller one" if whole else f"{column.type}, {column.null_count} of them null"
        raise InputError(f"{bank.vectors.name}, column {COUNT}", expected, received)
    counts: I64 = column.to_numpy().astype(np.int64)
    return counts
