"""Filters in Milvus' language: a Milvus selects the rows that the library does."""

from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import cycle, islice

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pymilvus import DataType, MilvusClient
from support.filtering import COLUMNS, TIMES, filters_of

from hubless.filters import parse_filter
from hubless.filters.operators import OPERATORS
from hubless.vectors.free_payload import FREE_SCHEMA
from hubless_milvus.columns import LONGEST_TEXT, MOST_COLUMNS, MOST_ELEMENTS, kept_columns
from hubless_milvus.expressions import TRANSLATED, Untranslatable, translate

LEAST, MOST = -(2**63), 2**63 - 1
HOSTILE = [
    '" or row >= 0 or payload_text == "',
    "' or row >= 0 or '",
    '\\" or row >= 0 or "',
    'x\\\\" or row >= 0 //',
    "back\\",
    "two\\\\",
    'quote"',
    "line\nend",
    "carriage\rreturn",
    "tab\t",
    "zero\0",
    "\x1b[31m\x7f",
    "50%",
    "a_b",
    "{template}",
    "\u2028\ufeff\u202e",
    "😀",
    "\ud7ff",
    "\ue000",
    "\U0010ffff",
    "\U0010ffff\U0010ffffx",
    "",
]
VALUES = {
    "truth": [True, False, None],
    "tiny": [-128, 127, 0, None],
    "whole": [LEAST, LEAST + 1, MOST, 2**53 + 1, 2**53, 0, -1, None],
    "single": [0.1, -0.0, 1e38, 1e-45, -3.5, None],
    "double": [0.1, 0.0, -0.0, 1e300, 5e-324, 1e16, -2.5e-7, None],
    "half": [np.float16(0.1), np.float16(-2), np.float16(65504), None],
    "price": [Decimal("0.10"), Decimal("-9999.99"), Decimal("12.00"), None],
    "text": [*HOSTILE, "a", "ab", "ä", None],
    "large": ["", "a", "ab", "b", None],
    "view": ["", "a", "ab", None],
    "category": ["a", "b", "c", None],
    "day": [date(1, 1, 1), date(1969, 12, 31), date(2026, 1, 31), date(9999, 12, 31), None],
    "moment": [datetime(1, 1, 1), datetime(2026, 1, 31, 12, 30, 0, 1), datetime(1969, 12, 31, 23, 59, 59), None],
    "second": [datetime(2026, 1, 31), datetime(9999, 12, 31, 23, 59, 59), None],
    "zoned": [datetime(2026, 1, 31, 12, tzinfo=UTC), datetime(1900, 1, 1, tzinfo=UTC), None],
    "clock": [time(0), time(23, 59, 59), None],
    "tags": [["a", None], [], ["b", "a"], ['a"\n\\'], None],
    "numbers": [[1, 2], [-3], [], None],
    "pair": [[1, 2], [-3, 3], None],
}
COUNT = 61
TABLE = pa.table(
    {name: pa.array([*islice(cycle(values), COUNT)], COLUMNS[name][0]) for name, values in VALUES.items()}
    | {"in": [None, *range(1, COUNT)], "no word": [f"{row % 3}" for row in range(COUNT)]}
)


