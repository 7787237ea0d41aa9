import json
import re
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from hubless.errors import InputError, UnknownField
from hubless.filters import FilterLimits, parse_filter
from hubless.vectors.free_payload import FREE_SCHEMA

ROOT = Path(__file__).parents[2]

SCHEMA = pa.schema(
    {
        "year": pa.int32(),
        "price": pa.float64(),
        "exact": pa.decimal128(6, 2),
        "title": pa.string(),
        "live": pa.bool_(),
        "day": pa.date32(),
        "at": pa.timestamp("us"),
        "zoned": pa.timestamp("us", "UTC"),
        "clock": pa.time64("us"),
        "tags": pa.list_(pa.string()),
        "parts": pa.struct([("a", pa.int8())]),
        "rows": pa.list_(pa.struct([("a", pa.int8())])),
    }
)
DEEP = {"field": "year", "eq": 1}
for _ in range(10):
    DEEP = {"not": DEEP}


@pytest.mark.parametrize(
    ("document", "parameter", "words"),
    [
        ([], "filter", ["an object", "a list of 0"]),
        (None, "filter", ["an object", "null"]),
        ({3: []}, "filter", ["an object"]),
        ({}, "filter", ["one of and, or, not, or field", "nothing"]),
        ({"and": [], "or": []}, "filter", ["one of and, or, not", "and", "or"]),
        ({"year": 2000, "eq": 3}, "filter", ["field with its operators", "year, eq"]),
        ({"year": "2000"}, "filter.year", ["a whole number", 'field "year" is int32', '"2000"']),
        ({"year": None}, "filter.year", ["exists", "null"]),
        ({"year": {"gte": {}}}, "filter.year", ["a list of values", '"field": name', "an object"]),
        ({"title": "a", "year": [1, "2"]}, "filter.year[1]", ["a whole number", '"2"']),
        ({"tags": "x"}, "filter.tags", ["contains or exists", "list"]),
        ({"year": [1] * 10_001}, "filter.year", ["at most 10000 values"]),
        ({"and": [{"year": 1, "title": "a"}] * 128}, "filter", ["at most 256 conditions"]),
        ({"and": {}}, "filter.and", ["a list of filters", "an object"]),
        ({"not": []}, "filter.not", ["an object", "a list of 0"]),
        ({"and": [{"or": [3]}]}, "filter.and[0].or[0]", ["an object", "got 3"]),
        ({"gte": 3}, "filter", ["field beside gte"]),
        ({"field": "year"}, "filter", ["an operator", "gte"]),
        ({"field": 3, "eq": 1}, "filter.field", ["the name of a payload column", "got 3"]),
        ({"field": "year", "eq": "2000"}, "filter.eq", ["a whole number", 'field "year" is int32', '"2000"']),
        ({"field": "year", "eq": 2000.0}, "filter.eq", ["a whole number", "2000.0"]),
        ({"field": "year", "gt": True}, "filter.gt", ["a whole number", "true"]),
        ({"field": "year", "eq": None}, "filter.eq", ["a whole number", "exists", "null"]),
        ({"field": "year", "eq": []}, "filter.eq", ["a whole number", "a list of 0"]),
        ({"field": "year", "eq": 10**5000}, "filter", ["some thousand digits"]),
        ({"field": "title", "eq": 10**5000}, "filter.eq", ["too many digits"]),
        ({"field": "year", "in": 3}, "filter.in", ["a list of values", "got 3"]),
        ({"field": "year", "in": [1, "2"]}, "filter.in[1]", ["a whole number", '"2"']),
        ({"field": "year", "prefix": "2"}, "filter.prefix", ["eq or ne or in", "int32", "got prefix"]),
        ({"field": "year", "contains": 2}, "filter.contains", ["eq or ne or in", "got contains"]),
        ({"field": "year", "exists": 1}, "filter.exists", ["true or false", "got 1"]),
        ({"field": "price", "lt": "3"}, "filter.lt", ["a number", "double", '"3"']),
        ({"field": "price", "lt": float("nan")}, "filter.lt", ["a number", "NaN"]),
        ({"field": "price", "lt": 10**400}, "filter.lt", ["a number"]),
        ({"field": "exact", "lt": 3.333}, "filter.lt", ["can hold exactly", "decimal128(6, 2)", "3.333"]),
        ({"field": "exact", "lt": "NaN"}, "filter.lt", ["can hold exactly"]),
        ({"field": "title", "eq": 3}, "filter.eq", ["a string", "got 3"]),
        ({"field": "title", "eq": "\ud800"}, "filter.eq", ["a string"]),
        ({"field": "live", "gt": False}, "filter.gt", ["eq or ne or in or exists", "bool"]),
        ({"field": "live", "eq": 1}, "filter.eq", ["true or false", "got 1"]),
        ({"field": "day", "eq": "31.1.2026"}, "filter.eq", ["a date as ISO 8601", "31.1.2026"]),
        ({"field": "day", "eq": "2026-01-31T10:00:00"}, "filter.eq", ["a date as ISO 8601"]),
        ({"field": "at", "eq": "2026-01-31T10:00:00Z"}, "filter.eq", ["without offset"]),
        ({"field": "zoned", "eq": "2026-01-31T10:00:00"}, "filter.eq", ["with its offset"]),
        ({"field": "at", "eq": datetime(2026, 1, 31)}, "filter.eq", ["as ISO 8601"]),
        ({"field": "clock", "eq": "10:00:00+01:00"}, "filter.eq", ["a time of day"]),
        ({"field": "tags", "eq": "x"}, "filter.eq", ["contains or exists", "list", "got eq"]),
        ({"field": "tags", "contains": 3}, "filter.contains", ["a string", "got 3"]),
        ({"field": "parts", "eq": {}}, "filter.eq", ["expected exists", "struct"]),
        ({"field": "rows", "contains": {}}, "filter.contains", ["expected exists", "list"]),
        (DEEP, "filter", ["at most 10 deep"]),
        ({"field": "year", "in": [1] * 10_001}, "filter.in", ["at most 10000 values", "10001"]),
        ({"or": [{"field": "year", "eq": 1}] * 256}, "filter", ["at most 256 conditions", "more"]),
        ({"and": [{"or": []}] * 256}, "filter", ["at most 256 conditions", "more"]),
    ],
)
def test_wrong_filter_is_refused_in_words(document, parameter, words):
    with pytest.raises(InputError) as refused:
        parse_filter(document, SCHEMA)
    assert refused.value.parameter == parameter
    for word in words:
        assert word in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("document", "parameter", "known"),
    [
        ({"field": "yaer", "eq": 1}, "filter.field", "year, price, exact"),
        ({"field": "year", "equals": 1}, "filter.equals", "eq, ne, in"),
        ({"nor": []}, "filter.nor", "and, or, not, field"),
        ({"year": 1, "yaer": 1}, "filter.yaer", "field, year, price"),
        ({"x" * 1000: []}, f"filter.{'x' * 80}…", "and, or, not"),
        ({"a\n\x1b[31m": []}, r"filter.a\n\x1b[31m", "and, or, not"),
    ],
)
def test_unknown_name_is_refused_naming_the_known(document, parameter, known):
    with pytest.raises(UnknownField) as refused:
        parse_filter(document, SCHEMA)
    assert refused.value.parameter == parameter
    assert known in refused.value.expected


