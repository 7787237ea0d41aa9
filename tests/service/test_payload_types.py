"""What a build takes, a service can send: payload of Arrow types, with values at their limits, from build to JSON."""

import base64
import math
import re
import tempfile
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from support.problems import normal
from support.serving import serving_catalog

import hubless
from hubless.errors import InputError

ROWS = 3
VECTORS = normal(ROWS, 4, seed=1)
BANK = normal(2, 4, seed=2)
MICROSECONDS = {"s": 10**6, "ms": 1000, "us": 1}
DAYS = (-(2**31), -719163, -719162, -1, 0, 2932896, 2932897, 2**31 - 1)
SECONDS = (-(2**63), -62135596801, -62135596800, -1, 0, 253402300799, 253402300800, 2**63 - 1)
HUGE = 999_999_999 * 86_400
REFUSED = object()


class Column(NamedTuple):
    """Values of a column, and whether a build must refuse it although Python can hold them."""

    values: pa.Array
    odd: bool = False

    def sent(self):
        """What the values are in JSON; `REFUSED` where a build must refuse the column."""
        try:
            return REFUSED if self.odd else in_json(self.values.to_pylist())
        except (OverflowError, ValueError):
            return REFUSED


def in_json(value):
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case float():
            return value if math.isfinite(value) else None
        case date() | time():
            return value.isoformat()
        case timedelta() | Decimal():
            return str(value)
        case dict():
            return {name: in_json(each) for name, each in value.items()}
        case list() | tuple():
            return [in_json(each) for each in value]
    return value


def rows_of(values):
    return st.lists(st.none() | values, min_size=ROWS, max_size=ROWS)


def from_python(kind, values):
    return rows_of(values).map(lambda given: Column(pa.array(given, kind)))


def from_numbers(kind, limits, odd=lambda given: False):
    """A column of a type that Arrow keeps as whole numbers: any numbers, most near where the type has its limits."""
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    least, most = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
    numbers = st.sampled_from([min(max(limit, least), most) for limit in limits]) | st.integers(least, most)
    few = st.integers(0, 10**4)
    return rows_of(few | numbers).map(lambda given: Column(pa.array(given, stored).view(kind), odd(given)))


