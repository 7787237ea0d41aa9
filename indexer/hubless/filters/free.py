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
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.filters.conditions import Mask, compared_with, has_prefix, is_in
from hubless.filters.kinds import ORDER, kind_of
from hubless.vectors.free_payload import FreeBatch, Values

Which: TypeAlias = Callable[[Values], NDArray[np.bool_]]
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


def key_test(name: str, value: Any) -> Which:
    """The test of an operator and its value. Raises `InputError`, without a parameter, if it compares with no such."""
    if name == "exists":
        wanted = _checked(bool, value, "true or false")
        return lambda values: values.there if wanted else ~values.there
    if name == "prefix":
        test = has_prefix(_checked(str, value, "a string"), _TEXT, _kind(_TEXT))
        return lambda values: values.which(_TEXT, test)
    if name == "in":
        return _is_in(value)
    if name == "contains":
        return _contains(_compared("eq", value))
    if name == "ne":
        equal = _compared("eq", value)
        return lambda values: values.there & ~equal(values)
    return _compared(name, value)


def _contains(equal: Which) -> Which:
    def which(values: Values) -> NDArray[np.bool_]:
        found = np.zeros(len(values.there), np.bool_)
        if values.elements is not None:
            found[values.parents[equal(values.elements)]] = True
        return found

    return which


def _is_in(listed: Sequence[Any]) -> Which:
    tests = [
        _one(stored, is_in(alike, stored, _kind(stored)))
        for stored in (_TEXT, _BOOLEAN)
        if (alike := [value for value in listed if _kind_of_value(value) == stored])
    ]
    if numbers := [value for value in listed if _kind_of_value(value) not in (_TEXT, _BOOLEAN)]:
        whole = [int(value) for value in numbers if value == int(value)]
        tests += [_one(stored, is_in(whole, stored, _kind(stored))) for stored in _WHOLES]
        tests.append(_one(_FLOAT, is_in([float(value) for value in numbers], _FLOAT, _kind(_FLOAT))))
    return lambda values: reduce(operator.or_, (test(values) for test in tests), np.zeros(len(values.there), np.bool_))


def _compared(name: str, value: Any) -> Which:
    stored = _kind_of_value(value)
    if stored == _BOOLEAN and name in ORDER:
        raise InputError("", "a number or a string", "true or false")
    if stored in (_TEXT, _BOOLEAN):
        return _one(stored, compared_with(name, value, stored, _kind(stored)))
    as_float = compared_with(name, float(value), _FLOAT, _kind(_FLOAT))
    tests = [_one(_FLOAT, as_float)]
    for stored in _WHOLES:
        if value == int(value):
            tests.append(_one(stored, compared_with(name, int(value), stored, _kind(stored))))
        else:  # below 2^53, or it would be whole: no number is on the wrong side of it once it is rounded
            tests.append(_one(stored, lambda numbers: as_float(pc.cast(numbers, _FLOAT, safe=False))))
    return lambda values: reduce(operator.or_, (test(values) for test in tests))


def _one(stored: pa.DataType, test: Callable[[pa.Array], Any]) -> Which:
    return lambda values: values.which(stored, test)


def _kind(stored: pa.DataType) -> Any:
    return kind_of(stored)


def _kind_of_value(value: Any) -> pa.DataType:
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, str):
        return _TEXT
    if isinstance(value, int | float) and abs(value) <= _LARGEST:
        return _WHOLE if isinstance(value, int) else _FLOAT
    raise InputError("", "a string, a number, true or false", "null" if value is None else type(value).__name__)


def _checked(kind: type, value: Any, expected: str) -> Any:
    if type(value) is not kind:
        raise InputError("", expected, type(value).__name__)
    return value
