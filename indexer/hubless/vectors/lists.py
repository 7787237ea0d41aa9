"""Columns of lists, as Arrow has them, read as matrices."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hubless.errors import InputError


def is_list(kind: pa.DataType) -> bool:
    """Whether a column of this type holds lists of one kind of value."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def matrix_of(lists: pa.Array, name: str, dim: int | None = None, start: int = 0) -> NDArray[Any]:
    """Lists of one length as an array (n, d).

    Parameters
    ----------
    dim : d; None takes that of the first list
    start : the number of the first row, for errors

    Raises
    ------
    InputError
        naming the first row that is null, holds a null, or is of another length.
    """
    if lists.null_count:
        raise InputError(f"{name}, row {start + pc.index(lists.is_null(), True).as_py()}", "a vector", "a null")
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    if dim is None:
        dim = int(lengths[0]) if len(lengths) else 0
    if (lengths != dim).any():
        row = int(np.argmax(lengths != dim))
        raise InputError(f"{name}, row {start + row}", f"{dim} numbers, as row 0 has", f"{lengths[row]}")
    values = lists.flatten()
    if values.null_count:
        place = pc.index(values.is_null(), True).as_py()
        raise InputError(f"{name}, row {start + place // dim}, column {place % dim}", "a number", "a null")
    matrix: NDArray[Any] = values.to_numpy(zero_copy_only=False).reshape(len(lists), dim)
    return matrix
