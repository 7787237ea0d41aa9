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


TABLE = pa.table(
    {
        "n": pa.array([1, 2, None, 2**53, 2**53 + 1]),
        "f": pa.array([0.1, -0.0, None, float("nan"), 3.0], pa.float32()),
        "s": ["a", "", None, "ab", "b"],
        "l": [["x", None], [], None, ["y"], ["x", "y"]],
        "d": pa.array(["2026-01-31", "2026-02-01", None, "1999-12-31", "2026-02-01"]).cast(pa.date32()),
        "and": [1, 2, 3, 4, 5],
    }
)


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        ({"field": "n", "gte": 2, "lt": 2**53}, [1]),
        ({"field": "n", "eq": 2**53 + 1}, [4]),
        ({"field": "n", "lt": 2**80}, [0, 1, 3, 4]),
        ({"field": "n", "ne": 2}, [0, 3, 4]),
        ({"not": {"field": "n", "eq": 2}}, [0, 2, 3, 4]),
        ({"field": "n", "in": [1, 2, 2**80]}, [0, 1]),
        ({"field": "n", "in": []}, []),
        ({"field": "f", "eq": 0.1}, [0]),
        ({"field": "f", "in": [0]}, [1]),
        ({"field": "f", "ne": 3}, [0, 1, 3]),
        ({"field": "f", "exists": True}, [0, 1, 3, 4]),
        ({"field": "s", "prefix": ""}, [0, 1, 3, 4]),
        ({"field": "s", "prefix": "a"}, [0, 3]),
        ({"field": "s", "suffix": "b"}, [3, 4]),
        ({"field": "s", "exists": False}, [2]),
        ({"field": "l", "contains": "x"}, [0, 4]),
        ({"field": "l", "exists": True}, [0, 1, 3, 4]),
        ({"field": "d", "gt": "2026-01-31"}, [1, 4]),
        ({"field": "and", "lte": 2}, [0, 1]),
        ({"and": []}, [0, 1, 2, 3, 4]),
        ({"or": []}, []),
        ({"or": [{"field": "s", "eq": "b"}, {"and": [{"field": "n", "eq": 1}, {"field": "s", "eq": "a"}]}]}, [0, 4]),
    ],
)
def test_filter_selects_the_rows_that_were_worked_out_by_hand(document, rows):
    assert matching(TABLE, document) == rows