@pytest.mark.parametrize("schema", [pa.schema({"year": pa.int32(), "genre": pa.string()}), FREE_SCHEMA])
def test_filter_of_another_program_is_refused_naming_the_page_that_has_it(schema):
    rows = re.findall(
        r"^\| `([{\"].*)` \| .* \| `(.*)` \|$", (ROOT / "docs/filters.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 11
    for there, here in rows:
        with pytest.raises(InputError, match=r"docs/filters\.md"):
            parse_filter(json.loads(there), schema)
        assert parse_filter(json.loads(here), schema)


def test_limits_and_name_are_those_that_are_given():
    limits = FilterLimits(depth=2, conditions=3, values=1)
    parse_filter({"and": [{"field": "year", "gt": 1, "lt": 3}]}, SCHEMA, limits)
    for document in (
        {"and": [{"not": {"field": "year", "eq": 1}}]},
        {"and": [{"field": "year", "gt": 1, "lt": 3, "ne": 2}]},
        {"field": "year", "in": [1, 2]},
    ):
        with pytest.raises(InputError, match=r"^queries\[3\].filter"):
            parse_filter(document, SCHEMA, limits, "queries[3].filter")


def test_filters_nested_far_too_deep_are_refused_and_not_followed():
    document = {"field": "year", "eq": 1}
    for _ in range(100_000):
        document = {"not": document}
    with pytest.raises(InputError, match="at most 10 deep"):
        parse_filter(document, SCHEMA)
    while "not" in document:  # taken apart here, as to free it at once would recurse
        document = document["not"]
