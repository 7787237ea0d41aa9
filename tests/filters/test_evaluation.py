import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from support.filtering import filters_of, holds, tables

from hubless.filters import parse_filter


def matching(table, document):
    """The rows that a filter selects, batch by batch of a few rows."""
    parsed = parse_filter(document, table.schema)
    masks = [parsed.mask(batch) for batch in table.to_batches(max_chunksize=5)]
    assert not any(mask.null_count for mask in masks)
    return [row for row, meets in enumerate(flag for mask in masks for flag in mask.to_pylist()) if meets]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_filter_selects_the_rows_that_it_selects_in_plain_python(data):
    table = data.draw(tables())
    document = data.draw(filters_of(table))
    rows = table.to_pylist()
    assert matching(table, document) == [number for number, row in enumerate(rows) if holds(document, row)]


@pytest.mark.parametrize(("document", "rows"), [({"field": "f", "eq": 0.1}, [0]), ({"field": "and", "lte": 2}, [0, 1])])
def test_filter_asks_in_the_precision_of_its_column_and_by_any_name(document, rows):
    table = pa.table({"f": pa.array([0.1, -0.0, None, float("nan"), 3.0], pa.float32()), "and": [1, 2, 3, 4, 5]})
    assert matching(table, document) == rows
