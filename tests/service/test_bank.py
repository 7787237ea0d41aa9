"""Query banks that are put over HTTP: a collection that began empty becomes corrected."""

import base64
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pyarrow as pa
import pytest
from support import catalogs, small
from support.contract import problem
from support.files import arrow_stream
from support.problems import with_hubs
from support.serving import serving_catalog
from support.until import until

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
    client.put(f"{NOTES}/points", json={"points": POINTS}).raise_for_status()


def rows_of(vectors):
    return pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(vectors, np.float32).reshape(-1)), len(vectors[0]))


def test_bank_makes_an_empty_collection_corrected_as_a_build_does(notes, tmp_path):
    client, path = notes
    client.put(f"{NOTES}/points", json={"points": [{"id": "silent", "payload": {"a": 1}}]}).raise_for_status()
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
    client.put(f"{NOTES}/points", json={"points": [POINTS[3] | {"id": "later"}]}).raise_for_status()
    later = client.get(f"{NOTES}/points/later").json()
    assert later["offset"] == pytest.approx(float(built.offsets[3]), abs=1e-5)


def test_parts_in_all_kinds_of_bodies_are_one_bank(notes):
    client, path = notes
    texts = [base64.b64encode(row.astype("<f4").tobytes()).decode() for row in BANK[:40]]
    first = client.put(
        f"{NOTES}/bank", json={"vectors": texts, "fit": False, "correction": "csls", "parameters": {"k": 5}}
    )
    assert first.status_code == 202
    assert first.headers["location"] == f"{NOTES}/bank"
    assert first.json()["waiting"] == WAITING | {"queries": 40}
    second = client.put(
        f"{NOTES}/bank",
        params={"mode": "append", "fit": "false", "dim": 8},
        content=BANK[40:80].astype("<f4").tobytes(),
        headers={"Content-Type": "application/octet-stream"},
    )
    assert second.json()["waiting"] == WAITING | {"queries": 80}
    whole = client.put(
        f"{NOTES}/bank",
        params={"mode": "append", "timeout_ms": 60_000},
        content=arrow_stream(pa.table({"vector": rows_of(BANK[80:110])})),
        headers={"Content-Type": ARROW},
    )
    assert (whole.status_code, whole.json()["queries"], whole.json()["correction"]) == (200, 110, "csls")
    # a fitted bank grows, too
    more = {"vectors": BANK[110:].tolist(), "mode": "append", "timeout_ms": 60_000}
    assert client.put(f"{NOTES}/bank", json=more).json()["queries"] == 120
    built = hubless.Index("csls", "cosine", parameters={"k": 5}).fit(BANK, PROBLEM.targets)
    np.testing.assert_allclose(hubless.open(path, "notes").offsets, built.offsets, atol=1e-5)


RIGHT = [str(row) for row in (BANK @ PROBLEM.targets.T).argmax(axis=1)]


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


def test_labels_of_bank_queries_make_confidence_a_probability(notes, url):
    client, _ = notes
    bank = {"vectors": BANK[:60].tolist(), "fit": False}
    assert client.put(f"{NOTES}/bank", json=bank).status_code == 202
    labels = [RIGHT[60], [RIGHT[61], "0"], None, *RIGHT[63:]]
    with Client(url[1]) as sync:
        # of the labelled queries a fifth of the bank is kept out, to calibrate by, and to say whether it does harm
        given = sync.put_bank("notes", BANK[60:], relevant=labels, mode="append", timeout_ms=60_000)
        assert (given.fitted, given.queries) == (True, 96)
        said = client.get(NOTES).json()["confidence"]
        assert said["calibrated"]
        assert said["pairs"] == 24
        assert given.decided["labels"]["queries"] == said["pairs"]
        assert client.get(f"{NOTES}/bank").json()["decided"] == given.decided
        assert (given.decided["by"] == "labels") == (given.decided["labels"]["said"] == "harm")
        answer = client.post(f"{NOTES}/query", json={"vector": PROBLEM.queries[0].tolist(), "limit": 1}).json()
        assert answer["calibrated"]
        assert answer["hits"][0]["share"] == answer["confidence"] <= 1
        assert sync.collection("notes").confidence == said
        assert sync.query("notes", PROBLEM.queries[0]).calibrated


