"""Versions as they are opened: when hashes are compared, and what becomes of those of which they are wrong."""

import ast
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import httpx
import numpy as np
import pytest
from support import small, writing
from support.serving import serving_catalog
from support.until import until
from support.writing import NAME

import hubless
from hubless.errors import BundleDamaged, StorageError
from hubless.search.parts import Parts
from hubless.store.bundle import path_of
from hubless_service.searching.collection_sources import CatalogSource

QUERY = "/v1/collections/words/query"
ASK = {"text": "amber"}


@pytest.fixture
def damaged(catalog, tmp_path):
    """A catalog of which one collection has a wrong byte that no canary query notices."""
    copy = shutil.copytree(catalog, tmp_path / "catalog")
    folder = hubless.Catalog(copy).folder("words")
    file = path_of(folder, f"fits/{folder.name}/correction.npz")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    return copy


@pytest.fixture
def checked(monkeypatch):
    """The names of collections of which the hashes were compared after they had been opened."""
    names, check = [], Parts.check_hashes

    def noting(self):
        try:
            check(self)
        finally:
            names.append(self.manifest.collection)

    monkeypatch.setattr(Parts, "check_hashes", noting)
    return names


def state_of(base_url, name="words"):
    return httpx.get(f"{base_url}/readyz").json()["collections"][name]


def test_what_hashes_prove_damaged_in_the_background_is_served_no_longer(damaged, checked):
    with serving_catalog(damaged) as base_url:
        state = until(lambda: (state := state_of(base_url))["status"] != "ready" and state)
        assert (state["code"], state["detail"][:16]) == ("bundle_damaged", "correction.npz: ")
        assert httpx.post(f"{base_url}{QUERY}", json=ASK).json()["code"] == "bundle_damaged"
        assert state_of(base_url, "numbers")["status"] == "ready"
        until(lambda: len(checked) == 2)
    assert sorted(checked) == ["numbers", "words"]


def test_collection_that_comes_later_waits_for_its_hashes(damaged, tmp_path):
    later = damaged.joinpath("words").rename(tmp_path / "words")
    with serving_catalog(damaged, poll_seconds=0.02) as base_url:
        later.rename(damaged / "words")
        while (state := httpx.get(f"{base_url}/readyz").json()["collections"].get("words", {})).get("code") is None:
            assert state.get("status") != "ready"
    assert state["code"] == "bundle_damaged"


def test_disk_that_cannot_be_read_just_then_does_not_stop_what_is_served(catalog, checked, monkeypatch, caplog):
    def refuse(folder, manifest, *, hashes=True):
        if hashes:
            raise StorageError(folder, "too many open files")

    monkeypatch.setattr("hubless.search.parts.verify", refuse)
    with serving_catalog(catalog, poll_seconds=0.02) as base_url:
        until(lambda: len(checked) == 2)
        assert state_of(base_url)["status"] == "ready"
        assert httpx.post(f"{base_url}{QUERY}", json=ASK).status_code == 200
    assert sum("hashes could not be compared" in record.message for record in caplog.records) == 2


@pytest.fixture
def unsafe(monkeypatch):
    """`ast.literal_eval` as it is there: not to be used by two threads."""
    using, evaluate = Lock(), ast.literal_eval

    def literal_eval(text):
        if not using.acquire(blocking=False):
            raise SystemError("AST constructor recursion depth mismatch")
        try:
            time.sleep(0.001)
            return evaluate(text)
        finally:
            using.release()

    monkeypatch.setattr(ast, "literal_eval", literal_eval)


def test_collections_are_opened_side_by_side(tmp_path, unsafe):
    for number in range(4):
        small.build_full(tmp_path, f"photos-{number}", correction="dis")
    with ThreadPoolExecutor(4) as threads:
        opened = [*threads.map(lambda number: hubless.open(tmp_path, f"photos-{number % 4}"), range(12))]
        hits = [*threads.map(lambda each: each.query(np.ones(small.DIM)).ids[0], opened)]
    assert len(hits) == 12


def test_an_opening_that_fails_once_is_tried_again(tmp_path, monkeypatch):
    writing.build(tmp_path)
    fails = [BundleDamaged(tmp_path / "occurrence.npz", "cannot be read")]
    open_once = CatalogSource.open

    def opened(self, name, *, hashes, known=None):
        if fails:
            raise fails.pop()
        return open_once(self, name, hashes=hashes, known=known)

    monkeypatch.setattr(CatalogSource, "open", opened)
    with writing.writable(tmp_path) as client:
        answer = client.post("/count")
    assert (answer.status_code, answer.json()["collection"]) == (200, NAME)
    assert not fails
