"""Conditions on columns, and their combinations. Each gives a mask (r,) of a batch of rows, false for a null."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.filters.instants import INSTANT, instant_of, instants
from hubless.filters.kinds import TEXT, ValueKind

Mask: TypeAlias = pa.BooleanArray
Test = Callable[[pa.Array], Mask]
"""Values of a column → mask, null where a value is null."""


class Node(Protocol):
    """A part of a filter."""

    def mask(self, rows: Any) -> Mask:
        """Return which rows it holds for."""


@dataclass(frozen=True)
class Condition:
    """A test of one column."""

    field: str
    test: Test

    def mask(self, rows: pa.RecordBatch) -> Mask:
        column = rows.column(self.field)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return pc.fill_null(self.test(column), False)


@dataclass(frozen=True)
class Joined:
    """Holds if `every` part does, always without parts; or if at least one does, never without parts."""

    parts: tuple[Node, ...]
    every: bool = True

    def mask(self, rows: pa.RecordBatch) -> Mask:
        if not self.parts:
            return pa.array(np.full(rows.num_rows, self.every))
        return reduce(pc.and_ if self.every else pc.or_, (part.mask(rows) for part in self.parts))


@dataclass(frozen=True)
class Opposite:
    """Holds if the part does not."""

    part: Node

    def mask(self, rows: pa.RecordBatch) -> Mask:
        return pc.invert(self.part.mask(rows))


def exists(wanted: bool) -> Test:
    """Test whether there is a value. NaN, an empty string and an empty list are values."""
    test: Test = pc.is_valid if wanted else pc.is_null
    return test


@dataclass(frozen=True)
class Relation:
    """A relation of all values of an array to a scalar, and the same of two values."""

    vectorised: Callable[..., Mask]
    plain: Callable[[Any, Any], bool]

    def test(self, value: Any, stored: pa.DataType, kind: ValueKind) -> Test:
        """Compare with one value, which `kind` has read."""
        if pa.types.is_integer(stored) and not _fits(value, stored):
            # all numbers that the column can hold are on the same side of the value
            held = self.plain(0, value)
            return lambda column: pc.and_(pc.is_valid(column), held)
        compared = kind.compared(stored)
        scalar = pa.scalar(value, compared)
        return lambda column: self.vectorised(_as(column, compared), scalar)


@dataclass(frozen=True)
class Order(Relation):
    """A relation of what comes before and after. Beside a time with an offset, only such times have an order."""

    def holds(self, value: Any, other: Any) -> bool:
        """Return whether it holds for two values."""
        instant = instant_of(other) if isinstance(other, str) else None
        if instant is None:
            return self.plain(value, other)
        read = instant_of(value)
        return read is not None and self.plain(read, instant)

    def test(self, value: Any, stored: pa.DataType, kind: ValueKind) -> Test:
        instant = instant_of(value) if kind.family == TEXT else None
        if instant is None:
            return super().test(value, stored, kind)
        compared, scalar = kind.compared(stored), pa.scalar(instant, INSTANT)
        return lambda column: self.vectorised(instants(_as(column, compared)), scalar)


EQUAL = Relation(pc.equal, operator.eq)


def is_in(values: Sequence[Any], stored: pa.DataType, kind: ValueKind) -> Test:
    """Test whether a value equals one of these."""
    if pa.types.is_integer(stored):
        values = [value for value in values if _fits(value, stored)]
    elif pa.types.is_floating(stored) and 0 in values:
        values = [*values, 0.0, -0.0]  # equal, but pyarrow tells them apart
    compared = kind.compared(stored)
    known = pa.array(values, compared)
    return lambda column: pc.is_in(_as(column, compared), value_set=known)


def of_text(vectorised: Callable[..., Mask], text: str, stored: pa.DataType, kind: ValueKind) -> Test:
    """Test strings by a function of Arrow's that takes them and a text."""
    compared = kind.compared(stored)
    return lambda column: vectorised(_as(column, compared), text)


def contains(equal: Test) -> Test:
    """Test whether an element of a list passes a test."""

    def test(column: pa.Array) -> Mask:
        elements = pc.list_flatten(column)
        if pa.types.is_dictionary(elements.type):
            elements = elements.dictionary_decode()
        holding = pc.list_parent_indices(column).filter(equal(elements))
        found = np.zeros(len(column), np.bool_)
        found[holding.to_numpy()] = True
        return pa.array(found)

    return test


def _as(column: pa.Array, compared: pa.DataType) -> pa.Array:
    return column if column.type == compared else column.cast(compared, safe=False)


def _fits(value: int, stored: pa.DataType) -> bool:
    limits = np.iinfo(str(stored))  # most versions of pyarrow need pandas for their own conversion
    return bool(limits.min <= value <= limits.max)