def test_label_whose_target_is_deleted_before_the_fit_is_left_out(notes):
    client, _ = notes
    bank = {"vectors": BANK[:60].tolist(), "relevant": RIGHT[:60], "fit": False}
    assert client.put(f"{NOTES}/bank", json=bank).status_code == 202
    client.delete(f"{NOTES}/points/{RIGHT[0]}").raise_for_status()
    rest = {"vectors": BANK[60:].tolist(), "mode": "append", "timeout_ms": 60_000}
    assert client.put(f"{NOTES}/bank", json=rest, timeout=100).json()["waiting"] is None
    assert client.get(NOTES).json()["confidence"]["calibrated"]


def test_labels_come_in_a_column_of_arrow_too(notes):
    client, path = notes
    labels = pa.array([[RIGHT[0], RIGHT[1]], None, *([each] for each in RIGHT[2:])])

    def put(relevant, **more):
        body = arrow_stream(pa.table({"vector": rows_of(BANK), "relevant": relevant}))
        return client.put(f"{NOTES}/bank", content=body, headers={"Content-Type": ARROW}, params=more)

    assert put(labels, fit="false").status_code == 202
    waiting = read_order(path / "notes")
    assert [each and len(each) for each in waiting.relevant] == [len({*RIGHT[:2]}), None, *[1] * 118]
    assert [each[0] for each in waiting.relevant[2:]] == RIGHT[2:]
    wrong = pa.array([*RIGHT[:99], "nobody", *RIGHT[100:]])
    assert "relevant[99]: expected the id of a target, a text such as '0', got 'nobody'" in problem(put(wrong))


def test_wrong_labels_are_refused_before_anything_is_fitted(notes):
    client, _ = notes

    def put(relevant, **more):
        return problem(client.put(f"{NOTES}/bank", json={"vectors": BANK.tolist(), "relevant": relevant, **more}))

    assert "relevant: expected 120 entries, one for each query, got 2" in put(["0", "1"])
    assert "relevant: expected right targets for at least 20 queries, got for 19" in put(RIGHT[:19] + [None] * 101)
    assert "relevant[1]: expected the id of a target, a text such as '0', got 'nobody'" in put(["0", ["1", "nobody"]])
    assert "relevant[0]: expected the id of a target, a text such as '0', got 7, a number" in put([7])
    assert "relevant: expected a list: for each query an id" in put("0")
    assert "relevant: expected a list: for each query an id" in put([{"0": 1}])
    assert client.get(f"{NOTES}/bank").json()["waiting"] is None


