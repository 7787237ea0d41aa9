"""Operators of filters: one record each. Parser, free payload, schemas, pages, console and tests are derived from it.

To add an operator is to add a record: no other file names it. An engine that has no words for it tests it here.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hubless.errors import InputError
from hubless.filters import conditions, free
from hubless.filters.conditions import EQUAL, Mask, Order, Relation, Test
from hubless.filters.free import Which
from hubless.filters.kinds import BOOLEAN, LIST, ORDERED, OTHER, TEXT, ValueKind
from hubless.filters.shown import shown
from hubless.filters.words import COMBINATIONS, FIELD

_Json = dict[str, Any]
ReadOne = Callable[[Any, str], Any]
"""JSON value and its place in the filter → the value as a column has it. Raises `InputError` naming the place."""
_VALUES = (BOOLEAN, ORDERED, TEXT)
_IN_ORDER = (ORDERED, TEXT)
_ALL = (*_VALUES, LIST, OTHER)


@dataclass(frozen=True)
class Argument:
    """The value beside an operator: in words, as a JSON schema made of that of one value, and how it is read.

    `read`: JSON, its place, the reader of one value, and how many values may stand there → the argument of the tests.
    """

    says: str
    schema: Callable[[_Json], _Json]
    read: Callable[[Any, str, ReadOne, int], Any]


def _flag(value: Any, place: str, read: ReadOne, most: int) -> bool:
    if not isinstance(value, bool):
        raise InputError(place, "true or false", shown(value))
    return value


def _listed(value: Any, place: str, read: ReadOne, most: int) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(place, "a list of values", shown(value))
    if len(value) > most:
        raise InputError(place, f"at most {most} values", len(value))
    return [read(one, f"{place}[{i}]") for i, one in enumerate(value)]


ONE = Argument("one value", lambda value: value, lambda value, place, read, most: read(value, place))
STRING = Argument("a string", lambda value: {"type": "string"}, ONE.read)
SEVERAL = Argument("a list of values", lambda value: {"type": "array", "items": value}, _listed)
FLAG = Argument("`true` or `false`", lambda value: {"type": "boolean"}, _flag)


@dataclass(frozen=True)
class Operator:
    """A test of a value by an argument. A null passes no test but `exists`.

    name     : its word in the JSON of filters
    sign     : what the console shows
    says     : when it holds, after "the target's value"
    families : the columns that take it
    argument : what it compares with
    row_test : value, argument → whether it holds; the meaning of the others
    test     : argument, type of the values, their kind → test of a column of Arrow
    key_test : argument → test of a key of free payload; raises `InputError` for one that no value can be
    """

    name: str
    sign: str
    says: str
    families: tuple[str, ...]
    argument: Argument
    row_test: Callable[[Any, Any], bool]
    test: Callable[[Any, pa.DataType, ValueKind], Test]
    key_test: Callable[[Any], Which]


def _order(name: str, sign: str, says: str, vectorised: Callable[..., Mask], plain: Callable[..., bool]) -> Operator:
    by = Order(vectorised, plain)
    return Operator(name, sign, says, _IN_ORDER, ONE, by.holds, by.test, lambda value: free.in_order(by, value))


def _of_text(name: str, sign: str, vectorised: Callable[..., Mask], plain: Callable[..., bool]) -> Operator:
    def test(text: str, stored: pa.DataType, kind: ValueKind) -> Test:
        return conditions.of_text(vectorised, text, stored, kind)

    return Operator(name, sign, f"{sign} it", (TEXT,), STRING, plain, test, lambda text: free.string(test, text))


_TABLE = (
    Operator("eq", "=", "is equal to it", _VALUES, ONE, operator.eq, EQUAL.test, free.equal),
    Operator(
        "ne",
        "≠",
        "is a different one",
        _VALUES,
        ONE,
        operator.ne,
        Relation(pc.not_equal, operator.ne).test,
        free.unequal,
    ),
    Operator(
        "in",
        "is one of",
        "is equal to one of them; never for an empty list",
        _VALUES,
        SEVERAL,
        lambda value, listed: any(value == one for one in listed),
        conditions.is_in,
        free.among,
    ),
    _order("gt", ">", "is above", pc.greater, operator.gt),
    _order("gte", "≥", "is at least this", pc.greater_equal, operator.ge),
    _order("lt", "<", "is below", pc.less, operator.lt),
    _order("lte", "≤", "is at most this", pc.less_equal, operator.le),
    Operator(
        "contains",
        "contains",
        "is a list with an element equal to it",
        (LIST,),
        ONE,
        lambda elements, value: any(element is not None and element == value for element in elements),
        lambda value, stored, kind: conditions.contains(EQUAL.test(value, stored, kind)),
        free.holding,
    ),
    _of_text("prefix", "begins with", pc.starts_with, str.startswith),
    _of_text("suffix", "ends with", pc.ends_with, str.endswith),
    Operator(
        "exists",
        "is there",
        "is there; for `false`, is null",
        _ALL,
        FLAG,
        lambda value, wanted: (value is not None) == wanted,
        lambda wanted, stored, kind: conditions.exists(wanted),
        free.there,
    ),
)
OPERATORS = {each.name: each for each in _TABLE}
RESERVED = (*COMBINATIONS, FIELD, *OPERATORS)
"""Names that short filters do not have."""
EQUAL_TO, ONE_OF = "eq", "in"
"""What a short filter asks of a value, and of a list of values."""
