"""Writes that depend on the seq of a point, or do not wait for the disk, and points in Arrow."""

import sqlite3

import numpy as np
import pyarrow as pa
import pytest
from support import small, writing
from support.contract import problem
from support.files import arrow_stream
from support.writing import check, model, point, put, put_points, writable

import hubless
from hubless.store.log import Log
from hubless_service.http.arrow import ARROW

TITLES = {"title": "one"}


@pytest.fixture
def client(tmp_path):
    writing.build(tmp_path)
    with writable(tmp_path) as client:
        yield client


def vectors(*points):
    numbers = np.array([each["vector"] for each in points], np.float32)
    return pa.FixedSizeListArray.from_arrays(pa.array(numbers.reshape(-1)), small.DIM)


def send(client, table, **params):
    body = table if isinstance(table, bytes) else arrow_stream(table)
    return client.put("/points", content=body, params=params, headers={"Content-Type": ARROW})


def seq_of(client, wanted):
    answer = client.get(f"/points/{wanted}")
    assert answer.headers["etag"] == f'"{answer.json()["seq"]}"'
    return answer.json()["seq"]


def test_seq_of_a_point_is_that_of_the_write_that_changed_it_last(client, tmp_path):
    old, other = small.IDS[0], small.IDS[1]
    assert seq_of(client, old) == 0
    put_points(client, point("a", 1), point(old, 2)).raise_for_status()
    put_points(client, point("b", 3)).raise_for_status()
    patched = client.patch("/points", json={"points": [{"id": "a", "payload": TITLES}]}).json()["seq"]
    found = client.post("/points", json={"ids": ["a", old, "b", other]}).json()["points"]
    assert [each["seq"] for each in found] == [patched, 1, 2, 0]
    page = client.post("/scroll", json={"limit": 1000}).json()["points"]
    assert {each["id"]: each["seq"] for each in page} == {
        **dict.fromkeys(small.IDS, 0),
        "a": patched,
        old: 1,
        "b": 2,
    }
    hubless.merge(tmp_path, writing.NAME)
    merged = hubless.open(tmp_path, writing.NAME)
    rows = np.arange(merged.count)
    seqs = merged.parts.targets.seqs(rows).tolist()
    assert dict(zip(merged.ids(rows), seqs, strict=True)) == {each["id"]: each["seq"] for each in page}


def test_write_goes_through_if_the_point_is_as_it_was(client):
    put_points(client, point("a", 1)).raise_for_status()
    for seq, tag in enumerate(['"1"', "2", '"7", "3"', "*"], 2):
        answer = put_points(client, point("a", seq), headers={"If-Match": tag})
        assert answer.json()["seq"] == seq


def test_write_to_a_point_that_was_changed_is_problem(client):
    put_points(client, point("a", 1)).raise_for_status()
    put_points(client, point("a", 2)).raise_for_status()
    stale = {"If-Match": '"1"'}
    answers = [
        put_points(client, point("a", 3), headers=stale),
        client.patch("/points", json={"points": [{"id": "a", "payload": TITLES}]}, headers=stale),
        client.post("/points/delete", json={"ids": ["a"]}, headers=stale),
        send(client, pa.table({"id": ["a"], "vector": vectors(point("a", 3))}), mode="upsert"),
    ]
    for answer in answers[:3]:
        assert "the target 'a' has seq 2" in problem(answer, 412, "precondition_failed")
    assert answers[3].json()["seq"] == 3
    assert "is not there" in problem(
        put_points(client, point("new", 3), headers={"If-Match": "*"}),
        412,
        "precondition_failed",
    )
    fresh = {"If-Match": f'"{seq_of(client, "a")}"'}
    assert client.post("/points/delete", json={"ids": ["a"]}, headers=fresh).json()["deleted"] == 1


