"""When hashes are compared, and what becomes of a version of which they are wrong."""

import shutil
import threading
from time import sleep

import httpx
import numpy as np
import pytest
from support import catalogs
from support.serving import serving_catalog

import hubless
from hubless.errors import StorageError
from hubless.search.parts import Parts

QUERY = "/v1/collections/words/query"
ASK = {"text": "amber"}


@pytest.fixture
def damaged(catalog, tmp_path):
    """A catalog of which one collection has a wrong byte that no canary query notices."""
    copy = shutil.copytree(catalog, tmp_path / "catalog")
    file = hubless.Catalog(copy).folder("words") / "correction.npz"
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
        while (state := state_of(base_url))["status"] == "ready":
            sleep(0.01)
        assert (state["code"], state["detail"][:16]) == ("bundle_damaged", "correction.npz: ")
        assert httpx.post(f"{base_url}{QUERY}", json=ASK).json()["code"] == "bundle_damaged"
        assert state_of(base_url, "numbers")["status"] == "ready"
        while len(checked) < 2:
            sleep(0.01)
    assert sorted(checked) == ["numbers", "words"]


def test_large_collection_delays_the_hashes_of_no_other(damaged, monkeypatch):
    numbers = catalogs.numbers()
    for name in ("a", "z"):
        hubless.build(damaged, name, np.tile(numbers.targets, (20, 1)), numbers.query_bank, progress=False)
    check, gate, in_vain = Parts.check_hashes, threading.Event(), []

    def check_held(parts):
        if len(parts.offsets) > catalogs.COUNT and not gate.wait(20):
            in_vain.append(parts.manifest.collection)
        check(parts)

    monkeypatch.setattr(Parts, "check_hashes", check_held)
    try:
        with serving_catalog(damaged) as base_url:
            while state_of(base_url)["status"] == "ready":
                sleep(0.01)
            assert in_vain == []
            assert state_of(base_url)["code"] == "bundle_damaged"
            assert state_of(base_url, "z")["status"] == "ready"
    finally:
        gate.set()


def test_what_is_verified_first_is_never_served_damaged(damaged, checked):
    with serving_catalog(damaged, verify="first") as base_url:
        assert state_of(base_url)["code"] == "bundle_damaged"
    assert checked == []


def test_what_is_never_verified_is_served_by_sizes_and_canaries(damaged, checked):
    with serving_catalog(damaged, verify="never", poll_seconds=0.02) as base_url:
        assert httpx.post(f"{base_url}{QUERY}", json=ASK).status_code == 200
    assert checked == []


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
        while len(checked) < 2:
            sleep(0.01)
        assert state_of(base_url)["status"] == "ready"
        assert httpx.post(f"{base_url}{QUERY}", json=ASK).status_code == 200
    assert sum("hashes could not be compared" in record.message for record in caplog.records) == 2


def test_catalog_that_is_out_of_reach_just_then_does_not_stop_what_is_served(catalog, tmp_path, monkeypatch, caplog):
    home = shutil.copytree(catalog, tmp_path / "home")
    check = Parts.check_hashes
    tried = []

    def check_elsewhere(parts):
        home.rename(tmp_path / "away")
        try:
            tried.append(parts.manifest.collection)
            check(parts)
        finally:
            monkeypatch.setattr(Parts, "check_hashes", lambda parts: None)

    monkeypatch.setattr(Parts, "check_hashes", check_elsewhere)
    with serving_catalog(home, poll_seconds=0.02) as base_url:
        while not any("hashes could not be compared" in record.message for record in caplog.records):
            sleep(0.01)
        assert state_of(base_url)["status"] == "ready"
        assert httpx.post(f"{base_url}{QUERY}", json=ASK).status_code == 200
    assert tried


@pytest.mark.parametrize(("verify", "warmed"), [("never", True), ("background", True), ("first", False)])
def test_files_are_read_before_the_first_query_unless_their_hashes_were_compared(catalog, monkeypatch, verify, warmed):
    names, warm = [], Parts.warm

    def noting(self):
        names.append(self.manifest.collection)
        warm(self)

    monkeypatch.setattr(Parts, "warm", noting)
    with serving_catalog(catalog, verify=verify):
        assert ("words" in names) == warmed