class TestGroups:
    """Targets of two tenants, and of one that nobody asks."""

    OF = np.array(["1", "two", "none"])[np.arange(200) % 3]
    ASKING = np.where(np.arange(120) < 70, "1", "two")

    @pytest.fixture
    def tenants(self, notes):
        client, path = notes
        # a whole number in the payload is the same group as its text beside a query
        named = [1 if name == "1" else name for name in self.OF.tolist()]
        points = [point | {"payload": {"tenant": name}} for point, name in zip(POINTS, named, strict=True)]
        client.put(f"{NOTES}/points", json={"points": points}).raise_for_status()
        return client, path

    def expected(self, asking):
        targets = PROBLEM.targets / np.linalg.norm(PROBLEM.targets, axis=1, keepdims=True)
        offsets = np.zeros(200, np.float32)
        for name in ("1", "two"):
            rows = name == self.OF
            offsets[rows] = hubless.offsets(targets[rows], BANK[: len(asking)][asking == name], metric="cosine")
        return offsets

    def test_each_tenant_is_corrected_by_its_own_queries_and_keeps_to_it(self, tenants, url):
        client, path = tenants
        with Client(url[1]) as sync:
            made = sync.put_bank("notes", BANK[:100], fit_by="tenant", groups=self.ASKING[:100], timeout_ms=60_000)
            assert (made.fitted, made.fit_by, made.queries) == (True, "tenant", 100)
        assert any("66 targets are not corrected" in note for note in hubless.open(path, "notes").manifest.notes)
        np.testing.assert_allclose(hubless.open(path, "notes").offsets, self.expected(self.ASKING[:100]), atol=1e-5)
        of_tenants = {"later-1": 1, "later-x": "x"}
        later = [POINTS[3] | {"id": wanted, "payload": {"tenant": name}} for wanted, name in of_tenants.items()]
        client.put(f"{NOTES}/points", json={"points": later}).raise_for_status()
        ours, nobody = (client.get(f"{NOTES}/points/later-{name}").json()["offset"] for name in (1, "x"))
        assert ours == pytest.approx(float(self.expected(self.ASKING[:100])[3]), abs=1e-5)
        assert nobody == pytest.approx(0, abs=1e-6)
        # its payload says that it is another tenant's now
        moved = [{"id": "later-1", "payload": {"tenant": "x"}}]
        client.patch(f"{NOTES}/points", json={"points": moved}).raise_for_status()
        assert client.get(f"{NOTES}/points/later-1").json()["offset"] == pytest.approx(0, abs=1e-6)
        # more queries of both, and one fit for all in the end
        more = {"vectors": BANK[100:].tolist(), "groups": self.ASKING[100:].tolist(), "mode": "append"}
        answer = client.put(f"{NOTES}/bank", json={**more, "timeout_ms": 60_000}).json()
        assert (answer["queries"], answer["fit_by"]) == (120, "tenant")
        np.testing.assert_allclose(hubless.open(path, "notes").offsets[:200], self.expected(self.ASKING), atol=1e-5)
        answer = client.put(f"{NOTES}/bank", json={"vectors": BANK.tolist(), "fit_by": "", "timeout_ms": 60_000}).json()
        assert (answer["queries"], answer["fit_by"]) == (120, None)

    def test_parts_of_all_kinds_of_bodies_make_one_bank(self, tenants):
        client, path = tenants
        body = {"vectors": BANK[:40].tolist(), "fit_by": "tenant", "groups": [1] * 40, "fit": False}
        waiting = client.put(f"{NOTES}/bank", json=body).json()["waiting"]
        assert waiting == WAITING | {"queries": 40, "fit_by": "tenant"}
        table = pa.table({"vector": rows_of(BANK[40:]), "groups": self.ASKING[40:]})
        params = {"mode": "append", "fit": "false"}
        headers = {"Content-Type": ARROW}
        client.put(f"{NOTES}/bank", content=arrow_stream(table), headers=headers, params=params).raise_for_status()
        assert read_order(path / "notes").groups == self.ASKING.tolist()
        other = {"vectors": BANK[:9].tolist(), "mode": "append", "fit": False, "fit_by": ""}
        assert "fit_by: expected 'tenant', as the queries that wait" in problem(client.put(f"{NOTES}/bank", json=other))

    def test_mistakes_are_refused_before_anything_waits(self, tenants):
        client, _ = tenants

        def put(**more):
            return problem(client.put(f"{NOTES}/bank", json={"vectors": BANK.tolist(), **more}))

        assert "groups: expected for each query its group" in put(fit_by="tenant")
        assert "groups: expected 120 entries, one for each query, got 2" in put(fit_by="tenant", groups=["1", "two"])
        assert "groups: expected none without fit_by" in put(groups=self.ASKING.tolist())
        assert "groups[0]" in put(fit_by="tenant", groups=[1.5] * 120)
        nobody = {"fit_by": "tenant", "groups": ["nobody"] * 120, "timeout_ms": 60_000}
        assert "groups that have targets, such as '1', 'none', 'two', got 'nobody'" in put(**nobody)
        assert client.get(f"{NOTES}/bank").json()["waiting"] is None


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


