"""Query banks that are put over HTTP: a collection that began empty becomes corrected."""

import base64
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pyarrow as pa
import pytest
from support import catalogs
from support.contract import problem
from support.files import arrow_stream
from support.problems import with_hubs
from support.serving import serving_catalog
from support.until import until
from support.writing import put_points

import hubless
from hubless.store.bank_order import read_order
from hubless.store.locks import lease
from hubless_client import Client, ClientError
from hubless_service.http.arrow import ARROW

NOTES = "/v1/collections/notes"
PROBLEM = with_hubs(targets=200, bank=120, queries=60, dim=8, seed=4)
POINTS = [{"id": str(row), "vector": vector.tolist()} for row, vector in enumerate(PROBLEM.targets)]
BANK = PROBLEM.bank
WAITING = {"mode": "replace", "fit": False, "fit_by": None, "sampled": None, "counted": None}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    path = tmp_path_factory.mktemp("catalog")
    with serving_catalog(path, hubness=False, max_bank_queries=300) as url:
        yield path, url


def put(client, content, kind=ARROW, **params):
    return client.put(f"{NOTES}/bank", content=content, headers={"Content-Type": kind}, params=params)


@pytest.fixture
def notes(url, contract):
    """A client of a collection of points without a bank, and the catalog."""
    path, base = url
    with contract.client(base, timeout=60) as client:
        begin(client)
        yield client, path
        client.delete(NOTES).raise_for_status()


def begin(client):
    client.put(NOTES, json={"dim": 8, "metric": "cosine", "id_type": "string"}).raise_for_status()
    put_points(client, *POINTS, to=NOTES).raise_for_status()


def rows_of(vectors):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(vectors, np.float32).reshape(-1)), len(vectors[0]))


def test_bank_makes_an_empty_collection_corrected_as_a_build_does(notes, tmp_path):
    client, path = notes
    put_points(client, {"id": "silent", "payload": {"a": 1}}, to=NOTES).raise_for_status()
    before = client.get(f"{NOTES}/bank").json()
    assert (before["queries"], before["correction"], before["waiting"]) == (0, "none", None)
    answer = client.put(f"{NOTES}/bank", json={"vectors": BANK.tolist(), "timeout_ms": 60_000})
    assert answer.status_code == 200
    document = answer.json()
    assert (document["queries"], document["correction"], document["waiting"]) == (120, "auto", None)
    assert (document["work"]["state"], document["work"]["version"]) == ("done", document["version"])
    assert document["version"] > before["version"]
    described = client.get(NOTES).json()
    left = {name: described["writes"][name] for name in ("added", "removed", "frozen_share")}
    assert left == {"added": 0, "removed": 0, "frozen_share": 0}
    assert described["measured"]["hubness_corrected"]["skewness"] < described["measured"]["hubness_raw"]["skewness"]
    built = hubless.Index("auto", "cosine").fit(BANK, PROBLEM.targets, ids=[str(row) for row in range(200)])
    stored = hubless.open(path, "notes")
    assert stored.ids(np.arange(201))[-1] == "silent"
    np.testing.assert_allclose(stored.offsets[:200], built.offsets, atol=1e-5)
    hits = client.post(f"{NOTES}/query", json={"vector": PROBLEM.queries[0].tolist()}).json()["hits"]
    assert [hit["id"] for hit in hits] == built.query(PROBLEM.queries[0]).ids[0]
    # what comes later has its offset from the fit
    put_points(client, POINTS[3] | {"id": "later"}, to=NOTES).raise_for_status()
    later = client.get(f"{NOTES}/points/later").json()
    assert later["offset"] == pytest.approx(float(built.offsets[3]), abs=1e-5)


def test_parts_in_all_kinds_of_bodies_are_one_bank(notes):
    client, path = notes
    texts = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in BANK[:40]]
    sent = {"vectors": texts, "fit": False, "correction": "csls", "parameters": {"k": 5}}
    first = client.put(f"{NOTES}/bank", json=sent)
    assert (first.status_code, first.headers["location"]) == (202, f"{NOTES}/bank")
    assert first.json()["waiting"] == WAITING | {"queries": 40}
    given = {"mode": "append", "fit": "false", "dim": 8}
    second = put(client, BANK[40:80].astype("<f4").tobytes(), "application/octet-stream", **given)
    assert second.json()["waiting"] == WAITING | {"queries": 80}
    whole = put(client, arrow_stream(pa.table({"vector": rows_of(BANK[80:])})), mode="append", timeout_ms=60_000)
    assert (whole.status_code, whole.json()["queries"], whole.json()["correction"]) == (200, 120, "csls")
    built = hubless.Index("csls", "cosine", parameters={"k": 5}).fit(BANK, PROBLEM.targets)
    np.testing.assert_allclose(hubless.open(path, "notes").offsets, built.offsets, atol=1e-5)


