import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from support.filtering import filters_of, tables

from hubless.errors import InputError
from hubless.filters import filter_schemas, parse_filter
from hubless.filters.operators import RESERVED

SCHEMA = Draft202012Validator({"$ref": "#/$defs/Filter", "$defs": filter_schemas("#/$defs/{model}")})
COLUMNS = pa.schema({"year": pa.int32(), "title": pa.string(), "tags": pa.list_(pa.string())})
NAMES = ["year", "title", "near", *RESERVED]
VALUES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["year", "title", "tags", "a"])
DOCUMENTS = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=6,
)


@given(st.data())
def test_what_the_parser_takes_obeys_the_schema(data):
    table = data.draw(tables())
    document = data.draw(filters_of(table))
    parse_filter(document, table.schema)
    SCHEMA.validate(document)


@given(DOCUMENTS)
def test_what_the_schema_refuses_the_parser_refuses(document):
    if not SCHEMA.is_valid(document):
        with pytest.raises(InputError):
            parse_filter(document, COLUMNS)


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ({"year": 1}, {"field": "year", "eq": 1}),
        ({"year": [1, 2]}, {"field": "year", "in": [1, 2]}),
        ({"year": 1, "title": "a"}, {"and": [{"field": "year", "eq": 1}, {"field": "title", "eq": "a"}]}),
        ({"not": {"or": [{"year": 1}]}}, {"not": {"or": [{"field": "year", "eq": 1}]}}),
    ],
)
def test_short_form_obeys_the_schema_and_is_equal_to_the_full(short, full):
    SCHEMA.validate(short)
    assert parse_filter(short, COLUMNS) == parse_filter(full, COLUMNS)
