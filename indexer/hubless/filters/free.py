"""Conditions on keys of free payload. A value is compared with values of its own kind: 3 never equals "3"."""

import operator
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError
from hubless.filters.conditions import EQUAL, Mask, Relation, Test, is_in
from hubless.filters.kinds import ValueKind, kind_of
from hubless.vectors.arrays import Flags
from hubless.vectors.free_payload import FreeBatch, Values

Which: TypeAlias = Callable[[Values], Flags]
"""Values of a key → the rows that pass, (r,)."""

_TEXT, _WHOLE, _FLOAT, _BOOLEAN = pa.large_string(), pa.int64(), pa.float64(), pa.bool_()
_LARGEST = sys.float_info.max
_WHOLES = (_WHOLE, pa.uint64())


@dataclass(frozen=True)
class KeyCondition:
    """A test of the values of one key."""

    key: str
    which: Which

    def mask(self, rows: FreeBatch) -> Mask:
        return pa.array(self.which(rows.column(self.key)))


def there(wanted: bool) -> Which:
    """Test whether there is a value, or none."""
    return lambda values: values.there if wanted else ~values.there


def equal(value: Any) -> Which:
    """Test whether a value equals this one. Raises `InputError` for what no key can have, as all of these do."""
    return _compared(EQUAL, value)


def unequal(value: Any) -> Which:
    """Test whether there is a value that differs."""
    same = equal(value)
    return lambda values: values.there & ~same(values)


def in_order(by: Relation, value: Any) -> Which:
    """Test how a value compares with this one."""
    if _kind_of_value(value) == _BOOLEAN:
        raise InputError("", "a number or a string", "true or false")
    return _compared(by, value)


def string(test: Callable[[str, pa.DataType, ValueKind], Test], text: Any) -> Which:
    """Test whether a value is a string that passes a test of columns."""
    if not isinstance(text, str):
        raise InputError("", "a string", type(text).__name__)
    return _stored_as(_TEXT, test, text)


def holding(value: Any) -> Which:
    """Test whether a value is a list with an element that equals this one."""
    same = equal(value)

    def which(values: Values) -> Flags:
        found = np.zeros(len(values.there), np.bool_)
        if values.elements is not None:
            found[values.parents[same(values.elements)]] = True
        return found

    return which


def among(listed: Sequence[Any]) -> Which:
    """Test whether a value equals one of these."""
    tests = [
        _stored_as(stored, is_in, alike)
        for stored in (_TEXT, _BOOLEAN)
        if (alike := [value for value in listed if _kind_of_value(value) == stored])
    ]
    if numbers := [value for value in listed if _kind_of_value(value) not in (_TEXT, _BOOLEAN)]:
        whole = [int(value) for value in numbers if value == int(value)]
        tests += [_stored_as(stored, is_in, whole) for stored in _WHOLES]
        tests.append(_stored_as(_FLOAT, is_in, [float(value) for value in numbers]))
    return lambda values: reduce(operator.or_, (test(values) for test in tests), np.zeros(len(values.there), np.bool_))


def _compared(by: Relation, value: Any) -> Which:
    stored = _kind_of_value(value)
    if stored in (_TEXT, _BOOLEAN):
        return _stored_as(stored, by.test, value)

    def rounded(value: float, stored: pa.DataType, kind: ValueKind) -> Test:
        # below 2^53, or it would be whole: no number is on the wrong side of it once it is rounded
        as_float = by.test(value, _FLOAT, kind)
        return lambda numbers: as_float(pc.cast(numbers, _FLOAT, safe=False))

    whole = value == int(value)
    tests = [_stored_as(stored, by.test if whole else rounded, int(value) if whole else value) for stored in _WHOLES]
    tests.append(_stored_as(_FLOAT, by.test, float(value)))
    return lambda values: reduce(operator.or_, (test(values) for test in tests))


def _stored_as(stored: pa.DataType, test: Callable[[Any, pa.DataType, Any], Test], value: Any) -> Which:
    made = test(value, stored, kind_of(stored))
    return lambda values: values.which(stored, made)


def _kind_of_value(value: Any) -> pa.DataType:
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, int | float) and abs(value) <= _LARGEST:
        return _WHOLE if isinstance(value, int) else _FLOAT
    raise InputError("", "a string, a number, true or false", "null" if value is None else type(value).__name__)
