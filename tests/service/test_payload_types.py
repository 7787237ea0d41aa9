"""What a build takes, a service can send: payload of Arrow types, with values at their limits, from build to JSON."""

import base64
import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import httpx
import numpy as np
import pyarrow as pa
import pytest
from support.problems import normal
from support.serving import serving_catalog

import hubless
from hubless.errors import InputError

ROWS = 3
VECTORS = normal(ROWS, 4, seed=1)
PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6}
DAY = 86_400
DAYS = (-(2**31), -719163, -719162, 0, 2932896, 2932897, 2**31 - 1)
SECONDS = (-(2**63), -62135596801, -62135596800, -1, 253402300799, 253402300800, 2**63 - 1)
HUGE = 999_999_999 * DAY
REFUSED = object()


def numbers(kind, limit):
    """A column of a type that Arrow keeps as whole numbers, with one near a limit of it."""
    stored = pa.int32() if kind.bit_width == 32 else pa.int64()
    least, most = -(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1
    return pa.array([min(max(limit, least), most), None, 1], stored).view(kind)


def times(kind):
    return [numbers(kind, limit) for limit in (0, DAY * PER_SECOND[kind.unit] - 1)]


WORDS = pa.array(["a", "b", None])
ZONES = (None, "UTC", "+05:30", "-12:00", "Europe/Berlin")
PLAIN = [
    *(pa.array(["", "ä\0😀", None], kind) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    WORDS.dictionary_encode(),
    *(pa.array([b"", b"\xff\0", None], kind) for kind in (pa.binary(), pa.binary_view())),
    pa.array([b"\xff\0"] * ROWS, pa.binary(2)),
    pa.array([True, False, None]),
    pa.array([-(2**63), 2**63 - 1, None]),
    pa.array([0, 2**64 - 1, None], pa.uint64()),
    pa.array(np.array([0.1, np.inf, np.nan], np.float16)),
    *(pa.array([5e-45, float("nan"), -math.inf], kind) for kind in (pa.float32(), pa.float64())),
    pa.array([Decimal("1.50"), Decimal(-(10**30)), None], pa.decimal128(38, 2)),
    pa.nulls(ROWS),
    *(numbers(pa.date32(), day) for day in DAYS),
    *(pa.array([day * DAY * 1000, None, 0], pa.int64()).view(pa.date64()) for day in DAYS),
    *(
        numbers(pa.timestamp(unit, zone), second * many)
        for unit, many in PER_SECOND.items()
        for zone in ZONES
        for second in SECONDS
    ),
    *(
        numbers(pa.duration(unit), sign * (HUGE + more) * many)
        for unit, many in PER_SECOND.items()
        for sign in (-1, 1)
        for more in (0, DAY)
    ),
    *(each for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us")) for each in times(kind)),
]
ODD = [
    *(pa.nulls(ROWS, pa.timestamp("s", zone)) for zone in ("Nowhere/Town", "+1:00", "utc?", "../UTC")),
    *(numbers(pa.time32("s"), limit) for limit in (-1, DAY, 2**30)),
    pa.StructArray.from_arrays([WORDS, WORDS], ["a", "a"]),
    pa.array([b"a", b"\xff", None]).view(pa.string()),
    pa.array([(1, 2, 3), None, None], pa.month_day_nano_interval()),
    pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(["a"])),
    pa.UnionArray.from_sparse(pa.array([0] * ROWS, pa.int8()), [WORDS]),
]
"""What a build must refuse although Python can hold some of it."""
UNCONVERTED = (pa.string_view(), pa.binary_view(), pa.dictionary(pa.int32(), pa.string()))
OFFSETS = pa.array([*range(ROWS + 1)], pa.int32())
WRAPS = (
    lambda values: values,
    lambda values: pa.ListArray.from_arrays(OFFSETS, values),
    lambda values: pa.ListViewArray.from_arrays(OFFSETS[:-1], pa.array([1] * ROWS, pa.int32()), values),
    lambda values: pa.StructArray.from_arrays([values], ["in"]),
    lambda values: pa.MapArray.from_arrays(OFFSETS, pa.array(["k"] * ROWS), values),
)


def in_json(value):
    match value:
        case bytes():
            return base64.b64encode(value).decode()
        case float() | np.float16():
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


def sent(values):
    """What values are in JSON; `REFUSED` where Python cannot hold them."""
    try:
        return in_json(values.to_pylist())
    except (OverflowError, ValueError):
        return REFUSED


def columns():
    """Yield values and what is sent of them: each plain, and in another wrap one after the other."""
    for number, (plain, odd) in enumerate([*((each, False) for each in PLAIN), *((each, True) for each in ODD)]):
        for way in {0, number % len(WRAPS)}:
            values = WRAPS[way](plain)
            yield values, REFUSED if odd or (way == 2 and plain.type in UNCONVERTED) else sent(values)


def is_refused(values):
    payload = pa.table({"column": values})
    try:
        hubless.Index("none", "cosine").fit(None, VECTORS, payload=payload)
    except InputError as error:
        return str(error).startswith("payload, column column")
    return False


def test_column_is_refused_by_name_or_sent_as_it_is(tmp_path):
    given = dict(enumerate(columns()))
    assert [n for n, (values, told) in given.items() if is_refused(values) != (told is REFUSED)] == []
    taken = {f"c{n}": each for n, each in given.items() if each[1] is not REFUSED}
    table = pa.table({"row": pa.array(range(ROWS))} | {name: values for name, (values, _) in taken.items()})
    hubless.build(tmp_path, "c", VECTORS, metric="cosine", payload=table, correction="none", index="flat")
    with serving_catalog(tmp_path) as url:
        asked = {"vector": VECTORS[0].tolist(), "limit": ROWS, "with": ["payload"]}
        answer = httpx.post(f"{url}/v1/collections/c/query", json=asked).raise_for_status()
    hits = sorted(answer.json()["hits"], key=lambda hit: hit["id"])
    for name, (values, told) in taken.items():
        assert [hit["payload"][name] for hit in hits] == told, (name, values.type)


def test_rows_added_in_a_zone_where_they_leave_year_9999_are_refused():
    last = pa.array([datetime(9999, 12, 31, 23)], pa.timestamp("us", "UTC"))
    index = hubless.Index(correction="none", metric="cosine").fit(
        VECTORS, VECTORS, payload={"at": pa.array([datetime(2000, 1, 1)] * ROWS, pa.timestamp("us", "Europe/Berlin"))}
    )
    with pytest.raises(InputError, match=r"^payload, column at: expected times from year 1 to 9999, in UTC or another"):
        index.add(VECTORS[:1], ids=[9], payload={"at": last})
