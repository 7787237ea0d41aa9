"""How often each query of a bank was asked: a table of distinct queries has it as a column."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.inputs.groupings import column_table
from hubless.errors import InputError
from hubless.vectors.arrays import I64
from hubless.vectors.files import Items

COUNT = "count"
"""The name of the column."""


def counts_of(bank: Items) -> I64 | None:
    """Return how often each query of a bank (b, d) was asked, (b,): its column `count`; None if it has none.

    Raises `InputError` for other values than whole numbers from 1 on.
    """
    if COUNT not in bank.payload_columns or (table := column_table(bank, COUNT)) is None:
        return None
    values = table[COUNT]
    received = str(values.type)
    if pa.types.is_integer(values.type):
        few = pc.min(values).as_py()
        if few is not None and few >= 1 and not values.null_count:
            counts: I64 = values.to_numpy().astype(np.int64)
            return counts
        received = "a row without one" if values.null_count else str(few)
    raise InputError(
        f"{bank.vectors.name}, column {COUNT}", "whole numbers from 1 on: how often it was asked", received
    )
