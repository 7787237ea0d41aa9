import pyarrow as pa
import pytest

from hubless.errors import InputError
from hubless.filters import parse_filter
from hubless.vectors.free_payload import free_table
from hubless.vectors.payload import Payload

LARGE = 2**53 + 1
ROWS = [
    {"year": 2001, "title": "Boat", "tags": ["sea", 7], "in": {"town": "Bonn"}},
    {"year": 2001.5, "title": "boat", "tags": []},
    {"year": "2001", "title": None},
    {"year": True, "a.b": 1},
    {"a": {"b": 2}, "year": LARGE},
    {"year": [2001], "tags": [[7], {"x": 7}, None, 7.0]},
    {},
]
PAYLOAD = Payload(pa.concat_tables([free_table(ROWS[:3]), free_table(ROWS[3:])]))
CASES = [
    ({"field": "year", "eq": 2001}, [0]),
    ({"field": "year", "eq": 2001.0}, [0]),
    ({"field": "year", "eq": "2001"}, [2]),
    ({"field": "year", "eq": True}, [3]),
    ({"field": "year", "eq": LARGE}, [4]),
    ({"field": "year", "eq": LARGE - 1}, []),
    ({"field": "year", "ne": 2001}, [1, 2, 3, 4, 5]),
    ({"not": {"field": "year", "eq": 2001}}, [1, 2, 3, 4, 5, 6]),
    ({"field": "year", "gt": 2001}, [1, 4]),
    ({"field": "year", "gte": 2000.5, "lt": 2001.5}, [0]),
    ({"field": "year", "lte": 2001.5}, [0, 1]),
    ({"field": "year", "gt": "2000"}, [2]),
    ({"field": "year", "in": [2001.5, "2001", False, LARGE]}, [1, 2, 4]),
    ({"field": "year", "in": []}, []),
    ({"field": "year", "exists": False}, [6]),
    ({"field": "title", "exists": True}, [0, 1]),
    ({"field": "title", "exists": False}, [2, 3, 4, 5, 6]),
    ({"field": "title", "prefix": "B"}, [0]),
    ({"field": "title", "suffix": "oat"}, [0, 1]),
    ({"field": "tags", "contains": "sea"}, [0]),
    ({"field": "tags", "contains": 7}, [0, 5]),
    ({"field": "tags", "exists": True}, [0, 1, 5]),
    ({"field": "a.b", "exists": True}, [3, 4]),
    ({"field": "a.b", "gte": 2}, [4]),
    ({"field": "in.town", "eq": "Bonn"}, [0]),
    ({"field": "nobody has this", "exists": True}, []),
    ({"field": "year", "eq": 1e300}, []),
    ({"or": [{"a.b": 2}, {"in.town": "Bonn"}]}, [0, 4]),
    ({"not": {"title": ["Boat", "boat"]}}, [2, 3, 4, 5, 6]),
]


@pytest.mark.parametrize(("document", "rows"), CASES, ids=[str(case[0]) for case in CASES])
def test_filter_selects_the_targets_whose_value_it_means(document, rows):
    mask = PAYLOAD.mask(parse_filter(document, PAYLOAD.schema))
    assert mask.nonzero()[0].tolist() == rows


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ({"lt": "2023-01-01T00:15:00Z"}, [1, 2]),
        ({"gte": "2023-01-01T00:15:00Z"}, [0]),
        ({"lte": "2022-12-31T19:00:00.000000-05:00"}, [1, 2]),
        ({"lt": "2023-01-01t01:00:00+01:00"}, []),
        ({"eq": "2023-01-01T00:00:00Z"}, [2]),
        ({"gt": "2023-01-01T00:15:00"}, [0, 1]),
        ({"lt": "2023-02-31T00:00:00Z"}, [0, 1, 2, 3, 4]),
    ],
)
def test_times_with_an_offset_come_in_the_order_of_their_instants_and_are_equal_as_texts(asked, rows):
    times = ["2023-01-01T00:30:00Z", "2023-01-01T01:00:00+01:00", "2023-01-01T00:00:00Z", "2023-01-01T00:10:00", "2023"]
    columns = pa.table({"t": pa.array(times).dictionary_encode()})
    for stored in (free_table([{"t": each} for each in times]), columns):
        mask = Payload(stored).mask(parse_filter({"field": "t", **asked}, stored.schema))
        assert mask.nonzero()[0].tolist() == rows


def test_rows_come_back_as_they_were_and_keys_that_a_row_lacks_stay_absent():
    assert PAYLOAD.take([6, 0, 4]) == [ROWS[6], ROWS[0], ROWS[4]]
    assert PAYLOAD.take([2, 4, 6], ["title", "a.b"]) == [{"title": None}, {"a.b": 2}, {}]


def test_what_json_cannot_say_is_refused_and_named():
    with pytest.raises(InputError, match="payload, row 1: expected what JSON can say"):
        free_table([{}, {"a": object()}])