def test_bad_banks_are_refused_and_nothing_waits(notes):
    client, _ = notes
    good = BANK[:3].tolist()

    def put(**document):
        return client.put(f"{NOTES}/bank", json=document)

    def binary(content, kind=ARROW, **params):
        return client.put(f"{NOTES}/bank", content=content, headers={"Content-Type": kind}, params=params)

    assert "vectors[1]: expected 8 dimensions" in problem(put(vectors=[good[0], [1, 2]]), code="dimension_mismatch")
    assert "vectors[0]" in problem(put(vectors=[["x"] * 8]))
    nan = base64.b64encode(np.full(8, np.nan, "<f4").tobytes()).decode()
    assert "vectors[1]" in problem(put(vectors=[good[0], nan]), code="not_finite")
    assert "vectors[0]" in problem(put(vectors=[[0] * 8, good[0]]), code="zero_vector")
    assert "at least 2 queries, better 100 and more" in problem(put(vectors=good[:1]))
    assert "1 to 300 queries" in problem(put(vectors=[good[0]] * 301))
    assert "1 to 50000 queries" in problem(put(vectors=[good[0]] * 50_001))
    assert "one of vectors, texts, payload, sampled" in problem(put(fit=False))
    assert "got texts and sampled" in problem(put(texts=["a"], sampled=200))
    assert "HUBLESS_QUERY_SAMPLE" in problem(put(sampled=200))
    assert "a whole number from 200 to 4000" in problem(put(sampled=199))
    assert "a whole number from 200 to 4000" in problem(put(sampled=4001))
    assert "append" in problem(put(sampled=200, mode="append"))
    problem(put(payload=["title"]))
    problem(put(texts=["a", "b"]), code="no_encoder")
    assert "one of replace, append" in problem(put(vectors=good, mode="add"))
    assert "correction" in problem(put(vectors=good, correction="best"))
    problem(put(vectors=good, correction="csls", parameters={"depth": 1}))
    assert "targets" in problem(put(vectors=PROBLEM.targets[:60].tolist(), timeout_ms=60_000))
    assert client.get(f"{NOTES}/bank").json()["work"]["state"] == "failed"
    problem(binary(b"123", "application/octet-stream"), code="dimension_mismatch")
    assert "a column of this name" in problem(binary(arrow_stream(pa.table({"x": [1, 2]}))))
    both = pa.table({"vector": rows_of(good), "x": [1, 2, 3]})
    assert "the column vector, and perhaps relevant" in problem(binary(arrow_stream(both)))
    wide = pa.table({f"e{column}": [1.0, 2.0] for column in range(512)})
    assert "e6, e7 and 504 more" in problem(binary(arrow_stream(wide)))
    named = pa.table({"embedding": rows_of(good)})
    assert '{"embedding": "vector"}' in problem(binary(arrow_stream(named)))
    assert "fixed_size_list<float32>[8]" in problem(binary(arrow_stream(pa.table({"vector": ["a", "b"]}))))
    assert "dimensions" in problem(
        binary(arrow_stream(pa.table({"vector": rows_of([[1, 2], [3, 4]])}))), code="dimension_mismatch"
    )
    missing = pa.array([good[0], None], pa.list_(pa.float32(), 8))
    assert "vector[1]" in problem(binary(arrow_stream(pa.table({"vector": missing}))))
    assert binary(b"no stream").json()["code"] == "malformed_body"
    assert client.put(f"{NOTES}/bank", content=b"x", headers={"Content-Type": "text/csv"}).status_code == 415
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


def test_only_admins_put_a_bank(tmp_path):
    keys = {"write_keys": "writer-0123456789", "admin_keys": "admin-01234567890"}
    small.build_full(tmp_path, "notes")
    with serving_catalog(tmp_path, **keys) as base:
        for key, status in (("writer-0123456789", 403), ("admin-01234567890", 415)):
            headers = {"X-API-Key": key}
            assert httpx.put(f"{base}{NOTES}/bank", headers=headers).status_code == status
            assert httpx.get(f"{base}{NOTES}/bank", headers=headers).status_code == 200
