import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import small

import hubless

TIME = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
N = small.COUNT
TYPES = {
    "number": (pa.array(range(N)), 3),
    "unsigned": (pa.array([2**64 - 1] * N, pa.uint64()), 2**64 - 1),
    "float": (pa.array([0.5] * N), 0.5),
    "half": (pa.array([np.float16(0.5)] * N), 0.5),
    "truth": (pa.array([True] * N), True),
    "text": (pa.array(["ä \0 😀"] * N), "ä \0 😀"),
    "category": (pa.array(["x"] * N).dictionary_encode(), "x"),
    "empty text": (pa.array([""] * N), ""),
    "null": (pa.nulls(N), None),
    "some null": (pa.array([1, None] * (N // 2)), None),
    "bytes": (pa.array([b"\xff\0"] * N), b"\xff\0"),
    "list": (pa.array([[1, None, 3]] * N), [1, None, 3]),
    "empty list": (pa.array([[]] * N, pa.list_(pa.int8())), []),
    "nested": (pa.array([{"a": [{"b": None}, {"b": "c"}]}] * N), {"a": [{"b": None}, {"b": "c"}]}),
    "map": (pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())), [("a", 1)]),
    "decimal": (pa.array([decimal.Decimal("1.50")] * N), decimal.Decimal("1.50")),
    "date": (pa.array([TIME.date()] * N), TIME.date()),
    "time": (pa.array([TIME.time()] * N), TIME.time()),
    "nanosecond time": (pa.array([1000] * N, pa.time64("ns")), datetime.time(0, 0, 0, 1)),
    "timestamp": (pa.array([TIME] * N), TIME),
    "zoned": (pa.array([TIME] * N, pa.timestamp("us", "UTC")), TIME.replace(tzinfo=datetime.UTC)),
    "nanoseconds": (pa.array([1_709_209_815_123_456_000] * N, pa.timestamp("ns")), TIME),
    "duration": (pa.array([datetime.timedelta(seconds=1.5)] * N), datetime.timedelta(seconds=1.5)),
    "nanosecond duration": (pa.array([1000] * N, pa.duration("ns")), datetime.timedelta(microseconds=1)),
}


@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typed")
    manifest = small.build(folder, payload=pa.table({f"ä {kind}": values for kind, (values, _) in TYPES.items()}))
    assert manifest.payload_columns == [f"ä {kind}" for kind in TYPES]
    (row,) = hubless.open(folder, "photos").payload([3])
    assert list(row) == manifest.payload_columns
    return row


@pytest.mark.parametrize("kind", TYPES)
def test_payload_of_any_type_comes_back(typed, kind):
    value, (_, expected) = typed[f"ä {kind}"], TYPES[kind]
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    assert value == expected
    assert type(value) is type(expected)


def test_rows_come_in_the_order_in_which_they_are_asked_for(template):
    opened = hubless.open(template, "photos")
    rows = [39, 0, 7, 7]
    assert opened.payload(rows) == [small.payload()[row] for row in rows]
    assert opened.payload(rows, columns=["title"]) == [{"title": f"title {row}"} for row in rows]
    assert opened.payload([]) == []
    assert opened.point(small.IDS[7]).payload == small.payload()[7]


def test_category_of_other_words_in_each_part_of_a_file_comes_back(tmp_path):
    parts = [pa.array([word] * (N // 2)).dictionary_encode() for word in "xy"]
    table = pa.table({"word": pa.chunked_array(parts)})
    pq.write_table(table, tmp_path / "payload.parquet", row_group_size=N // 2)
    small.build(tmp_path / "catalog", payload=tmp_path / "payload.parquet")
    assert hubless.open(tmp_path / "catalog", "photos").payload([0, N - 1]) == [{"word": "x"}, {"word": "y"}]
