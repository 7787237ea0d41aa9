"""What holds for each operator of the table, whichever it is."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from support.filtering import COLUMNS, filters_of, holds, tables

from hubless.errors import InputError
from hubless.filters import filter_schemas, parse_filter
from hubless.filters.kinds import family_of
from hubless.filters.operators import FLAG, OPERATORS, SEVERAL
from hubless.vectors.free_payload import free_table
from hubless.vectors.payload import Payload

ROOT = Path(__file__).parents[2]
SAID = ("truth", "whole", "text", "tags")
"""Columns whose values free payload says in the same way."""


@pytest.mark.parametrize("name", OPERATORS)
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_free_payload_means_by_an_operator_what_a_column_means(name, data):
    fitting = [column for column in SAID if family_of(COLUMNS[column][0]) in OPERATORS[name].families]
    table = data.draw(tables(fitting))
    rows = table.to_pylist()
    free = Payload(free_table(rows))
    document = data.draw(filters_of(table, [name]))
    expected = [holds(document, row) for row in rows]
    assert free.mask(parse_filter(document, free.schema)).tolist() == expected


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("column", COLUMNS)
def test_column_takes_an_operator_of_its_family_and_refuses_others(name, column):
    schema = pa.schema({column: COLUMNS[column][0]})
    operator = OPERATORS[name]
    argument = {SEVERAL: [], FLAG: True}.get(operator.argument)
    if family_of(schema.field(column).type) not in operator.families:
        with pytest.raises(InputError, match=f"exists.*, as field .*, got {name}$"):
            parse_filter({"field": column, name: argument}, schema)
    elif argument is not None:
        parse_filter({"field": column, name: argument}, schema)
    else:
        with pytest.raises(InputError, match=r"exists asks for null, got null$"):
            parse_filter({"field": column, name: argument}, schema)


@pytest.mark.parametrize("name", OPERATORS)
def test_schema_describes_an_operator(name):
    described = filter_schemas("{model}")["FilterCondition"]["properties"][name]
    assert described["description"] == f"The value {OPERATORS[name].says}."


def test_page_of_filters_has_a_row_for_each_operator():
    page = (ROOT / "docs/filters.md").read_text("utf-8")
    rows = [
        f"| `{each.name}` | {', '.join(each.families)} | {each.argument.says} | {each.says} |"
        for each in OPERATORS.values()
    ]
    assert "\n".join(rows) in page, "\n".join(rows)


def test_console_offers_each_operator():
    script = (ROOT / "console/operators.js").read_text("utf-8")
    lines = [
        json.dumps({"name": each.name, "sign": each.sign, "families": each.families}, ensure_ascii=False)
        for each in OPERATORS.values()
    ]
    expected = "[\n  " + ",\n  ".join(lines) + "\n];\n"
    assert script.endswith(f"OPERATORS = {expected}"), expected
