"""Filters, obviously right: row by row in plain Python; and random tables with filters over them."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from hubless.filters.kinds import LIST, OTHER, family_of
from hubless.filters.operators import FLAG, OPERATORS, SEVERAL

TIMES = (
    *("2023-01-01T00:30:00Z", "2023-01-01T01:00:00+01:00", "2023-01-01 01:30+0100", "2023-01-01t00:30:00.5z"),
    *("2022-12-31T20:00:00.1234567-04", "2023-02-31T00:00:00Z", "2023-01-01T00:30:00", "2023-01-01"),
)
"""Texts: times with an offset, and some that are none."""
COLUMNS = {
    "truth": (pa.bool_(), st.booleans(), lambda value: value),
    "tiny": (pa.int8(), st.integers(-128, 127), lambda value: value),
    "whole": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(2**53 - 2, 2**53 + 2), lambda value: value),
    "unsigned": (pa.uint64(), st.integers(0, 2**64 - 1), lambda value: value),
    "single": (pa.float32(), st.floats(width=32, allow_nan=True), lambda value: np.float32(value).item()),
    "double": (pa.float64(), st.floats() | st.sampled_from([0.0, -0.0]), lambda value: value),
    "half": (pa.float16(), st.floats(width=16).map(np.float16), lambda value: np.float16(value).item()),
    "price": (pa.decimal128(6, 2), st.decimals(-9999, 9999, places=2), lambda value: Decimal(str(value))),
    "text": (pa.string(), st.text("ab\0ä😀", max_size=3) | st.sampled_from(TIMES), lambda value: value),
    "large": (pa.large_string(), st.text("ab", max_size=3), lambda value: value),
    "view": (pa.string_view(), st.text("ab", max_size=3), lambda value: value),
    "category": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from("abc"), lambda value: value),
    "day": (pa.date32(), st.dates(), date.fromisoformat),
    "moment": (pa.timestamp("us"), st.datetimes(), datetime.fromisoformat),
    "second": (pa.timestamp("s"), st.datetimes().map(lambda at: at.replace(microsecond=0)), datetime.fromisoformat),
    "zoned": (
        pa.timestamp("ms", "UTC"),
        st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(
            lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000, tzinfo=UTC)
        ),
        datetime.fromisoformat,
    ),
    "clock": (pa.time32("s"), st.times().map(lambda at: at.replace(microsecond=0)), time.fromisoformat),
    "tags": (pa.list_(pa.string()), st.lists(st.none() | st.text("ab", max_size=1), max_size=3), lambda value: value),
    "numbers": (pa.large_list(pa.int16()), st.lists(st.integers(-3, 3), max_size=3), lambda value: value),
    "pair": (pa.list_(pa.int64(), 2), st.lists(st.integers(-3, 3), min_size=2, max_size=2), lambda value: value),
    "nothing": (pa.null(), st.none(), lambda value: value),
    "bytes": (pa.binary(), st.binary(max_size=2), lambda value: value),
    "nested": (pa.struct([("a", pa.int8())]), st.fixed_dictionaries({"a": st.integers(0, 9)}), lambda value: value),
}
"""By name: the type, what may stand in it, and how a value of a filter is read for it."""


def holds(document, row):
    """Whether a row, a dict of Python values, meets a filter."""
    if "field" not in document:
        ((name, inner),) = document.items()
        if name == "and":
            return all(holds(part, row) for part in inner)
        if name == "or":
            return any(holds(part, row) for part in inner)
        return not holds(inner, row)
    name = document["field"]
    return all(_meets(row[name], member, value, name) for member, value in document.items() if member != "field")


def _meets(value, name, argument, column):
    if value is None and name != "exists":
        return False
    asked, read = OPERATORS[name], COLUMNS[column][2]
    if asked.argument is SEVERAL:
        argument = [read(one) for one in argument]
    return asked.row_test(value, argument if asked.argument in (SEVERAL, FLAG) else read(argument))


def tables(names=tuple(COLUMNS), rows=12):
    """Tables of some of these columns, with nulls."""

    def column(name):
        return st.lists(st.none() | COLUMNS[name][1], min_size=rows, max_size=rows)

    chosen = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    return chosen.flatmap(lambda some: st.fixed_dictionaries({name: column(name) for name in some})).map(
        lambda columns: pa.table({name: pa.array(values, COLUMNS[name][0]) for name, values in columns.items()})
    )


def filters_of(table, operators=tuple(OPERATORS)):
    """Filters over the columns of a table, by all operators that fit; many of their values stand in it."""
    conditions = st.sampled_from(table.schema.names).flatmap(
        lambda name: _conditions(name, table[name].to_pylist(), operators)
    )
    return st.recursive(
        conditions,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: {"and": parts}),
            st.lists(inner, max_size=3).map(lambda parts: {"or": parts}),
            inner.map(lambda part: {"not": part}),
        ),
        max_leaves=4,
    )


def _conditions(name, held, operators):
    stored, values, _ = COLUMNS[name]
    family = family_of(stored)
    if family == LIST:
        held = [element for line in held if line for element in line]
        values = st.text("ab", max_size=1) if name == "tags" else st.integers(-4, 4)
    value = st.just(None) if family == OTHER else st.sampled_from([*filter(_said, held), None]) | values
    if pa.types.is_integer(stored):
        value |= st.integers(-(2**70), 2**70)  # also what the column cannot hold
    value = value.map(_in_json).filter(_said)
    arguments = {SEVERAL: st.lists(value, max_size=3), FLAG: st.booleans()}
    asked = {
        each: arguments.get(OPERATORS[each].argument, value) for each in operators if family in OPERATORS[each].families
    }
    chosen = st.lists(st.sampled_from(sorted(asked)), min_size=1, max_size=2, unique=True)
    conditions = chosen.flatmap(lambda some: st.fixed_dictionaries({each: asked[each] for each in some}))
    return conditions.map(lambda tests: {"field": name, **tests})


def _said(value):
    return value is not None


def _in_json(value):
    match value:
        case float() | np.floating():
            return float(value) if np.isfinite(value) else None
        case Decimal():
            return str(value)
        case date() | datetime() | time():
            return value.isoformat()
    return value
