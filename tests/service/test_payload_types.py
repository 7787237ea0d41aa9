"""What a build takes, a service can send: payload of Arrow types, with values at their limits, from build to JSON."""

import base64
import re
import tempfile
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import httpx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.problems import normal
from support.serving import serving_catalog

import hubless
from hubless.errors import InputError

ROWS = 3
VECTORS = normal(ROWS, 4, seed=1)
BANK = normal(2, 4, seed=2)
MICROSECONDS = {"s": 10**6, "ms": 1000, "us": 1}
ZONES = {
    None: None,
    "UTC": UTC,
    "+05:30": timezone(timedelta(hours=5, minutes=30)),
    "-12:00": timezone(-timedelta(hours=12)),
    "Europe/Berlin": ZoneInfo("Europe/Berlin"),
}
UNKNOWN_ZONES = ("Nowhere/Town", "+1:00", "utc?", "../UTC")
DAYS = (-(2**31), -719163, -719162, -1, 0, 2932896, 2932897, 2**31 - 1)
SECONDS = (-(2**63), -62135596801, -62135596800, -1, 0, 253402300799, 253402300800, 2**63 - 1)
HUGE = 999_999_999 * 86_400
REFUSED = object()


class Column(NamedTuple):
    """Values of a column, and what they are in JSON; `REFUSED` where a build must refuse the column."""

    values: pa.Array
    sent: Any


def sent_as(write, numbers):
    """Each value in JSON; `REFUSED` if Python cannot hold one."""
    try:
        return [None if number is None else write(number) for number in numbers]
    except OverflowError:
        return REFUSED


def rows_of(values):
    return st.lists(st.none() | values, min_size=ROWS, max_size=ROWS)


def from_python(kind, values, write=lambda value: value):
    return rows_of(values).map(lambda given: Column(pa.array(given, kind), sent_as(write, given)))


def from_numbers(kind, limits, write):
    """A column of a type that Arrow keeps as whole numbers: any numbers, most near where the type has its limits."""
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    least, most = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
    numbers = st.sampled_from([min(max(limit, least), most) for limit in limits]) | st.integers(least, most)
    few = st.integers(0, 10**4)
    return rows_of(few | numbers).map(lambda given: Column(pa.array(given, stored).view(kind), sent_as(write, given)))


def date_text(days):
    return (datetime(1970, 1, 1) + timedelta(days=days)).date().isoformat()


def timestamp_text(microseconds, zone):
    if zone is None:
        return (datetime(1970, 1, 1) + timedelta(microseconds=microseconds)).isoformat()
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)).astimezone(zone).isoformat()


def time_text(microseconds):
    if not 0 <= microseconds < 86_400 * 10**6:
        raise OverflowError
    return (datetime(1970, 1, 1) + timedelta(microseconds=microseconds)).time().isoformat()


