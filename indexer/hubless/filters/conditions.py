"""What a filter is made of: conditions on columns, and their combinations. Each gives a mask of a batch of rows.

A mask (r,) has no nulls: a condition on a null is false, and so `not` turns it to true.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.filters.kinds import Kind

Mask: TypeAlias = pa.BooleanArray
Test = Callable[[pa.Array], Mask]
"""From the values of a column to a mask, null where they are null."""

_COMPARISONS: dict[str, tuple[Callable[..., Mask], Callable[[Any, Any], bool]]] = {
    "eq": (pc.equal, operator.eq),
    "ne": (pc.not_equal, operator.ne),
    "gt": (pc.greater, operator.gt),
    "gte": (pc.greater_equal, operator.ge),
    "lt": (pc.less, operator.lt),
    "lte": (pc.less_equal, operator.le),
}


class Node(Protocol):
    """A part of a filter."""

    def mask(self, rows: pa.RecordBatch) -> Mask:
        """Which rows it holds for."""


@dataclass(frozen=True)
class Condition:
    """What is asked of a column."""

    field: str
    test: Test

    def mask(self, rows: pa.RecordBatch) -> Mask:
        column = rows.column(self.field)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return pc.fill_null(self.test(column), False)


@dataclass(frozen=True)
class Every:
    """All parts hold; without any part, everything does."""

    parts: tuple[Node, ...]

    def mask(self, rows: pa.RecordBatch) -> Mask:
        return _joined(pc.and_, self.parts, rows, True)


@dataclass(frozen=True)
class Some:
    """At least one part holds; without any part, nothing does."""

    parts: tuple[Node, ...]

    def mask(self, rows: pa.RecordBatch) -> Mask:
        return _joined(pc.or_, self.parts, rows, False)


@dataclass(frozen=True)
class Opposite:
    """The part does not hold."""

    part: Node

    def mask(self, rows: pa.RecordBatch) -> Mask:
        return pc.invert(self.part.mask(rows))


def exists(wanted: bool) -> Test:
    """Whether there is a value: NaN, an empty string and an empty list are values."""
    test: Test = pc.is_valid if wanted else pc.is_null
    return test


def compare(name: str, value: Any, stored: pa.DataType, kind: Kind) -> Test:
    """Compare with one value, that `kind` has read, by an operator of its name."""
    vectorised, plain = _COMPARISONS[name]
    if pa.types.is_integer(stored) and not _fits(value, stored):
        # every number that the column can hold lies on the same side of it
        held = plain(0, value)
        return lambda column: pc.and_(pc.is_valid(column), held)
    compared = kind.compared(stored)
    scalar = pa.scalar(value, compared)
    return lambda column: vectorised(_as(column, compared), scalar)


def is_in(values: Sequence[Any], stored: pa.DataType, kind: Kind) -> Test:
    """Equal to one of the values."""
    if pa.types.is_integer(stored):
        values = [value for value in values if _fits(value, stored)]
    elif pa.types.is_floating(stored) and 0 in values:
        values = [*values, 0.0, -0.0]  # which are equal, but not the same
    compared = kind.compared(stored)
    known = pa.array(values, compared)
    return lambda column: pc.is_in(_as(column, compared), value_set=known)


def has_prefix(text: str, stored: pa.DataType, kind: Kind) -> Test:
    """Strings that begin so."""
    compared = kind.compared(stored)
    return lambda column: pc.starts_with(_as(column, compared), text)


def contains(value: Any, stored: pa.DataType, kind: Kind) -> Test:
    """Lists of which an element is equal to the value."""
    equal = compare("eq", value, stored, kind)

    def test(column: pa.Array) -> Mask:
        elements = pc.list_flatten(column)
        if pa.types.is_dictionary(elements.type):
            elements = elements.dictionary_decode()
        holding = pc.list_parent_indices(column).filter(equal(elements))
        found = np.zeros(len(column), np.bool_)
        found[holding.to_numpy()] = True
        return pa.array(found)

    return test


def _joined(join: Callable[[Mask, Mask], Mask], parts: Sequence[Node], rows: pa.RecordBatch, neutral: bool) -> Mask:
    if not parts:
        return pa.array(np.full(rows.num_rows, neutral))
    return reduce(join, (part.mask(rows) for part in parts))


def _as(column: pa.Array, compared: pa.DataType) -> pa.Array:
    return column if column.type == compared else column.cast(compared, safe=False)


def _fits(value: int, stored: pa.DataType) -> bool:
    limits = np.iinfo(stored.to_pandas_dtype())
    return bool(limits.min <= value <= limits.max)
