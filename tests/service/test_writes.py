"""Points that are put, patched and deleted over HTTP."""

import shutil

import numpy as np
import pytest
from support import small, writing
from support.contract import problem
from support.writing import NAME, count_of, point, put, put_points

import hubless
from hubless.builder import lifecycle
from hubless.search.soundness import version_problem

FILTER = {"field": "title", "eq": "new"}


@pytest.fixture
def catalog(tmp_path):
    writing.build(tmp_path)
    return tmp_path


@pytest.fixture
def correction(catalog):
    return hubless.open(catalog, NAME).correction()


@pytest.fixture
def client(catalog):
    with writing.writable(catalog) as client:
        yield client


def origin(client):
    return str(client.base_url).split("/v1")[0]


def test_writes_are_found_by_all_and_survive_a_restart_and_stand_in_the_library_too(catalog, correction):
    stored = writing.model()
    new = [point("new", 1, title="new"), point("target-9", 2), point("second", 3, tags=[1, None])]
    patches = [{"id": "target-10", "payload": {"title": "new"}}, {"id": "target-11", "payload": {"tags": None}}]
    with writing.writable(catalog) as client:
        answer = put_points(client, *new).json()
        put(stored, *new)
        assert [answer[name] for name in ("seq", "inserted", "updated")] == [1, 2, 1]
        writing.check(client, stored, correction)
        assert client.patch("/points", json={"points": patches}).json()["updated"] == 2
        for sent in patches:
            vector, payload = stored[sent["id"]]
            stored[sent["id"]] = vector, payload | sent["payload"]
        assert count_of(client, filter=FILTER) == 2
        writing.check(client, stored, correction)
        for deleted in (2, 0):
            assert client.post("/points/delete", json={"filter": FILTER}).json()["deleted"] == deleted
        ids = ["target-8", "nobody", "target-9", "target-8"]
        assert client.post("/points/delete", json={"ids": ids}).json()["deleted"] == 2
    for gone in ("new", "target-10", "target-8", "target-9"):
        del stored[gone]
    with writing.writable(catalog) as client:
        writing.check(client, stored, correction)
        query = np.arange(small.DIM, dtype=np.float32)
        asked = {"vector": query.tolist(), "limit": len(stored)}
        hits = client.post("/query", json=asked).json()["hits"]
    opened = hubless.open(catalog, NAME)
    assert opened.count == len(hits) == len(stored)
    assert opened.query(query, len(stored)).ids[0] == [hit["id"] for hit in hits]
    assert hubless.open(catalog, NAME, version=opened.version).count == small.COUNT


NUMBERS = dict(zip(small.IDS, (1 + np.arange(small.COUNT) ** 2 / 100).tolist(), strict=True))
BARE = {"vector": None}


def patch(wanted):
    return "PATCH", {"id": wanted, "payload": {"title": "patched"}}


ROUNDS = [
    [patch("target-9"), ("PUT", point("target-10", 2)), ("PUT", {"id": "target-11"} | BARE)],
    [patch("target-10"), ("PUT", point("target-11", 3)), ("DELETE", "target-12"), ("PUT", point("target-12", 4))],
    [
        *map(patch, ("target-9", "target-10", "target-12")),
        ("PUT", point("new", 5)),
        ("PUT", {"id": "target-13"} | BARE),
    ],
    [patch("target-11"), patch("new")],
    [("PUT", point("target-13", 6))],
]


@pytest.mark.parametrize(("role", "correction"), [("target_prior", "sn"), ("offsets", "offsets")])
def test_number_of_an_array_stays_with_its_target_as_one_in_its_payload_does(tmp_path, role, correction):
    numbers = [*NUMBERS.values()]
    beside = [row | {"number": each} for row, each in zip(small.payload(), numbers, strict=True)]
    fits = role == "target_prior"
    for name, given, payload in (("array", numbers, small.payload()), ("column", "number", beside)):
        options = {"ids": small.IDS, "payload": payload, "correction": correction, "metric": "cosine", "index": "hnsw"}
        hubless.build(tmp_path, name, small.targets(), small.query_bank() if fits else None, **options, **{role: given})
    between = [
        lambda name: None,
        lambda name: lifecycle.flush(hubless.Catalog(tmp_path), hubless.open(tmp_path, name).parts),
        lambda name: hubless.merge(tmp_path, name),  # which trains the index anew
        lambda name: fits and hubless.refit(tmp_path, name, small.vectors(80, 5)),
        lambda name: None,
    ]
    for writes, follows in zip(ROUNDS, between, strict=True):
        told = []
        for name in ("array", "column"):
            with writing.writable(tmp_path, name) as client:
                for method, sent in writes:
                    if method == "DELETE":
                        assert client.delete(f"/points/{sent}").status_code == 200
                        continue
                    if (method, name) == ("PUT", "column") and sent["id"] not in ("target-12", "new"):
                        sent = sent | {"payload": {"number": NUMBERS[sent["id"]]}}
                    assert client.request(method, "/points", json={"points": [sent]}).status_code == 200
                told.append({each["id"]: each["offset"] for each in writing.scrolled(client)})
            follows(name)
            opened = hubless.open(tmp_path, name)
            assert version_problem(opened.parts) is None
            if fits:
                median = opened.correction().details["prior_median"]
                assert opened.manifest.target_prior.median == median == np.median(numbers)
            told.append(dict(zip(opened.ids(np.arange(opened.count)), opened.offsets.tolist(), strict=True)))
        assert told[:2] == [pytest.approx(each, abs=1e-5) for each in told[2:]]