def timestamps(unit, zone):
    many = MICROSECONDS[unit]
    limits = [seconds * 10**6 // many for seconds in SECONDS]
    return from_numbers(pa.timestamp(unit, zone), limits, lambda value: timestamp_text(value * many, ZONES[zone]))


def durations(unit):
    many = MICROSECONDS[unit]
    limits = [sign * (HUGE * 10**6 // many + more) for sign in (-1, 1) for more in (0, 86_400 * 10**6 // many)]
    return from_numbers(pa.duration(unit), limits, lambda value: str(timedelta(microseconds=value * many)))


def times(kind):
    many = MICROSECONDS[kind.unit]
    return from_numbers(kind, [-1, 0, 86_400 * 10**6 // many, 2**40], lambda value: time_text(value * many))


def base64_text(value):
    return base64.b64encode(value).decode()


def finite(value):
    return float(value) if np.isfinite(value) else None


def never(values):
    return st.just(Column(values, REFUSED))


DAY = 86_400_000
WORDS = pa.array(["a", "b", None])
LEAVES = [
    *[from_python(kind, st.text(max_size=20)) for kind in (pa.string(), pa.large_string(), pa.string_view())],
    from_python(pa.dictionary(pa.int8(), pa.string()), st.text(max_size=2)),
    *[from_python(kind, st.binary(max_size=20), base64_text) for kind in (pa.binary(), pa.binary_view())],
    from_python(pa.binary(2), st.binary(min_size=2, max_size=2), base64_text),
    from_python(pa.bool_(), st.booleans()),
    from_python(pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    from_python(pa.uint64(), st.integers(0, 2**64 - 1)),
    from_python(pa.float16(), st.floats(width=16).map(np.float16), finite),
    from_python(pa.float32(), st.floats(width=32), finite),
    from_python(pa.float64(), st.floats(), finite),
    from_python(pa.decimal128(38, 2), st.integers(-(10**20), 10**20).map(lambda cents: Decimal(cents).scaleb(-2)), str),
    from_python(pa.null(), st.none()),
    from_numbers(pa.date32(), DAYS, date_text),
    rows_of(st.sampled_from(DAYS) | st.integers(-(10**9), 10**9)).map(
        lambda days: Column(
            pa.array([None if day is None else day * DAY for day in days], pa.int64()).view(pa.date64()),
            sent_as(date_text, days),
        )
    ),
    *[timestamps(unit, zone) for unit in MICROSECONDS for zone in ZONES],
    *[durations(unit) for unit in MICROSECONDS],
    *[times(kind) for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"))],
    *[never(pa.nulls(ROWS, pa.timestamp("s", zone))) for zone in UNKNOWN_ZONES],
    never(pa.StructArray.from_arrays([WORDS, WORDS], ["a", "a"])),
    never(pa.array([b"a", b"\xff", None]).view(pa.string())),
    never(pa.array([(1, 2, 3), None, None], pa.month_day_nano_interval())),
    never(pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(["a"]))),
]
UNCONVERTED = (pa.string_view(), pa.binary_view(), pa.dictionary(pa.int8(), pa.string()))
OFFSETS = pa.array([*range(ROWS + 1)], pa.int32())


def as_lists(column):
    sent = REFUSED if column.sent is REFUSED else [[value] for value in column.sent]
    return Column(pa.ListArray.from_arrays(OFFSETS, column.values), sent)


def as_list_views(column):
    sizes = pa.array([1] * ROWS, pa.int32())
    values = pa.ListViewArray.from_arrays(OFFSETS[:-1], sizes, column.values)
    return Column(values, REFUSED if column.values.type in UNCONVERTED else as_lists(column).sent)


def as_structs(column):
    sent = REFUSED if column.sent is REFUSED else [{"in": value} for value in column.sent]
    return Column(pa.StructArray.from_arrays([column.values], ["in"]), sent)


def as_maps(column):
    keys = pa.array(["k"] * ROWS)
    sent = REFUSED if column.sent is REFUSED else [[["k", value]] for value in column.sent]
    return Column(pa.MapArray.from_arrays(OFFSETS, keys, column.values), sent)


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
        return re.match(r"payload, column (\w+): expected ", str(error))[1]
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
        assert refused == {name for name, column in given.items() if column.sent is REFUSED}
        with serving_catalog(Path(folder)) as base_url:
            answer = httpx.post(
                f"{base_url}/v1/collections/c/query",
                json={"vector": VECTORS[0].tolist(), "limit": ROWS, "with": ["payload"]},
            )
    assert answer.status_code == 200
    hits = sorted(answer.json()["hits"], key=lambda hit: hit["id"])
    for name, column in given.items():
        if name not in refused:
            assert [hit["payload"][name] for hit in hits] == column.sent, (name, column.values.type)


def test_rows_added_in_a_zone_where_they_leave_year_9999_are_refused():
    last = pa.array([datetime(9999, 12, 31, 23)], pa.timestamp("us", "UTC"))
    index = hubless.Index(correction="none", metric="cosine").fit(
        VECTORS, VECTORS, payload={"at": pa.array([datetime(2000, 1, 1)] * ROWS, pa.timestamp("us", "Europe/Berlin"))}
    )
    with pytest.raises(InputError, match=r"^payload, column at: expected times from year 1 to 9999, in UTC or another"):
        index.add(VECTORS[:1], ids=[9], payload={"at": last})
