"""Values of payload that JSON has no form for: sent as their nearest, or refused with the point and the key."""

import enum
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from support.serving import serving_catalog
from support.wire import Server, sent

from hubless_client import CannotSend, Client

WRITTEN = {"seq": 7, "inserted": 1, "updated": 1, "collection": "songs", "version": "v1"}
NOON = datetime(2024, 2, 29, 12, 30, 0, 250_000)


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (date(2024, 2, 29), "2024-02-29"),
        (NOON, "2024-02-29T12:30:00.250000"),
        (NOON.replace(tzinfo=UTC), "2024-02-29T12:30:00.250000+00:00"),
        (time(12, 30), "12:30:00"),
        (pd.Timestamp(NOON), "2024-02-29T12:30:00.250000"),
        (pd.NaT, None),
        (np.datetime64("2024-02-29"), "2024-02-29"),
        (np.datetime64(NOON, "ns"), "2024-02-29T12:30:00.250000"),
        (np.datetime64("NaT"), None),
        (np.array(["2024-02-29"], "datetime64[ns]"), ["2024-02-29T00:00:00"]),
        (Decimal("1.10"), 1.1),
        (Decimal("1E+3"), 1000),
        (uuid.UUID(int=3), "00000000-0000-0000-0000-000000000003"),
        (Colour.RED, "red"),
        (np.int64(3), 3),
        (2**64 - 1, 2**64 - 1),
        ("9" * 30, "9" * 30),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.arange(3), [0, 1, 2]),
        (np.arange(1), [0]),
        (np.array([[date(2024, 2, 29)]], object), [["2024-02-29"]]),
        (pd.Series([1, 2]), [1, 2]),
        ((1, "a"), [1, "a"]),
        ({2, 1}, [1, 2]),
        (MappingProxyType({"a": (np.int8(1),)}), {"a": [1]}),
    ],
)
def test_value_is_sent_as_what_json_has_for_it(ask, value, plain):
    server = Server(WRITTEN)
    ask(server, "put", "songs", ["x"], payload=[{"k": value}])
    found = sent(server)[2]["points"][0]["payload"]
    assert (found, type(found["k"])) == ({"k": plain}, type(plain))


NO_NUMBER = "expected a number that JSON can carry, or None for a missing one, got"
NO_VALUE = "expected a value that JSON can carry, got"


@pytest.mark.parametrize(
    ("value", "place", "said"),
    [
        (float("nan"), "", f"{NO_NUMBER} nan"),
        (np.float32("inf"), "", f"{NO_NUMBER} inf"),
        (np.array([1.0, np.nan]), r"\[1\]", f"{NO_NUMBER} nan"),
        (Decimal("NaN"), "", f"{NO_NUMBER} nan"),
        (2**70, "", "expected a whole number of 64 bits, or text, got 1180591620717411303424"),
        ({"a": [np.array([-(2**63) - 1], object)]}, r"\.a\[0\]\[0\]", "expected a whole number of 64 bits"),
        (b"ab", "", f"{NO_VALUE} bytes b'ab'"),
        (timedelta(1), "", f"{NO_VALUE} timedelta"),
        (np.timedelta64(1, "D"), "", f"{NO_VALUE} timedelta64"),
        (pd.NA, "", f"{NO_VALUE} NAType"),
        ({"a": [1, {"b": 3j}]}, r"\.a\[1\]\.b", f"{NO_VALUE} complex 3j"),
        ("\ud800", "", "expected text in Unicode"),
        ({(1, 2): 3}, "", r"expected names in text, got tuple \(1, 2\)"),
    ],
)
@pytest.mark.parametrize("method", ["put", "patch"])
def test_value_that_json_cannot_say_is_refused_with_its_point_and_key(ask, method, value, place, said):
    rows = [{"k": 1}, {"k": value}, {"k": 1}]
    given = (["x", "y", "z"], None, rows) if method == "put" else (dict(zip("xyz", rows, strict=True)),)
    server = Server(WRITTEN)
    with pytest.raises(CannotSend, match=rf"points\[1\]\.payload\.k{place}, of id 'y': {said}"):
        ask(server, method, "songs", *given)
    assert not server.requests


def test_value_inside_itself_is_refused(ask):
    endless = []
    endless.append(endless)
    with pytest.raises(CannotSend, match="lists and objects inside each other"):
        ask(Server(WRITTEN), "count", "songs", filter={"and": endless})


def test_options_take_numbers_of_numpy_and_name_what_is_none(ask):
    server = Server({"hits": [], "collection": "songs", "version": "v1"})
    ask(server, "query", "songs", [1.0], limit=np.int64(3), filter={"field": "day", "gte": date(2024, 2, 29)})
    body = sent(server)[2]
    assert (body["limit"], body["filter"]["gte"]) == (3, "2024-02-29")
    with pytest.raises(CannotSend, match=r"filter\.in\[1\]: "):
        ask(server, "query", "songs", [1.0], filter={"field": "day", "in": [1, b"x"]})


def test_columns_of_dates_and_times_take_them_as_they_are(tmp_path):
    schema = {"day": "date", "at": "timestamp", "seen": "timestamp[utc]", "tags": "list<string>"}
    row = {"day": NOON.date(), "at": NOON, "seen": NOON.replace(tzinfo=UTC), "tags": np.array(["a", "b"])}
    with serving_catalog(tmp_path, hubness=False) as url, Client(url) as client:
        client.create_collection("days", 2, "dot", "string", schema)
        client.put("days", ["x"], [[1, 2]], [row])
        found = client.point("days", "x").payload
        wanted = {"and": [{"field": "day", "eq": NOON.date()}, {"field": "seen", "gte": row["seen"]}]}
        assert client.count("days", filter=wanted) == 1
    assert (found["day"], found["tags"]) == ("2024-02-29", ["a", "b"])
    assert datetime.fromisoformat(found["at"]) == NOON
    assert datetime.fromisoformat(found["seen"]) == row["seen"]
