import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from hubless.errors import InputError
from hubless.filters import FilterLimits, parse_filter
from hubless.vectors.free_payload import FREE_SCHEMA

ROOT = Path(__file__).parents[2]

SCHEMA = pa.schema({"year": pa.int32()})


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