def test_collection_and_metrics_say_what_was_written(client):
    put_points(client, point("a", 1), point("target-8", 2))
    client.post("/points/delete", json={"ids": ["target-9"]})
    document = client.get(f"{origin(client)}/v1/collections/{NAME}").json()
    share = 2 / small.COUNT
    assert document["writes"].pop("log_bytes") > 0
    assert document["writes"] == {"seq": 2, "added": 2, "removed": 2, "frozen_share": share}
    assert document["count"] == small.COUNT
    page = client.get(f"{origin(client)}/metrics").text
    assert 'hubless_added_points{collection="photos"} 2.0' in page
    assert 'hubless_removed_points{collection="photos"} 2.0' in page
    assert f'hubless_frozen_share{{collection="photos"}} {share}' in page


def test_insert_refuses_what_is_there_and_update_what_is_not(client, correction):
    sent = [point("new", 1), point("target-8", 2)]
    refused = put_points(client, *sent, mode="insert")
    assert "target-8" in problem(refused, 409, "point_exists")
    refused = put_points(client, *sent, mode="update")
    assert "new" in problem(refused, 404, "point_not_found")
    writing.check(client, writing.model(), correction)
    assert put_points(client, *sent[:1], mode="insert").status_code == 200
    assert put_points(client, *sent[1:], mode="update").json()["updated"] == 1


def test_ignore_adds_what_is_new_and_leaves_what_is_there(client, correction):
    stored = writing.model()
    sent = [point("target-8", 2), point("new", 1), point("newer", 3)]
    for inserted in (2, 0):
        answer = put_points(client, *sent, mode="ignore").json()
        assert (answer["seq"], answer["inserted"], answer["updated"]) == (1, inserted, 0)
    put(stored, *sent[1:])
    writing.check(client, stored, correction)


def test_writes_beyond_what_may_stand_beside_the_index_wait_for_the_merge(catalog):
    with writing.writable(catalog, max_added=4, default_timeout_ms=60_000) as client:
        for start in range(0, 12, 3):
            points = [point(f"new-{seed}", seed) for seed in range(start, start + 3)]
            assert put_points(client, *points).status_code == 200
        assert count_of(client) == small.COUNT + 12
    assert hubless.open(catalog, writing.NAME).manifest.log_seq >= 2


def test_more_points_than_a_write_or_the_collection_may_have_are_refused(catalog):
    with writing.writable(catalog, max_added=4, merge_at=0) as client:
        points = [point(f"new-{seed}", seed) for seed in range(6)]
        assert put_points(client, *points[:1] * 1001).json()["expected"] == "1 to 1000 points"
        assert put_points(client, *points[:3]).status_code == 200
        refused = put_points(client, *points[3:])
        problem(refused, 429, "merge_needed")
        assert refused.headers["retry-after"] == "5"
        assert client.post("/points/delete", json={"ids": ["new-0"]}).json()["deleted"] == 1
        assert put_points(client, *points[3:5]).status_code == 200


def test_collection_whose_correction_is_more_than_offsets_is_not_written_to(tmp_path):
    small.build(tmp_path, NAME, correction="ls")
    with writing.writable(tmp_path) as client:
        answer = put_points(client, {"id": 1, "vector": [1.0] * small.DIM})
    assert "correction ls" in problem(answer, 422, "invalid_input")


def test_version_that_is_built_from_other_files_takes_no_writes_away_unasked(catalog):
    with writing.writable(catalog) as client:
        put_points(client, point("new", 1))
    with pytest.raises(hubless.HublessError, match=r"^collection: expected replace_writes if the targets have all"):
        writing.build(catalog)
    made = writing.build(catalog, replace_writes=True)
    assert made.log_seq == 1
    assert hubless.open(catalog, NAME).count == small.COUNT


def test_write_that_the_disk_refuses_is_not_served(catalog, monkeypatch):
    from hubless.errors import StorageError
    from hubless.store import log

    with writing.writable(catalog) as client:
        put_points(client, point("first", 1))

        def refuse(self):
            raise StorageError(log.LOG, "the disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(log.Appender, "commit", refuse)
            problem(put_points(client, point("second", 2)), 503, "storage")
            assert count_of(client) == small.COUNT + 1
        assert put_points(client, point("third", 3)).json()["seq"] == 2
        assert client.post("/points", json={"ids": ["second"]}).json()["missing"] == ["second"]


def test_reader_gets_a_write_that_there_is_and_no_other(client):
    seq = put_points(client, point("new", 1)).json()["seq"]
    for path, body in (("/count", {}), ("/scroll", {}), ("/points", {"ids": ["new"]}), ("/query", point("x", 1))):
        body.pop("id", None)
        assert client.post(path, json={**body, "min_seq": seq}).status_code == 200
        answer = client.post(path, json={**body, "min_seq": seq + 1})
        problem(answer, 422, "invalid_input")
        assert (answer.json()["parameter"], answer.json()["expected"][:9]) == ("min_seq", "at most 1")
    assert client.get(f"/points/new?min_seq={seq}").status_code == 200
    assert client.get(f"/points/new?min_seq={seq + 1}").json()["parameter"] == "min_seq"
    assert client.post("/count", json={"min_seq": -1}).json()["parameter"] == "min_seq"


def test_copy_of_a_folder_under_another_name_is_a_collection_of_its_own(tmp_path):
    writing.build(tmp_path)
    shutil.copytree(tmp_path / writing.NAME, tmp_path / "copied")
    with writing.writable(tmp_path) as client:
        put = client.put("../copied/points", json={"points": [writing.point("new", 1)]}).json()
        assert (put["collection"], put["inserted"]) == ("copied", 1)
        assert client.get("../copied/points/new").status_code == 200
        assert client.get("/points/new").status_code == 404