def test_condition_on_several_points_or_of_another_form_is_problem(client):
    two = {"points": [point("a", 1), point("b", 2)]}
    assert "If-Match: expected a request about one target" in problem(
        client.put("/points", json=two, headers={"If-Match": '"1"'})
    )
    one = {"points": [point("a", 1)]}
    assert "If-Match: expected the seq" in problem(client.put("/points", json=one, headers={"If-Match": '"x"'}))
    everything = {"filter": {"field": "title", "exists": True}}
    problem(client.post("/points/delete", json=everything, headers={"If-Match": "*"}))


def test_writes_in_memory_do_not_wait_for_the_disk_and_a_later_one_does(client, tmp_path, monkeypatch):
    settings = []
    monkeypatch.setattr(
        sqlite3, "connect", lambda *given, real=sqlite3.connect, **named: real(*given, factory=Noting, **named)
    )

    class Noting(sqlite3.Connection):
        def execute(self, sql, *given):
            if sql == "COMMIT":
                settings.append(super().execute("PRAGMA synchronous").fetchone()[0])
            return super().execute(sql, *given)

    normal, full = 1, 2
    stored = model()
    for number, how in enumerate([{"durability": "memory"}, {"durability": "disk"}, {}, {"durability": "memory"}]):
        sent = point(f"n{number}", number)
        put_points(client, sent, **how).raise_for_status()
        put(stored, sent)
    assert settings == [normal, full, full, normal]
    check(client, stored, hubless.open(tmp_path, writing.NAME).correction())
    assert Log(tmp_path / writing.NAME).last() == 4


def test_points_in_arrow_are_stored_like_those_in_json(client, tmp_path):
    stored = model()
    sent = [point("a", 1, title="one", tags=[1, 2]), point(small.IDS[3], 2), point("c", 3, title="three")]
    table = pa.table(
        {
            "id": pa.array([each["id"] for each in sent]).dictionary_encode(),
            "vector": vectors(*sent),
            "title": ["one", None, "three"],
            "tags": pa.array([[1.0, 2.0], None, None], pa.list_(pa.float32())),
        }
    )
    answer = send(client, table, durability="memory").json()
    assert (answer["inserted"], answer["updated"]) == (2, 1)
    put(stored, *sent)
    half = point("h", 4)
    double = pa.array([half["vector"]], pa.list_(pa.float64()))
    assert send(client, pa.table({"id": ["h"], "vector": double}), mode="insert").json()["inserted"] == 1
    put(stored, half)
    check(client, stored, hubless.open(tmp_path, writing.NAME).correction())
    # without a vector only ids and filters find it
    for nulls in (pa.nulls(1), pa.nulls(1, double.type)):
        send(client, pa.table({"id": ["silent"], "title": ["quiet"], "vector": nulls})).raise_for_status()
        assert client.get("/points/silent", params={"with": "vector"}).json()["vector"] is None


def test_stream_that_is_none_is_refused(client):
    table = pa.table({"id": ["a", "b"]})
    assert "not compressed" in problem(send(client, arrow_stream(table, compression="zstd")))
    for content in (b"no stream", arrow_stream(table)[:-60]):
        problem(send(client, content), 400, "malformed_body")
    problem(send(client, table, colour="red"), code="unknown_field")


def test_point_is_deleted_by_its_id_if_it_is_there_and_as_it_was(client):
    put_points(client, point("a/b c", 1)).raise_for_status()
    path = "/points/a%2Fb%20c"
    problem(client.delete(path, headers={"If-Match": '"7"'}), 412, "precondition_failed")
    answer = client.delete(path, headers={"If-Match": '"1"'}, params={"durability": "memory"})
    assert (answer.json()["seq"], answer.json()["deleted"]) == (2, 1)
    assert "point" not in problem(client.delete(path, params={"durability": "rock"}))
    for gone in (path, "/points/never"):
        problem(client.delete(gone), 404, "point_not_found")
    problem(client.delete("/points/never", headers={"If-Match": "*"}), 412, "precondition_failed")
