"""The types of arrays, the legend of shapes, and the checks that every vector passes.

Legend, used in all docstrings: m queries, n targets, b bank queries, g bank targets, d dimensions, k neighbours.
Vectors are float32, C-contiguous, one row an item.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from hubless.errors import DimensionMismatch, InputError, NotFinite, ZeroVector, one_line
from hubless.vectors.object_rows import stacked, unmasked

_FLOATS = "float16, float32 or float64, or whole numbers of 8 or 16 bits"
_TAKEN = frozenset({"f2", "f4", "f8", "i1", "u1", "i2", "u2"})
"""Numbers that float32 holds, or rounds. Longer whole numbers are rather rows or ids than vectors."""
_FEW = 4096  # numbers, of which booleans cost less than two settings of errstate
_PIECE = 2**17  # numbers that stay in the cache as float64
_LARGEST = float(np.finfo(np.float64).max)
LONGEST = 1e8
"""Length of a vector or a query under metric dot: products of two products, millions of them added up, fit float32."""
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Flags = NDArray[np.bool_]


_LETTING: ContextVar[bool] = ContextVar("letting", default=False)


@contextmanager
def letting_through() -> Iterator[None]:
    """Let rows through that are no vectors, with NaN where there is no number, so that they can be counted."""
    token = _LETTING.set(True)
    try:
        yield
    finally:
        _LETTING.reset(token)


def lets_through() -> bool:
    """Return whether rows that are no vectors are let through now."""
    return _LETTING.get()


def as_float32(values: NDArray[Any], name: str, numbers: int | I64 | None = 0) -> F32:
    """Return rows (m, d) as finite, C-contiguous float32. They are not copied if they are that already.

    `numbers` is the number of the first row, or of each row, for errors; None for a single vector, which is no row.
    Raises `InputError` for any other type of number or of shape, and `NotFinite` for NaN, infinity, or what float32
    cannot hold.
    """
    if values.ndim != 2:
        raise InputError(name, "a matrix, one row an item", f"an array of shape {values.shape}")
    if values.dtype.str[1:] not in _TAKEN and values.dtype.name != "bfloat16":
        got = "objects (a pickled or ragged array)" if values.dtype.kind == "O" else str(values.dtype)
        got += '; if these are vectors: .astype("float32")' if values.dtype.kind in "iu" else ""
        raise InputError(name, _FLOATS, got)
    if values.dtype == np.float32:
        rows = np.ascontiguousarray(values)
    else:
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(values, dtype=np.float32)
    if not _is_finite(rows) and not lets_through():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        place = f"{name}[{column}]" if numbers is None else f"{_row(name, numbers, row)}, column {column}"
        raise NotFinite(place, "a finite number that fits float32", values[row, column])
    return rows


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return lists, tensors of torch and columns of Arrow, pandas or polars as NumPy arrays.

    Whole numbers in lists become float64. An array of objects may have a vector in each row. Raises `InputError`, where
    it can with the row.
    """
    if isinstance(values, np.ma.MaskedArray):
        return unmasked(values, name)
    if isinstance(values, np.ndarray) and (values.dtype != object or not values.ndim):
        return values
    if _is_column(values):
        return _of_arrow(values, name)
    array = _read(values, name)
    listed = isinstance(values, list | tuple)
    masks = listed and any(isinstance(row, np.ma.MaskedArray) for row in values)
    if array.ndim and (masks or array.dtype.kind in "OU"):
        listed, array = True, stacked(values if listed else array, name)
    return as_floats(array) if listed else array


def _read(values: Any, name: str) -> NDArray[Any]:
    try:
        plain = hasattr(values, "__array__") or not hasattr(values, "__dlpack__")
        return np.asarray(values) if plain else np.from_dlpack(values)
    except ValueError as error:
        if isinstance(values, list | tuple):
            return stacked(values, name)  # which says where
        raise InputError(name, "an array of numbers", one_line(error)) from error
    except (TypeError, RuntimeError, BufferError, OverflowError) as error:  # of torch: on a GPU, or with a gradient
        raise InputError(name, "an array that NumPy can read", one_line(error)) from error


