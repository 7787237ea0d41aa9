"""Whatever value is taken at the door can be returned, filtered, patched, merged and exported; all else is refused."""

import json
from contextlib import contextmanager

import httpx
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from support.anything import EXAMPLES, VALUES, check
from support.files import arrow_stream
from support.serving import serving_catalog
from support.small import DIM

import hubless
from hubless.vectors.readers.payload_text import TYPES
from hubless_service.http.arrow import ARROW

NAME, VECTOR = "anything", [1.0] * DIM
COLUMNS = {f"of {kind}": kind for kind in TYPES}
TIMES = ["2026-01-31", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00", "24:00", "1e5"]
NUMBERS = [
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    2**64 + 1,
    -(2**63),
    -(2**63) - 1,
    10**300,
    10**400,
    1e308,
    -1e308,
    5e-324,
    -0.0,
]
OBJECTS = st.dictionaries(st.text(max_size=6), VALUES | st.sampled_from(NUMBERS), max_size=4)
RIGHT = {
    "string": st.text(max_size=8),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
    "date": st.dates().map(str),
    "timestamp": st.datetimes().map(lambda time: time.isoformat()),
    "timestamp[utc]": st.datetimes().map(lambda time: f"{time.isoformat()}Z") | st.sampled_from(TIMES[1:3]),
    "list<int64>": st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=3),
}
ROWS = st.dictionaries(
    st.sampled_from([*COLUMNS]), VALUES | st.sampled_from([*NUMBERS, *TIMES]), max_size=2
) | st.fixed_dictionaries({}, optional={f"of {kind}": right | st.none() for kind, right in RIGHT.items()})


@contextmanager
def serving_an_empty_one(catalog, **options):
    catalog.mkdir()
    with serving_catalog(catalog, hubness=False, max_added=100_000) as url:
        body = {"dim": DIM, "metric": "cosine", "id_type": "string", **options}
        assert httpx.put(f"{url}/v1/collections/{NAME}", json=body, timeout=60).status_code == 201
        with httpx.Client(base_url=f"{url}/v1/collections/{NAME}", timeout=60) as client:
            yield client


@pytest.fixture
def free(tmp_path):
    with serving_an_empty_one(tmp_path / "catalog") as client:
        yield client


@pytest.fixture
def typed(tmp_path):
    with serving_an_empty_one(tmp_path / "catalog", payload_schema=COLUMNS) as client:
        yield client


def put(client, wanted, payload):
    body = {"points": [{"id": wanted, "vector": VECTOR, "payload": payload}]}
    return client.put("/points", content=json.dumps(body), headers={"Content-Type": "application/json"})


def refused(answer):
    assert answer.status_code in (400, 422), answer.text
    return answer.json()


