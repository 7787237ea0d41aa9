import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from support import small

import hubless

TIME = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
N = small.COUNT
TYPES = {
    "number": range(N),
    "unsigned": pa.array([2**64 - 1] * N, pa.uint64()),
    "float": [0.5] * N,
    "half": pa.array([np.float16(0.5)] * N),
    "truth": [True] * N,
    "text": ["ä \0 😀"] * N,
    "category": pa.array(["x"] * N).dictionary_encode(),
    "empty text": [""] * N,
    "null": pa.nulls(N),
    "some null": [1, None] * (N // 2),
    "bytes": [b"\xff\0"] * N,
    "list": [[1, None, 3]] * N,
    "empty list": pa.array([[]] * N, pa.list_(pa.int8())),
    "nested": [{"a": [{"b": None}, {"b": "c"}]}] * N,
    "map": pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    "decimal": [decimal.Decimal("1.50")] * N,
    "date": [TIME.date()] * N,
    "time": [TIME.time()] * N,
    "timestamp": [TIME] * N,
    "zoned": pa.array([TIME] * N, pa.timestamp("us", "UTC")),
    "duration": [datetime.timedelta(seconds=1.5)] * N,
}
NANOSECONDS = {
    "time": (pa.time64("ns"), 1000, datetime.time(0, 0, 0, 1)),
    "timestamp": (pa.timestamp("ns"), 1_709_209_815_123_456_000, TIME),
    "duration": (pa.duration("ns"), 1000, datetime.timedelta(microseconds=1)),
}
"""Type, number and what it is in Python, which has microseconds."""


def test_payload_of_any_type_comes_back(tmp_path):
    table = pa.table(TYPES)
    short = {f"ä {name}": pa.array([number] * N, kind) for name, (kind, number, _) in NANOSECONDS.items()}
    for name, column in short.items():
        table = table.append_column(name, column)
    manifest = small.build(tmp_path, payload=table)
    assert manifest.payload_columns == table.column_names
    (row,) = hubless.open(tmp_path, "photos").payload([3])
    expected = table.select(list(TYPES)).slice(3, 1).to_pylist()[0]
    assert row == expected | {f"ä {name}": value for name, (_, _, value) in NANOSECONDS.items()}
    assert {name: type(value) for name, value in row.items() if name in TYPES} == {
        name: type(value) for name, value in expected.items()
    }


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
