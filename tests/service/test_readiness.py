"""The service says what it can serve, while it loads and when something is broken."""

import threading
from pathlib import Path

import httpx
import pytest
from support import catalogs, small
from support.contract import code_of
from support.serving import serving_catalog, wait_until_ready
from support.sources import Source
from support.until import until

import hubless
from hubless.errors import BundleDamaged, StorageError, UnsupportedBundle, VersionNotFound

SECRET = Path("/srv/secret/catalog/words/versions/1/index.faiss")
ASK = {"text": "amber"}


def status_of(client, name):
    return client.get("/readyz").json()["collections"].get(name, {}).get("status")


def ask_all(client, name):
    """What a collection answers to requests of all kinds."""
    path = f"/v1/collections/{name}"
    yield client.get(path)
    yield client.get(f"{path}/points/target-50")
    for end, body in (("query", ASK), ("query/batch", {"queries": [ASK]}), ("count", {})):
        yield client.post(f"{path}/{end}", json=body)


def test_nothing_is_served_before_it_is_loaded(serve, words):
    with serve({"words": words}, held=True) as (client, source):
        pages = [client.get(path) for path in ("/readyz", "/v1/collections", "/v1/collections/no-such")]
        for answer in (*pages, *ask_all(client, "words")):
            assert code_of(answer) == (503, "not_ready")
            assert int(answer.headers["retry-after"]) > 0
        assert client.get("/livez").json() == {"status": "ok"}
        assert client.get("/readyz").json()["collections"] == {"words": {"status": "loading"}}
        source.gate.set()
        ready = wait_until_ready(str(client.base_url).rstrip("/"))
        assert ready.json() == {
            "status": "ready",
            "collections": {"words": {"status": "ready", "version": words.version, "count": catalogs.COUNT}},
        }
        assert client.post("/v1/collections/words/query", json=ASK).status_code == 200
        assert code_of(client.get("/v1/collections/no-such")) == (404, "collection_not_found")


def test_canaries_that_fail_keep_a_collection_from_being_served(serve, words, monkeypatch):
    def fail():
        raise BundleDamaged(SECRET.with_name("canary.npz"), "canary queries reach a recall of 0.100")

    monkeypatch.setattr(words, "check_canaries", fail)
    with serve({"words": words}) as (client, _):
        assert code_of(client.get("/readyz")) == (503, "not_ready")
        assert code_of(client.post("/v1/collections/words/query", json=ASK)) == (503, "bundle_damaged")


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (BundleDamaged(SECRET, "has 5 bytes, the manifest says 7"), 503, "bundle_damaged"),
        (UnsupportedBundle(SECRET, "has format 9"), 503, "unsupported_bundle"),
        (StorageError(SECRET, "no permission"), 503, "storage"),
        (VersionNotFound("/srv/secret/catalog has no version 1"), 500, "internal_error"),
        (RuntimeError("password=hunter2"), 500, "internal_error"),
    ],
)
def test_broken_collection_is_reported_and_the_others_serve_on(serve, words, caplog, failure, status, code):
    with serve({"broken": failure, "words": words}) as (client, _):
        ready = client.get("/readyz")
        assert ready.status_code == 200
        states = ready.json()["collections"]
        assert {name: state["status"] for name, state in states.items()} == {"broken": "failed", "words": "ready"}
        assert states["broken"]["code"] == code

        for answer in ask_all(client, "broken"):
            assert code_of(answer) == (status, code)
            assert "retry-after" not in answer.headers  # waiting does not help
            assert "secret" not in answer.text
            assert "hunter2" not in answer.text

        assert client.post("/v1/collections/words/query", json=ASK).status_code == 200
        assert [info["name"] for info in client.get("/v1/collections").json()["collections"]] == ["words"]
    assert f'collection "broken" cannot be served: {failure}' in caplog.text


def test_server_without_one_sound_collection_is_not_ready(serve):
    with serve({"broken": BundleDamaged(SECRET, "missing")}) as (client, _):
        answer = client.get("/readyz")
        assert code_of(answer) == (503, "not_ready")
        assert "retry-after" not in answer.headers
        assert answer.json()["collections"]["broken"]["detail"] == "index.faiss: missing"