RIGHT = [str(row) for row in (BANK @ PROBLEM.targets.T).argmax(axis=1)]
ONCE = next(row for row in range(60) if RIGHT.count(RIGHT[row]) == 1)
"""A query whose right target is that of no other."""


def test_texts_of_the_payload_are_a_bank(tmp_path):
    data = catalogs.words()
    more = {"ids": data.ids, "payload": catalogs.payload(), "encoder": catalogs.encoder(), "correction": "none"}
    hubless.build(tmp_path, "words", data.targets, progress=False, **more)
    with serving_catalog(tmp_path, hubness=False) as url, Client(url) as client:
        made = client.put_bank("words", payload=["title"], timeout_ms=60_000)
        titles = {row["title"] for row in more["payload"]}
        assert (made.queries, made.waiting, made.correction) == (len(titles), None, "auto")
        with pytest.raises(ClientError, match="one of the columns"):
            client.put_bank("words", payload=["caption"])


def test_labels_of_bank_queries_make_confidence_a_probability_but_for_that_of_a_target_that_is_gone(notes, url):
    client, _ = notes
    bank = {"vectors": BANK[:60].tolist(), "relevant": RIGHT[:60], "fit": False}
    assert client.put(f"{NOTES}/bank", json=bank).status_code == 202
    client.delete(f"{NOTES}/points/{RIGHT[ONCE]}").raise_for_status()
    labels = [RIGHT[60], [RIGHT[61], "5"], None, *RIGHT[63:]]
    with Client(url[1]) as sync:
        # of the labelled queries a part of the bank is kept out, to calibrate by, and to say whether it does harm
        given = sync.put_bank("notes", BANK[60:], relevant=labels, mode="append", timeout_ms=60_000)
        said = client.get(NOTES).json()["confidence"]
        assert (given.fitted, given.queries + said["pairs"]) == (True, 120)
        assert said["calibrated"]
        assert given.decided["labels"]["queries"] == said["pairs"]
        assert client.get(f"{NOTES}/bank").json()["decided"] == given.decided
        assert (given.decided["by"] == "labels") == (given.decided["labels"]["said"] == "harm")
        answer = client.post(f"{NOTES}/query", json={"vector": PROBLEM.queries[0].tolist(), "limit": 1}).json()
        assert answer["calibrated"]
        assert answer["hits"][0]["share"] == answer["confidence"] <= 1
        assert sync.collection("notes").confidence == said
        assert sync.query("notes", PROBLEM.queries[0]).calibrated


def test_labels_come_in_a_column_of_arrow_too(notes):
    client, path = notes
    labels = pa.array([[RIGHT[0], RIGHT[1]], None, *([each] for each in RIGHT[2:])])
    sent = pa.table({"vector": rows_of(BANK), "relevant": labels})
    assert put(client, arrow_stream(sent), fit="false").status_code == 202
    waiting = read_order(path / "notes").relevant
    assert [each and len(each) for each in waiting] == [len({*RIGHT[:2]}), None, *[1] * 118]
    assert [each[0] for each in waiting[2:]] == RIGHT[2:]
    wrong = sent.set_column(1, "relevant", pa.array([*RIGHT[:99], "nobody", *RIGHT[100:]]))
    said = problem(put(client, arrow_stream(wrong)))
    assert "relevant[99]: expected the id of a target, a text such as '0', got 'nobody'" in said