def timestamps(unit, zone):
    return from_numbers(pa.timestamp(unit, zone), [each * 10**6 // MICROSECONDS[unit] for each in SECONDS])


def durations(unit):
    many = MICROSECONDS[unit]
    limits = [sign * (HUGE * 10**6 // many + more) for sign in (-1, 1) for more in (0, 86_400 * 10**6 // many)]
    return from_numbers(pa.duration(unit), limits)


def times(kind):
    """Times of a day. What no day has, Arrow takes modulo the day."""
    day = 86_400 * 10**6 // MICROSECONDS[kind.unit]
    limits = [-1, 0, day, 2**40]
    return from_numbers(kind, limits, lambda given: any(n is not None and not 0 <= n < day for n in given))


def whole_days(days):
    return Column(pa.array([None if day is None else day * DAY for day in days], pa.int64()).view(pa.date64()))


def never(values):
    return st.just(Column(values, odd=True))


DAY = 86_400_000
WORDS = pa.array(["a", "b", None])
LEAVES = [
    *[from_python(kind, st.text(max_size=20)) for kind in (pa.string(), pa.large_string(), pa.string_view())],
    from_python(pa.dictionary(pa.int8(), pa.string()), st.text(max_size=2)),
    *[from_python(kind, st.binary(max_size=20)) for kind in (pa.binary(), pa.binary_view())],
    from_python(pa.binary(2), st.binary(min_size=2, max_size=2)),
    from_python(pa.bool_(), st.booleans()),
    from_python(pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    from_python(pa.uint64(), st.integers(0, 2**64 - 1)),
    from_python(pa.float16(), st.floats(width=16).map(np.float16)),
    from_python(pa.float32(), st.floats(width=32)),
    from_python(pa.float64(), st.floats()),
    from_python(pa.decimal128(38, 2), st.integers(-(10**20), 10**20).map(lambda cents: Decimal(cents).scaleb(-2))),
    from_python(pa.null(), st.none()),
    from_numbers(pa.date32(), DAYS),
    rows_of(st.sampled_from(DAYS) | st.integers(-(10**9), 10**9)).map(whole_days),
    *[timestamps(unit, zone) for unit in MICROSECONDS for zone in (None, "UTC", "+05:30", "-12:00", "Europe/Berlin")],
    *[durations(unit) for unit in MICROSECONDS],
    *[times(kind) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"))],
    *[never(pa.nulls(ROWS, pa.timestamp("s", zone))) for zone in ("Nowhere/Town", "+1:00", "utc?", "../UTC")],
    never(pa.StructArray.from_arrays([WORDS, WORDS], ["a", "a"])),
    never(pa.array([b"a", b"\xff", None]).view(pa.string())),
    never(pa.array([(1, 2, 3), None, None], pa.month_day_nano_interval())),
    never(pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(["a"]))),
]
UNCONVERTED = (pa.string_view(), pa.binary_view(), pa.dictionary(pa.int8(), pa.string()))
OFFSETS = pa.array([*range(ROWS + 1)], pa.int32())


def as_lists(column):
    return column._replace(values=pa.ListArray.from_arrays(OFFSETS, column.values))


def as_list_views(column):
    values = pa.ListViewArray.from_arrays(OFFSETS[:-1], pa.array([1] * ROWS, pa.int32()), column.values)
    return Column(values, column.odd or column.values.type in UNCONVERTED)


def as_structs(column):
    return column._replace(values=pa.StructArray.from_arrays([column.values], ["in"]))


def as_maps(column):
    return column._replace(values=pa.MapArray.from_arrays(OFFSETS, pa.array(["k"] * ROWS), column.values))


WRAPS = (
    lambda column: column,
    as_lists,
    as_list_views,
    as_structs,
    as_maps,
    lambda column: as_lists(as_structs(column)),
)
COLUMNS = st.builds(lambda wrap, column: wrap(column), st.sampled_from(WRAPS), st.one_of(LEAVES))


def refused_by_build(catalog, columns):
    """The name of the column that a build refuses; None if it takes them all."""
    try:
        hubless.build(
            catalog, "c", VECTORS, BANK, metric="cosine", payload=pa.table(columns), correction="none", index="flat"
        )
    except InputError as error:
        return re.match(r"payload, column (\w+)(, row 0)?: expected ", str(error))[1]
    return None


def built_without_refused(catalog, columns):
    """Build, without each column that is refused in turn; the names of those that were refused."""
    refused = set()
    while name := refused_by_build(catalog, {name: each for name, each in columns.items() if name not in refused}):
        refused.add(name)
    return refused


@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(st.lists(COLUMNS, min_size=10, max_size=30))
def test_column_is_refused_by_name_at_build_or_sent_as_it_is(columns):
    given = {f"c{number}": column for number, column in enumerate(columns)}
    values = {"row": pa.array(range(ROWS))} | {name: column.values for name, column in given.items()}
    with tempfile.TemporaryDirectory() as folder:
        refused = built_without_refused(Path(folder), values)
        assert refused == {name for name, column in given.items() if column.sent() is REFUSED}
        with serving_catalog(Path(folder)) as base_url:
            answer = httpx.post(
                f"{base_url}/v1/collections/c/query",
                json={"vector": VECTORS[0].tolist(), "limit": ROWS, "with": ["payload"]},
            )
    assert answer.status_code == 200
    hits = sorted(answer.json()["hits"], key=lambda hit: hit["id"])
    for name, column in given.items():
        if name not in refused:
            assert [hit["payload"][name] for hit in hits] == column.sent(), (name, column.values.type)


def test_rows_added_in_a_zone_where_they_leave_year_9999_are_refused():
    last = pa.array([datetime(9999, 12, 31, 23)], pa.timestamp("us", "UTC"))
    index = hubless.Index(correction="none", metric="cosine").fit(
        VECTORS, VECTORS, payload={"at": pa.array([datetime(2000, 1, 1)] * ROWS, pa.timestamp("us", "Europe/Berlin"))}
    )
    with pytest.raises(InputError, match=r"^payload, column at: expected times from year 1 to 9999, in UTC or another"):
        index.add(VECTORS[:1], ids=[9], payload={"at": last})