def counted(client, **condition):
    content = json.dumps({"filter": condition})
    answer = client.post("/count", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == 200, (condition, answer.text)
    return answer.json()["count"]


@EXAMPLES
@pytest.mark.parametrize("columns", [None, COLUMNS], ids=["free", "columns"])
def test_payload_that_is_taken_can_be_used(tmp_path, examples, columns):
    stored = {}

    def example(payload):
        wanted = str(len(stored))
        answer = put(client, wanted, payload)
        if answer.status_code != 200:
            refused(answer)
            return
        found = client.get(f"/points/{wanted}").json()["payload"]
        assert columns or found == json.loads(json.dumps(payload))
        for key, value in payload.items():
            assert (found[key] is None) == (value is None)
            assert counted(client, field=key, exists=value is not None)
            if isinstance(found[key], bool | str | int | float):
                assert counted(client, field=key, eq=found[key])
                assert columns or counted(client, **{"field": key, "in": [value]})
            if not columns and type(value) in (int, float):
                assert counted(client, field=key, gte=value, lte=value)
        answer = client.patch("/points", json={"points": [{"id": wanted, "payload": {"of bool": True}}]})
        assert answer.status_code == 200, answer.text
        stored[wanted] = found | {"of bool": True}
        assert client.get(f"/points/{wanted}").json()["payload"] == stored[wanted]

    with serving_an_empty_one(tmp_path / "catalog", payload_schema=columns) as client:
        check(examples, ROWS if columns else OBJECTS, example)
        assert len(stored) > examples / 10
        assert hubless.merge(tmp_path / "catalog", NAME, progress=False) is not None
        with hubless.open(tmp_path / "catalog", NAME) as opened:
            assert columns or {wanted: opened.point(wanted).payload for wanted in stored} == stored
            assert opened.count == len(stored)
        assert client.post("/scroll", json={"limit": 1000}).status_code == 200


def test_whole_numbers_from_2_to_the_63_on_are_filtered_exactly(free):
    numbers = {"below": 2**63 - 1, "first": 2**63, "next": 2**63 + 1, "last": 2**64 - 1, "small": 7, "float": 2.0**62}
    for wanted, number in numbers.items():
        assert put(free, wanted, {"n": number}).status_code == 200
    for number in numbers.values():
        assert counted(free, field="n", eq=number) == 1
        assert counted(free, field="n", gt=number) == sum(each > number for each in numbers.values())
        assert counted(free, **{"field": "n", "in": [number, "x"]}) == 1
    assert counted(free, field="n", lt=7.5) == 1


def test_whole_number_that_would_be_rounded_is_refused_unless_it_is_a_text(free):
    for number in (2**64 + 1, -(2**63) - 1, 10**30 + 1):
        assert str(number) in refused(put(free, "a", {"n": [{"deep": number}]}))["detail"]
    for payload in ({"n": str(2**64 + 1)}, {"n": 2**70}, {"n": 0.12345678901234567890123}, {'"n': f'\\" {10**30 + 1}'}):
        assert put(free, "a", payload).status_code == 200
        assert free.get("/points/a").json()["payload"] == payload


def nested(depth, kind=list):
    value = {"x": 1} if kind is dict else [1]
    for _ in range(depth - 1):
        value = {"x": value} if kind is dict else [value]
    return value


def test_payload_is_taken_up_to_60_deep_and_refused_beyond(free):
    for kind in (list, dict):
        assert put(free, "deep", {"a": nested(59, kind)}).status_code == 200
        for depth in (60, 80, 252, 254, 300, 500):
            assert "inside each other" in refused(put(free, "deeper", {"a": nested(depth, kind)}))["detail"]
    assert [each["id"] for each in free.post("/scroll", json={}).json()["points"]] == ["deep"]
    brackets = {"a" * 3: "[{" * 200, "\\": '"' + "[" * 200, '["': ["]" * 300]}  # in strings they are no depth
    assert put(free, "texts", brackets).status_code == 200
    assert free.get("/points/texts").json()["payload"] == brackets


def test_times_of_arrow_beyond_the_years_1_to_9999_are_refused(typed):
    content = arrow_stream(
        pa.table({"id": ["a"], "vector": pa.nulls(1), "of timestamp": pa.array([2**62], pa.timestamp("us"))})
    )
    assert "of timestamp" in refused(put_arrow(typed, content))["parameter"]


def put_arrow(client, content):
    return client.put("/points", content=content, headers={"Content-Type": ARROW})


def test_name_of_an_arrow_member_that_is_not_utf_8_is_refused(free):
    for column in (pa.array([[{"member": 1}]]), pa.array([{"a": {"member": 1}}]), pa.array([{"member": 1}])):
        content = arrow_stream(pa.table({"id": ["a"], "vector": pa.nulls(1), "s": column}))
        assert put_arrow(free, content).status_code == 200
        assert refused(put_arrow(free, content.replace(b"member", b"mem\xff\xfer")))["code"] == "malformed_body"


def test_arrow_times_that_python_cannot_hold_are_refused(free):
    for kind, number in (
        (pa.timestamp("s", "UTC"), 10**15),
        (pa.duration("s"), 10**15),
        (pa.timestamp("us"), -(2**62)),
    ):
        content = arrow_stream(pa.table({"id": ["a"], "vector": pa.nulls(1), "t": pa.array([number], kind)}))
        refused(put_arrow(free, content))


@pytest.mark.parametrize("values", ["[0, 0.0, -0.0]", "[3, 3.0]", "[[1, 2.0], [1.0, 2]]", '[{"a": 1}, {"a": 1.0}]'])
def test_numbers_that_filters_call_equal_are_one_group(free, values):
    for number, value in enumerate(json.loads(values)):
        put(free, f"p{number}", {"shelf": value})
    put(free, "true", {"shelf": True})
    answer = free.post("/query", json={"vector": VECTOR, "group_by": "shelf"})
    assert len(answer.json()["hits"]) == 2