def test_each_tenant_is_corrected_by_its_own_queries_that_come_in_all_kinds_of_bodies(notes):
    """A whole number in the payload is the same group as its text beside a query."""
    client, path = notes
    tenants, asking = np.array([1, "two", "none"], object)[np.arange(200) % 3], np.repeat(["1", "two"], [70, 50])
    points = [point | {"payload": {"tenant": name}} for point, name in zip(POINTS, tenants.tolist(), strict=True)]
    put_points(client, *points, to=NOTES).raise_for_status()
    body = {"vectors": BANK[:40].tolist(), "fit_by": "tenant", "groups": [1] * 40, "fit": False}
    waiting = client.put(f"{NOTES}/bank", json=body).json()["waiting"]
    assert waiting == WAITING | {"queries": 40, "fit_by": "tenant"}
    other = {"vectors": BANK[:9].tolist(), "mode": "append", "fit": False, "fit_by": ""}
    assert "fit_by: expected 'tenant', as the queries that wait" in problem(client.put(f"{NOTES}/bank", json=other))
    table = pa.table({"vector": rows_of(BANK[40:]), "groups": asking[40:]})
    made = put(client, arrow_stream(table), mode="append", timeout_ms=60_000).json()
    assert (made["queries"], made["fit_by"]) == (120, "tenant")
    opened = hubless.open(path, "notes")
    assert any("66 targets are not corrected" in note for note in opened.manifest.notes)
    for name in ("1", "two"):
        rows = tenants.astype(str) == name
        expected = hubless.offsets(PROBLEM.targets[rows], BANK[asking == name], metric="cosine")
        np.testing.assert_allclose(opened.offsets[rows], expected, atol=1e-5)
    # the payload of what comes later says whose it is
    later = POINTS[3] | {"id": "later", "payload": {"tenant": 1}}
    put_points(client, later, to=NOTES).raise_for_status()
    assert client.get(f"{NOTES}/points/later").json()["offset"] == pytest.approx(float(opened.offsets[3]), abs=1e-5)
    moved = [{"id": "later", "payload": {"tenant": "x"}}]
    client.patch(f"{NOTES}/points", json={"points": moved}).raise_for_status()
    assert client.get(f"{NOTES}/points/later").json()["offset"] == pytest.approx(0, abs=1e-6)
    unknown = {"vectors": BANK.tolist(), "fit_by": "tenant", "groups": ["nobody"] * 120, "timeout_ms": 60_000}
    said = problem(client.put(f"{NOTES}/bank", json=unknown))
    assert "groups that have targets, such as '1', 'none', 'two', got 'nobody'" in said


def test_bank_that_takes_longer_than_the_request_goes_on_after_202(notes):
    client, _ = notes
    answer = client.put(f"{NOTES}/bank", json={"vectors": BANK.tolist(), "timeout_ms": 1})
    assert answer.status_code == 202
    assert answer.json()["waiting"] == WAITING | {"queries": 120, "fit": True}
    while (found := client.get(f"{NOTES}/bank").json())["waiting"] is not None:
        client.post(f"{NOTES}/query", json={"vector": POINTS[0]["vector"]}).raise_for_status()
        time.sleep(0.05)
    assert found["queries"] == 120


def test_bank_is_given_up_if_another_version_older_or_newer_is_activated_before_its_fit(notes):
    client, path = notes
    client.put(f"{NOTES}/bank", json={"vectors": BANK.tolist(), "timeout_ms": 60_000}).raise_for_status()
    bank = {"vectors": BANK[:60].tolist(), "timeout_ms": 60_000}
    for other in hubless.Catalog(path).version_ids("notes"):  # the current one is the newest
        with ThreadPoolExecutor() as pool, lease(path / "notes", "hubless refit"):
            answer = pool.submit(client.put, f"{NOTES}/bank", json=bank)
            until(lambda: read_order(path / "notes"))
            client.post(f"{NOTES}/versions/{other}/activate").raise_for_status()
        said = problem(answer.result(), 412, "precondition_failed")
        assert said.startswith(f"version {other} of 'notes' became current while the job ran")
        told = client.get(f"{NOTES}/bank").json()
        assert (told["version"], told["waiting"], told["work"]["state"]) == (other, None, "failed")
        assert told["work"]["problem"]["code"] == "precondition_failed"
    # a version that was made of writes since is no other one
    assert client.put(f"{NOTES}/bank", json=bank).json()["queries"] == 60


def test_bank_of_targets_and_one_that_is_none_are_refused_and_nothing_waits(notes):
    client, _ = notes

    client.put(f"{NOTES}/bank", json={"vectors": PROBLEM.targets[:60].tolist()})
    work = until(lambda: (work := client.get(f"{NOTES}/bank").json()["work"]) and work["state"] == "failed" and work)
    assert "100 % targets" in work["problem"]["detail"]
    assert "HUBLESS_QUERY_SAMPLE" in problem(client.put(f"{NOTES}/bank", json={"sampled": 200}))
    problem(put(client, b"123", "application/octet-stream"), code="dimension_mismatch")
    problem(put(client, b"no stream"), 400, "malformed_body")
    problem(put(client, b"x", "text/csv"), 415, "unsupported_media_type")
    assert client.get(f"{NOTES}/bank").json()["waiting"] is None


def test_parts_may_not_come_to_more_than_the_limit(notes):
    client, _ = notes
    for expected in (202, 202, 422):
        body = {"vectors": BANK.tolist(), "mode": "append", "fit": False}
        assert client.put(f"{NOTES}/bank", json=body).status_code == expected


def test_bank_without_targets_says_what_to_do_first(url):
    with httpx.Client(base_url=url[1]) as client:
        client.put("/v1/collections/none", json={"dim": 8, "metric": "dot", "id_type": "int64"}).raise_for_status()
        answer = client.put("/v1/collections/none/bank", json={"vectors": BANK[:5].tolist()})
        assert "put targets, then the bank" in problem(answer)
        assert client.delete("/v1/collections/none").status_code == 200
