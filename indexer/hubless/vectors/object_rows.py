"""Arrays as other programs hold them: rows that are objects of their own, as in a column of pandas, and masks.

They are read row by row only here, so that what cannot be read is named with its row.
"""

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError

_LISTS = (list, tuple, np.ndarray)
_NAMED_ROWS = 5
_LONGEST = 40  # characters


def some_rows(rows: "Sequence[int] | NDArray[np.integer]") -> str:
    """Return the first few numbers of rows in words, such as `3, 5, 8 and 12 more`."""
    named = ", ".join(f"{row}" for row in rows[:_NAMED_ROWS])
    return named if len(rows) <= _NAMED_ROWS else f"{named} and {len(rows) - _NAMED_ROWS:,} more"


def brief(value: Any) -> str:
    """Return a value as an error shows it, cut if it is long."""
    text = "none" if value is None else repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def unmasked(values: "np.ma.MaskedArray[Any, Any]", name: str) -> NDArray[Any]:
    """Return the numbers of an array with a mask. Raises `InputError` if a number is masked, which is no value."""
    masked = np.ma.getmaskarray(values)
    rows = np.flatnonzero(masked.reshape(len(masked), -1).any(axis=1)) if masked.ndim else [0] * bool(masked)
    if len(rows):
        expected = "an array without masked values: fill them, or leave these rows out"
        raise InputError(f"{name}, row {rows[0]}", expected, f"{len(rows):,} rows with some: {some_rows(rows)}")
    return values.data


def stacked(rows: "Sequence[Any] | NDArray[Any]", name: str) -> NDArray[Any]:
    """Return rows, each a list or an array of numbers of its own, as one array (n, d); numbers as (n,).

    Raises `InputError` naming the first row that is no vector, or has another length than the first.
    """
    if not any(hasattr(row, "__len__") and not isinstance(row, str) for row in rows):
        return np.array([_number(value, f"{name}[{place}]") for place, value in enumerate(rows)])
    taken = [_numbers(row, f"{name}, row {number}") for number, row in enumerate(rows)]
    for number, row in enumerate(taken):
        if row.shape != taken[0].shape:
            expected = f"{_shape(taken[0])}, as row 0 has"
            raise InputError(f"{name}, row {number}", expected, _shape(row))
    return np.stack(taken)


def by_column(found: Any) -> Any:
    """Return rows or columns of an object that a file holds.

    A dict has lists by column, or vectors by id; a list has rows, or vectors.
    """
    if isinstance(found, Mapping):
        lists = {key: [*value] for key, value in found.items() if isinstance(value, _LISTS)}
        if all(value and isinstance(value[0], Number) for value in lists.values()):
            return {"id": [*found], "vector": [*found.values()]}
        return {"id" if key == "ids" else key: value for key, value in lists.items()}
    if not hasattr(found, "__len__"):
        raise ValueError("no rows, columns, or vectors by id")
    return found if any(isinstance(row, Mapping) for row in found) else {"vector": [*found]}


def _numbers(row: Any, place: str) -> NDArray[Any]:
    """Return a row as numbers. Raises `InputError` naming the column of what is none."""
    if isinstance(row, np.ma.MaskedArray) and np.ma.is_masked(row):
        raise InputError(place, "a vector without masked values", "some")
    try:
        array: NDArray[Any] = np.asarray(row)
    except ValueError as error:
        raise InputError(place, "a vector", "lists of several lengths") from error
    if array.dtype.kind in "fiub":
        return array
    if array.ndim == 0:
        raise InputError(place, "a vector", brief(row))
    return np.array([_number(value, f"{place}, column {column}") for column, value in enumerate(row)])


def _number(value: Any, place: str) -> float:
    try:
        if isinstance(value, Number):
            return float(value)  # type: ignore[arg-type]
    except (OverflowError, TypeError):  # beyond float64, or complex
        pass
    raise InputError(place, "a number", brief(value))


def _shape(row: NDArray[Any]) -> str:
    return f"{len(row)} numbers" if row.ndim else "a number"