def test_missing_catalog_is_told_by_every_endpoint_that_needs_it(serve, caplog):
    with serve(StorageError("/srv/secret/catalog", "there is no catalog here")) as (client, _):
        answer = client.get("/readyz")
        assert code_of(answer) == (503, "not_ready")
        assert answer.json()["detail"] == "catalog: there is no catalog here"
        assert code_of(client.get("/v1/collections")) == (503, "storage")
        assert code_of(client.post("/v1/collections/words/query", json=ASK)) == (503, "storage")
        assert client.get("/livez").status_code == 200
    assert "the catalog cannot be served: /srv/secret/catalog: there is no catalog here" in caplog.text


def test_collection_that_takes_long_to_open_at_the_start_holds_up_no_other(serve, words):
    with serve({"large": words, "words": words}, held=True) as (client, source):
        source.gates["large"] = threading.Event()
        source.gate.set()
        try:
            until(lambda: status_of(client, "words") == "ready")
            assert client.post("/v1/collections/words/query", json=ASK).status_code == 200
            assert code_of(client.get("/readyz")) == (503, "not_ready")  # it would say 200 for both
            assert code_of(client.post("/v1/collections/large/query", json=ASK)) == (503, "not_ready")
        finally:
            source.gates["large"].set()
        wait_until_ready(str(client.base_url).rstrip("/"))
        assert client.post("/v1/collections/large/query", json=ASK).status_code == 200


def test_collection_that_comes_later_and_takes_long_to_open_holds_up_no_other(serve, words):
    with serve({"words": words}, poll_seconds=0.02) as (client, source):
        source.gates["large"] = threading.Event()
        source.served["large"] = words
        until(lambda: status_of(client, "large"))
        try:
            source.served["small"] = words
            until(lambda: status_of(client, "small") == "ready")
            del source.served["small"]
            until(lambda: status_of(client, "small") is None)
        finally:
            source.gates["large"].set()
        until(lambda: status_of(client, "large") == "ready")


def test_version_that_is_pruned_while_it_is_opened_gives_way_to_the_next_at_once(catalog):
    words = hubless.open(catalog, "words")

    class Merged(Source):
        now = "before"

        def current(self, name):
            return self.now

        def open(self, name, *, hashes, known=None):
            if self.now == "before":
                self.now = words.version
                raise StorageError(catalog / "index.faiss", "no such file or folder")
            return super().open(name, hashes=hashes, known=known)

    with serving_catalog(catalog, Merged({"words": words}), poll_seconds=1000) as url:
        ready = httpx.get(f"{url}/readyz")
    assert (ready.status_code, ready.json()["collections"]["words"]["version"]) == (200, words.version)


def test_empty_catalog_is_ready_with_nothing_to_serve_until_the_first_collection_comes(tmp_path, caplog, contract):
    caplog.set_level("INFO", "hubless.catalog")
    catalog = tmp_path / "catalog"
    catalog.mkdir()
    with serving_catalog(catalog, poll_seconds=0.05) as url, httpx.Client(base_url=url) as client:
        ready = client.get("/readyz")
        assert ready.status_code == 200
        assert ready.json() == {
            "status": "ready",
            "note": "There is nothing to serve: the catalog is empty. Build a collection with hubless build.",
            "collections": {},
        }
        assert client.get("/v1/collections").json()["collections"] == []
        (line,) = (record for record in caplog.records if record.name == "hubless.catalog")
        assert (line.levelname, line.getMessage()) == (
            "WARNING",
            "There is nothing to serve: the catalog is empty. Build a collection with hubless build. "
            "It is served within 0.05 s.",
        )
        small.build(catalog, "first")
        until(lambda: status_of(client, "first") == "ready")
        assert "note" not in client.get("/readyz").json()
        query = {"vector": small.targets()[0].tolist(), "limit": 2}
        assert len(client.post("/v1/collections/first/query", json=query).json()["hits"]) == 2
