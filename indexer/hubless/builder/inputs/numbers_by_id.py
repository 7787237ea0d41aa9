"""Numbers of targets in a table that has their ids: its rows may stand in any order, and be more than the targets."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hubless.errors import InputError, one_line
from hubless.vectors.arrays import to_arrow
from hubless.vectors.ids import ID_COLUMN
from hubless.vectors.listing import ending_of
from hubless.vectors.payload import open_payload
from hubless.vectors.readers.columns import Column, listed
from hubless.vectors.readers.formats import Use, endings_of


@dataclass(frozen=True)
class NumbersById:
    """Values (r,) of ids (r,), and what the file is called in messages."""

    name: str
    ids: pa.Array
    values: NDArray[np.float64]

    def of(self, ids: pa.Array | None, count: int) -> NDArray[np.float64]:
        """Return the numbers of targets (n,) by their ids, or row numbers. Raises `InputError` naming one without."""
        wanted = to_arrow(np.arange(count)) if ids is None else ids
        try:
            known = self.ids.cast(wanted.type)
        except pa.ArrowException as error:
            expected = f"ids of type {wanted.type}, as the targets have"
            raise InputError(f"{self.name}, id", expected, one_line(error)) from error
        if (repeated := len(known) - len(pc.unique(known))) > 0:
            raise InputError(f"{self.name}, id", "each id once", f"{repeated} that repeat others")
        places = pc.index_in(wanted, value_set=known)
        if places.null_count:
            missing = wanted.filter(places.is_null())[0].as_py()
            more = f" and {places.null_count - 1:,} more" if places.null_count > 1 else ""
            raise InputError(self.name, "a number for the id of each target", f"none for {missing!r}{more}")
        found: NDArray[np.float64] = self.values[places.to_numpy()]
        return found


def numbers_by_id(path: str | Path, parameter: str) -> NumbersById | None:
    """Return the numbers of a table with a column `id`, and one of the parameter's name or a single other.

    None for a file of another kind, or without ids: its numbers are in the order of the targets. Raises `InputError` if
    the table cannot be read.
    """
    path = Path(path)
    if ending_of(path) not in endings_of(Use.PAYLOAD) or not path.exists():
        return None
    opened = open_payload(path)
    name = f"{parameter} ({path.name})"
    usual = parameter.replace(" ", "_")
    others = [column for column in opened.schema.names if column != ID_COLUMN]
    if ID_COLUMN not in opened.schema.names or not others:
        return None
    if usual not in others and len(others) > 1:
        raise InputError(name, f"a column named {usual}, or a single one beside {ID_COLUMN}", ", ".join(others))
    column = usual if usual in others else others[0]
    table = opened.to_table(columns=[ID_COLUMN, column])
    values = [np.nan if value is None else value for value in listed(Column(table[column], name), "numbers")]
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}, column {column}", "numbers", one_line(error)) from error
    return NumbersById(name, table[ID_COLUMN].combine_chunks(), numbers)
