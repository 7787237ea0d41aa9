"""Labels: the right targets of each query, by their ids; by their row numbers if the targets have no ids."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import InputError, PointNotFound
from hubless.kernels.forks import cached_property
from hubless.measures.plain_ids import expected_id, listed_ids, plain_id, whole_number
from hubless.vectors.arrays import I64
from hubless.vectors.files import Items
from hubless.vectors.ids import IdTable
from hubless.vectors.object_rows import brief
from hubless.vectors.readers.columns import Column, listed, read_column

Labels: TypeAlias = str | Path | Sequence[Any] | Mapping[Any, Any] | NDArray[Any] | pa.Array
"""For each query the id of its right target or a list of ids, or a file of these: docs/cli.md has all forms."""

_FORMS = "for each query the id of its right target, or a list of ids"
_NAMED, _MATRIX, _FEW = 5, 2, 2
_NO_ROWS: I64 = np.empty(0, np.int64)
_log = logging.getLogger("hubless.labels")


class KnownIds(Protocol):
    """The ids of some items, as `IdTable` has them."""

    @property
    def type(self) -> str:
        """`int64` or `string`."""

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        """The ids of some rows."""

    def row(self, wanted: str | int) -> int:
        """The row of an id. Raises `PointNotFound`."""


@dataclass(frozen=True)
class KnownItems:
    """Targets or queries, as labels name them: by their ids, or by their row numbers if they have no ids."""

    count: int
    given: pa.Array | KnownIds | None = None
    noun: str = "target"

    @cached_property
    def ids(self) -> KnownIds | None:
        """Raises `DuplicateIds`."""
        return IdTable.of(self.given) if isinstance(self.given, pa.Array) else self.given

    @property
    def by_text(self) -> bool:
        return self.ids is not None and self.ids.type == "string"

    @property
    def expected(self) -> str:
        """Words for a label that names one of these."""
        if self.ids is None:
            return f"the row number of a {self.noun}, 0 to {self.count - 1}, as none has an id"
        return expected_id(self.noun, self.by_text, self.ids.ids(np.zeros(1, np.int64))[0] if self.count else None)

    @property
    def in_another_order(self) -> bool:
        """True if ids are whole numbers, and not those of the rows: then nobody sees which of the two is meant."""
        if self.ids is None or self.by_text:
            return False
        return self.ids.ids(np.arange(self.count)) != list(range(self.count))

    def row(self, value: Any, as_text: bool) -> int | None:
        """Return the row of an item; None if the value is none, such as NaN.

        With `as_text` the value comes from a text, which stands for a number, too. Raises `InputError`, or
        `PointNotFound` if no item has the id.
        """
        plain = plain_id(value, self.by_text, as_text, self.expected)
        if plain is None:
            return None
        if self.ids is not None:
            return self.ids.row(plain)
        row = int(plain)
        if not 0 <= row < self.count:
            raise InputError("", self.expected, row)
        return row


def known_queries(items: Items) -> KnownItems:
    """Return the queries of a file or an array, as the keys of labels name them."""
    return KnownItems(items.vectors.shape[0], items.ids, "query")


def open_labels(labels: Labels | None, parameter: str = "relevant") -> Column:
    """Return labels as they are written, from a file or not. Raises `StorageError` and `InputError` for a file."""
    return read_column(labels, parameter) if isinstance(labels, str | Path) else Column(labels, parameter)


def right_rows(
    labels: Labels | Column | None, targets: KnownItems, queries: KnownItems, *, unknown_ids: bool = False
) -> list[I64]:
    """Return the rows of the right targets of each query (m,), ascending, each once; empty where there is none.

    As `known_rows`, which keeps apart that nobody knows, and that none is right.
    """
    found = known_rows(labels, targets, queries, unknown_ids=unknown_ids)
    return [_NO_ROWS if rows is None else rows for rows in found]


def known_rows(
    labels: Labels | Column | None,
    targets: KnownItems,
    queries: KnownItems,
    *,
    parameter: str = "relevant",
    entry: str = ", entry {}",
    unknown_ids: bool = False,
) -> list[I64 | None]:
    """Return the rows of the right targets of each query (m,), ascending, each once; None where nobody knows.

    An empty list of ids says that no target is right. With `unknown_ids`, ids that no target has are left out.
    `parameter` and `entry` are what errors call the labels and those of one query. Raises `InputError` that names the
    first wrong entry and counts the others, and `StorageError` if there is no such file.
    """
    column = labels if isinstance(labels, Column) else open_labels(labels, parameter)
    column = column.joined(queries.noun, queries.given if isinstance(queries.given, pa.Array) else None)
    if is_mask(column.values, queries.count, targets.count):
        each = np.repeat(np.arange(targets.count), column.values.shape[1])
        return [each[row : row + 1] if there else None for row, there in enumerate(column.values.ravel().tolist())]
    found: list[I64 | None] = [None] * queries.count
    wrong: dict[str, InputError] = {}
    for place, query, label in _entries(column, queries, entry, wrong):
        try:
            found[query] = _right(label, targets, column.as_text, unknown_ids)
        except InputError as error:
            wrong[place] = error
    if wrong:
        raise _together(wrong, column, targets)
    if targets.in_another_order and _could_be_rows(column.values, targets.count):
        _log.warning(
            "%s: whole numbers are ids of targets. If they are row numbers, write the ids of these rows.", column.name
        )
    return found


def is_mask(values: Any, queries: int, targets: int) -> bool:
    """Return True for an array (n, c) of booleans, or of 0 and 1, with a place for each query, as in QB-Norm's code.

    It says which captions of a target are there: query i·c + j belongs to target i. One or two rows of 0 and 1 in a
    single column may also be row numbers, and are taken for these.
    """
    if not isinstance(values, np.ndarray) or values.ndim != _MATRIX or not queries:
        return False
    (rows, columns), kind = values.shape, values.dtype.kind
    if (rows, rows * columns) != (targets, queries):
        return False
    numbers = kind in "iuf" and (columns > 1 or rows > _FEW) and bool(np.isin(values, (0, 1)).all())
    return kind == "b" or numbers


def _entries(
    column: Column, queries: KnownItems, entry: str, wrong: dict[str, InputError]
) -> Iterator[tuple[str, int, Any]]:
    """Yield what errors call the entry of a query, the row of the query, and the entry."""
    if isinstance(column.values, Mapping):
        for key, label in column.values.items():
            place = f", key {brief(key)}"
            try:
                row = queries.row(key, True)
            except PointNotFound:
                wrong[place] = InputError("", queries.expected, f"{brief(key)}, which no query has")
            except InputError as error:
                wrong[place] = error
            else:
                if row is not None:
                    yield place, row, label
        return
    values = listed(column, _FORMS)
    if len(values) != queries.count:
        raise InputError(column.name, f"{queries.count} entries, one for each query", len(values))
    for row, label in enumerate(values):
        yield entry.format(row), row, label


def _right(label: Any, targets: KnownItems, as_text: bool, unknown_ids: bool) -> I64 | None:
    """Return the rows that the label of a query names as right; None for no label. Raises `InputError`."""
    rows = []
    if isinstance(label, Mapping):
        label = [name for name, grade in label.items() if _is_right(grade)]
        as_text = True
    listed = listed_ids(label)
    values = [label] if listed is None else listed
    for value in values:
        try:
            row = targets.row(value, as_text)
        except PointNotFound as error:
            if not unknown_ids:
                raise InputError("", targets.expected, f"{brief(value)}, which no {targets.noun} has") from error
        else:
            rows += [] if row is None else [row]
    return np.unique(np.array(rows, np.int64)) if rows or not values else None


def _is_right(grade: Any) -> bool:
    if not isinstance(grade, int | float | np.number):
        raise InputError("", "a grade of each id, a number: above 0 is right", brief(grade))
    return bool(grade > 0)


def _together(wrong: dict[str, InputError], column: Column, targets: KnownItems) -> InputError:
    """Return one error for all wrong entries: the first in full."""
    (place, first), *others = wrong.items()
    received = first.received
    if others:
        named = ", ".join(place.strip(", ") for place, _ in others[:_NAMED]) + ", …" * (len(others) > _NAMED)
        received += f"; {len(others)} more {'entries are' if others[1:] else 'entry is'} wrong: {named}"
    if targets.ids is not None and _could_be_rows(column.values, targets.count):
        received += "; if these are row numbers, write the ids of these rows"
    if targets.ids is None and first.received.endswith("a text"):
        received += "; if these are ids, give the ids of the targets too"
    return InputError(f"{column.name}{place}", first.expected, received)


def _could_be_rows(values: Any, count: int) -> bool:
    """Return True if all labels are whole numbers that rows could have."""
    entries = values.values() if isinstance(values, Mapping) else listed(Column(values, ""), _FORMS)
    flat = [one for entry in entries for one in (entry if isinstance(entry, list | tuple) else [entry])]
    numbers = [whole_number(one) for one in flat if one is not None]
    return all(number is not None and 0 <= number < count for number in numbers)
