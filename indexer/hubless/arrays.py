"""The types of arrays, the legend of shapes, and the checks that every vector passes.

Legend, used in all docstrings: m queries, n targets, b bank queries, g bank targets, d dimensions, k neighbours.
Vectors are float32, C-contiguous, one row an item.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubless.errors import DimensionMismatch, InputError, NotFinite, ZeroVector

_FLOATS = "float16, float32 or float64"
_LARGEST = float(np.finfo(np.float64).max)
F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I64 = NDArray[np.int64]


def as_float32(values: NDArray[Any], name: str, numbers: int | I64 = 0) -> F32:
    """Rows as finite, C-contiguous float32; the same memory where it is that already.

    Parameters
    ----------
    values : (m, d) float16, float32 or float64
    name : what to call the values in an error
    numbers : the number of the first row, or of each row, for errors about a part of what `name` names

    Raises
    ------
    InputError
        for any other type of number or of shape.
    NotFinite
        naming the first row that holds NaN, infinity, or a number that float32 cannot hold.
    """
    if values.ndim != 2:
        raise InputError(name, "a matrix, one row an item", f"an array of shape {values.shape}")
    if values.dtype.kind != "f" or values.dtype.itemsize > 8:
        raise InputError(name, _FLOATS, _describe_dtype(values.dtype))
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(values, dtype=np.float32)
    # a sum is finite only if all its terms are, and costs no array of booleans; it may overflow, then look closely
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(rows.sum(dtype=np.float64))
    if suspicious and not (finite := np.isfinite(rows)).all():
        row, column = np.argwhere(~finite)[0]
        raise NotFinite(
            f"{name}, row {_number(numbers, row)}, column {column}",
            "a finite number that fits float32",
            values[row, column],
        )
    return rows


def as_vectors(values: ArrayLike, name: str, dim: int | None = None) -> F32:
    """Queries as the caller has them, one vector or several, as an (m, d) matrix.

    Parameters
    ----------
    values : (d,) or (m, d): an array, or a (nested) list of numbers
    name : what to call the values in an error
    dim : the dimension that they must have

    Raises
    ------
    InputError, NotFinite
        as `as_float32`; a ragged list too.
    DimensionMismatch
        naming both dimensions.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(name, "rows of one length", "rows of several lengths") from error
    if not isinstance(values, np.ndarray) and array.dtype.kind in "iu":
        array = array.astype(np.float64)
    if array.ndim == 1:
        array = array[np.newaxis]
    rows = as_float32(array, name)
    if dim is not None:
        check_dim(rows.shape[1], dim, name)
    return rows


def check_dim(got: int, expected: int, name: str, reference: str = "the collection") -> None:
    """Raise `DimensionMismatch` unless the two dimensions are one."""
    if got != expected:
        raise DimensionMismatch(name, f"{expected} dimensions, as {reference} has", f"{got} dimensions")


def unit_rows(rows: F32, name: str, numbers: int | I64 = 0) -> F32:
    """Rows divided by their length, a new (m, d) array. `numbers` as for `as_float32`.

    Raises
    ------
    ZeroVector
        naming the first row of length zero.
    """
    # squares of float32 can overflow or vanish in float32: lengths are float64
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    if not lengths.all():
        raise ZeroVector(
            f"{name}, row {_number(numbers, int(np.argmin(lengths)))}",
            "a vector of non-zero length, as the metric is cosine",
            "zeros only",
        )
    return np.asarray(rows / lengths[:, np.newaxis], dtype=np.float32)


def half_rows(rows: F32, name: str, numbers: int | I64 = 0) -> F32:
    """Rows with their numbers rounded to float16.

    Parameters
    ----------
    rows : (n, d)
    numbers : the number of the first row, or of each, for messages

    Raises
    ------
    InputError
        naming the first row that float16 cannot hold: its largest number is too large, or too small.
    """
    limits = np.finfo(np.float16)
    largest = np.abs(rows).max(axis=1)
    wrong = (largest > limits.max) | ((largest > 0) & (largest < limits.smallest_normal))
    if wrong.any():
        row = int(np.argmax(wrong))
        expected = f"a largest number from {limits.smallest_normal:.2g} to {limits.max:g}, to be kept in float16"
        raise InputError(f"{name}, row {_number(numbers, row)}", expected, f"{largest[row]:.3g}")
    return rows.astype(np.float16).astype(np.float32)


def _number(numbers: int | I64, row: int) -> int:
    return int(numbers[row]) if isinstance(numbers, np.ndarray) else numbers + row


def _describe_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "O":
        return "objects (a pickled or ragged array)"
    return str(dtype)


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