def load(client, name, table):
    """Store a table in a new collection as a build does. Returns the fields by column."""
    kept = kept_columns(table.schema, table.to_batches())
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("row", DataType.INT64, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    for column in kept.values():
        kind, longest = DataType[column.type], {"max_length": LONGEST_TEXT} if column.type == "VARCHAR" else {}
        listed = {"element_type": kind, "max_capacity": MOST_ELEMENTS} if column.listed else {}
        schema.add_field(column.field, DataType.ARRAY if listed else kind, nullable=True, **listed, **longest)
    index = client.prepare_index_params()
    index.add_index("vector", index_type="FLAT", metric_type="IP")
    client.create_collection(name, schema=schema, index_params=index)
    values = {
        kept[column].field: [
            value for batch in table.to_batches() for value in kept[column].values(batch.column(column))
        ]
        for column in kept
    }
    rows = [
        {"row": row, "vector": [1.0, 0.0]} | {field: each[row] for field, each in values.items()}
        for row in range(table.num_rows)
    ]
    client.upsert(name, rows)
    client.load_collection(name)
    return {column: kept[column].field for column in kept}


@pytest.fixture(scope="module")
def asked(milvus):
    """What Milvus selects, and what the library does: both as lists of rows."""
    client = milvus.client
    fields = load(client, "expressions", TABLE)
    assert set(fields) == set(TABLE.schema.names)

    def select(expression):
        found = client.query("expressions", filter=expression, output_fields=["row"], limit=COUNT)
        return sorted(one["row"] for one in found)

    def ask(document):
        parsed = parse_filter(document, TABLE.schema)
        mask = np.concatenate([parsed.mask(batch).to_numpy(zero_copy_only=False) for batch in TABLE.to_batches()])
        return select(translate(parsed, TABLE.schema, fields)), np.flatnonzero(mask).tolist()

    ask.select = select
    yield ask
    client.drop_collection("expressions")


@settings(
    max_examples=300, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(filters_of(TABLE.select(list(VALUES)), TRANSLATED))
def test_milvus_selects_the_rows_of_any_filter(asked, document):
    try:
        selected, expected = asked(document)
    except Untranslatable:  # Milvus compares letters
        assert any(each in str(document) for each in TIMES)
    else:
        assert selected == expected


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("asks", ["eq", "ne", "in", "prefix", "gt"])
def test_text_cannot_leave_its_literal(asked, asks, text):
    for column in ("text", "large"):
        document = {"field": column, asks: [text] if asks == "in" else text}
        for whole in (document, {"not": document}):
            selected, expected = asked(whole)
            assert selected == expected


@pytest.mark.parametrize("value", [LEAST - 1, LEAST, LEAST + 1, MOST, MOST + 1, 2**80, -(2**80)])
@pytest.mark.parametrize("asks", ["eq", "ne", "gt", "gte", "lt", "lte", "in"])
def test_numbers_at_the_ends_of_int64_compare_right(asked, asks, value):
    for column in ("whole", "tiny"):
        document = {"field": column, asks: [value, 0] if asks == "in" else value}
        for whole in (document, {"not": document}):
            selected, expected = asked(whole)
            assert selected == expected


@pytest.mark.parametrize(
    "document",
    [
        {"and": []},
        {"or": []},
        {"not": {"or": []}},
        {"field": "in", "gt": 3, "lte": 7},
        {"not": {"field": "in", "gt": 3, "lte": 7}},
        {"field": "no word", "eq": "1"},
        {"field": "text", "in": []},
        {"not": {"field": "text", "in": []}},
        {"field": "single", "lt": 1e300},
        {"not": {"field": "single", "in": [1e300, 0]}},
        {"field": "double", "in": [-0.0]},
        {"not": {"field": "tags", "contains": "a"}},
        {"field": "tags", "contains": 'a"\n\\'},
        {"not": {"not": {"field": "tags", "exists": False}}},
    ],
)
def test_corners_of_the_grammar_select_the_same_rows(asked, document):
    selected, expected = asked(document)
    assert selected == expected


def test_columns_that_milvus_cannot_hold_exactly_stay_out():
    table = pa.table(
        {
            "kept": [1, None],
            "nan": [float("nan"), 1.0],
            "infinite": [float("inf"), None],
            "unsigned": pa.array([2**63, 0], pa.uint64()),
            "small unsigned": pa.array([2**63 - 1, 0], pa.uint64()),
            "long": ["ä" * (LONGEST_TEXT // 2 + 1), ""],
            "lists": [[0] * (MOST_ELEMENTS + 1), None],
            "nans": [[float("nan")], None],
            "digits": pa.array([Decimal(1), None], pa.decimal128(20, 2)),
            "bytes": [b"a", None],
            "struct": [{"a": 1}, None],
            "nested": [[["a"]], None],
        }
    )
    kept = kept_columns(table.schema, table.to_batches())
    assert {name: (column.field, column.type) for name, column in kept.items()} == {
        "kept": ("payload_kept", "INT64"),
        "small unsigned": ("column_4", "INT64"),
    }


def test_no_more_columns_are_kept_than_milvus_has_fields():
    table = pa.table({f"c{number}": [number] for number in range(80)})
    assert len(kept_columns(table.schema, table.to_batches())) == MOST_COLUMNS


def test_free_payload_is_not_kept():
    assert kept_columns(FREE_SCHEMA, []) == {}


def test_column_that_is_not_kept_is_named():
    parsed = parse_filter({"or": [{"field": "in", "eq": 1}, {"field": "text", "exists": True}]}, TABLE.schema)
    with pytest.raises(Untranslatable, match="'text'"):
        translate(parsed, TABLE.schema, {"in": "payload_in"})


@pytest.mark.parametrize("asks", sorted(set(OPERATORS) - set(TRANSLATED)))
def test_operator_without_words_in_milvus_names_its_column(asks):
    parsed = parse_filter({"field": "text", asks: "a"}, TABLE.schema)
    with pytest.raises(Untranslatable, match="'text'"):
        translate(parsed, TABLE.schema, {"text": "payload_text"})


def test_least_number_in_a_list_is_refused_as_older_milvus_cannot_read_it():
    schema = pa.schema({"n": pa.list_(pa.int64())})
    with pytest.raises(Untranslatable, match="'n'"):
        translate(parse_filter({"field": "n", "contains": LEAST}, schema), schema, {"n": "payload_n"})