def as_floats(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of whole numbers as float64, and any other as it is."""
    return array.astype(np.float64) if array.dtype.kind in "iu" else array


def to_arrow(numbers: NDArray[Any]) -> pa.Array:
    """Return numbers (n,) as an array of Arrow that shares their memory.

    `pa.array` would import pandas where it is installed, which takes half a second.
    """
    plain = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(pa.from_numpy_dtype(plain.dtype), len(plain), [None, pa.py_buffer(plain)])


def _is_column(values: Any) -> bool:
    """Return True if it is an array of Arrow, or a column of a table, as polars has them, and not the table."""
    if isinstance(values, pa.Array | pa.ChunkedArray) or hasattr(values, "__arrow_c_array__"):
        return True
    return hasattr(values, "__arrow_c_stream__") and getattr(values, "ndim", 1) == 1 and not hasattr(values, "columns")


def _of_arrow(values: Any, name: str) -> NDArray[Any]:
    try:
        array = pa.array(values) if hasattr(values, "__arrow_c_array__") else pa.chunked_array(values)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(name, "an Arrow array", one_line(error)) from error
    if is_list(array.type):
        return matrix_of(array, name)
    if array.null_count:
        row = first_null(array)
        raise InputError(f"{name}, row {row}", "a number", f"one of {array.null_count:,} nulls")
    try:
        plain: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    except pa.ArrowNotImplementedError as error:
        raise InputError(name, "a column of numbers", str(array.type)) from error
    return plain


def as_vectors(values: ArrayLike, name: str, dim: int | None = None, reference: str = "the collection") -> F32:
    """Return queries as the caller has them, one vector or several, as an (m, d) matrix."""
    array = as_array(values, name)
    if array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim == 2 and dim is not None:
        check_dim(array.shape[1], dim, name, reference)
    return as_float32(array, name, None if array.shape[:1] == (1,) else 0)


def check_dim(got: int, expected: int, name: str, reference: str = "the collection") -> None:
    """Raise `DimensionMismatch` unless the two dimensions are one."""
    if got != expected:
        raise DimensionMismatch(name, f"{expected} dimensions, as {reference} has", f"{got} dimensions")


def unit_rows(rows: F32, name: str, numbers: int | I64 | None = 0) -> F32:
    """Return rows divided by their length, a new (m, d) array. Raises `ZeroVector` naming the first row of zeros."""
    unit = np.empty_like(rows)
    step = max(1, _PIECE // rows.shape[1])
    for start in range(0, len(rows), step):
        # squares of float32 can overflow or vanish in float32
        wide = rows[start : start + step].astype(np.float64)
        lengths = np.sqrt(np.vecdot(wide, wide))
        if not lengths.all():
            raise ZeroVector(
                _row(name, numbers, start + int(np.argmin(lengths))),
                "a vector of non-zero length, as the metric is cosine",
                "zeros only",
            )
        wide /= lengths[:, np.newaxis]
        unit[start : start + step] = wide
    return unit


def directions(rows: F32) -> F32:
    """Return rows (m, d) divided by their length; rows of zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    found: F32 = np.divide(rows, np.where(lengths > 0, lengths, 1))
    return found


def unit_row(vector: ArrayLike, dim: int) -> F32 | None:
    """Return a float32 vector (d,) or (1, d) of length 1, as (1, d), quickly; None for anything else."""
    if not isinstance(vector, np.ndarray) or vector.dtype != np.float32:
        return None
    if vector.shape not in ((dim,), (1, dim)):
        return None
    exact = vector.reshape(dim).astype(np.float64)
    squared = float(exact.dot(exact))  # NaN and infinity remain
    if not 0 < squared < np.inf:
        return None
    exact /= squared**0.5
    return exact.astype(np.float32)[np.newaxis]


def short_rows(rows: F32, name: str, numbers: int | I64 | None = 0) -> F32:
    """Return the same (m, d) rows, whose inner products fit float32. Raises `NotFinite` for too long a row."""
    limit = LONGEST / np.sqrt(rows.shape[1])
    if rows.min(initial=0) >= -limit and rows.max(initial=0) <= limit:
        return rows
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if (lengths > LONGEST).any():
        row = int(np.argmax(lengths > LONGEST))
        expected = f"a vector of length {LONGEST:g} at most, as lengths count"
        raise NotFinite(_row(name, numbers, row), expected, f"length {lengths[row]:.3g}")
    return rows


def half_rows(rows: F32, name: str, numbers: int | I64 = 0) -> F32:
    """Return rows (n, d) with their numbers rounded to float16."""
    limits = np.finfo(np.float16)
    largest = np.abs(rows).max(axis=1)
    wrong = (largest > limits.max) | ((largest > 0) & (largest < limits.smallest_normal))
    if wrong.any():
        row = int(np.argmax(wrong))
        expected = f"a largest number from {limits.smallest_normal:.2g} to {limits.max:g}, to be kept in float16"
        raise InputError(_row(name, numbers, row), expected, f"{largest[row]:.3g}")
    return rows.astype(np.float16).astype(np.float32)


def _is_finite(rows: F32) -> bool:
    if rows.size > _FEW:
        # a sum is finite only if all its terms are, and costs no array of booleans; it may overflow, then look closely
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(rows.sum()):
                return True
    return bool(np.isfinite(rows).all())


def _row(name: str, numbers: int | I64 | None, row: int) -> str:
    if numbers is None:
        return name
    return f"{name}, row {numbers[row] if isinstance(numbers, np.ndarray) else numbers + row}"


def check_at_least(parameter: str, value: int, minimum: int) -> None:
    """Raise `InputError` unless the value is a whole number of at least `minimum`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < minimum:
        raise InputError(parameter, f"a whole number of at least {minimum}", repr(value))


def check_between(parameter: str, value: float, low: float, high: float, *, open_low: bool = False) -> None:
    """Raise `InputError` unless the value is finite and low ≤ value ≤ high (low < value with `open_low`)."""
    # numpy would compare in the type of its scalar, and warn that float32 cannot hold the largest float64
    value = value.item() if isinstance(value, np.generic) else value
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not (low < value if open_low else low <= value) or not value <= min(high, _LARGEST):
        bounds = f"above {low:g}" if open_low else f"of at least {low:g}"
        raise InputError(
            parameter, f"a number {bounds}" + (f" and at most {high:g}" if np.isfinite(high) else ""), repr(value)
        )


def is_text(stored: pa.DataType) -> bool:
    """Return True for a type of strings."""
    types = pa.types
    return bool(types.is_string(stored) or types.is_large_string(stored) or types.is_string_view(stored))


def is_list(kind: pa.DataType) -> bool:
    """Return True if a column of this type holds lists of one kind of value."""
    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def matrix_of(lists: pa.Array, name: str, dim: int | None = None, start: int = 0) -> NDArray[Any]:
    """Return lists of one length as an array (n, d). `start` is the number of the first row, for errors."""
    if lets_through():
        return _filled(lists, dim)
    if lists.null_count:
        raise InputError(f"{name}, row {start + first_null(lists)}", "a vector", "a null")
    lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
    if dim is None:
        dim = int(lengths[0]) if len(lengths) else 0
    check_row_lengths(lengths, dim, name, start)
    values = lists.flatten()
    if values.null_count:
        place = first_null(values)
        raise InputError(f"{name}, row {start + place // dim}, column {place % dim}", "a number", "a null")
    return as_floats(values.to_numpy(zero_copy_only=False).reshape(len(lists), dim))


def first_null(array: pa.Array) -> int:
    """Return the place of the first null of an array that has one."""
    return int(pc.index(array.is_null(), True).as_py())


def check_row_lengths(lengths: NDArray[np.integer], dim: int, name: str, start: int = 0) -> None:
    """Raise `InputError` naming the first row of another length; `start` is the number of the first of all."""
    if (lengths != dim).any():
        row = int(np.argmax(lengths != dim))
        raise InputError(f"{name}, row {start + row}", f"{dim} numbers, as row 0 has", f"{lengths[row]}")


def _filled(lists: pa.Array, dim: int | None) -> NDArray[Any]:
    """Return lists as an array (n, d), with NaN in those that are null or of another length, and for nulls in them."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    if dim is None:
        dim = int(lengths[lengths > 0][0]) if lengths.any() else 0
    whole = lists.is_valid().to_numpy(zero_copy_only=False) & (lengths == dim)
    values = lists.filter(pa.array(whole)).flatten().to_numpy(zero_copy_only=False)
    matrix = np.full((len(lists), dim), np.nan, values.dtype if values.dtype.kind == "f" else np.float64)
    matrix[whole] = values.reshape(-1, dim)
    return matrix
