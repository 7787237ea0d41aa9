"""Writes to a version that is deleted while it is served."""

import httpx
import pytest
from support import writing
from support.serving import serving, wait_until_ready
from support.until import until
from support.writing import NAME, point

import hubless
from hubless_service.app import create_app
from hubless_service.searching.collection_sources import CatalogSource
from hubless_service.searching.search_service import SearchService
from hubless_service.settings import Settings


class MadeAnew(CatalogSource):
    """Collections of which one is deleted and made anew when either its version or its log has been opened."""

    opened = 0

    def open(self, name, *, hashes):
        self._make_anew(name)
        return super().open(name, hashes=hashes)

    def log(self, name):
        self._make_anew(name)
        return super().log(name)

    def _make_anew(self, name):
        MadeAnew.opened += 1
        if MadeAnew.opened == 2:
            self.delete(name)
            writing.build(self.path)


@pytest.fixture
def client_of():
    """Give a client of a server that looks at the catalog when it begins, and when it is told to."""
    opened = []

    def start(source):
        table = Settings(catalog=source.path, hubness=False, poll_seconds=3600)
        context = serving(create_app(table, SearchService(source, table)))
        url = context.__enter__()
        opened.append(context)
        wait_until_ready(url)
        return httpx.Client(base_url=f"{url}/v1/collections/{NAME}", timeout=60)

    yield start
    for context in opened:
        context.__exit__(None, None, None)


def test_version_and_log_are_of_the_same_collection_though_it_is_made_anew_meanwhile(tmp_path, client_of):
    writing.build(tmp_path)
    MadeAnew.opened = 0
    with client_of(MadeAnew(tmp_path)) as client:
        answer = client.put("/points", json={"points": [point("new", 1)]})
        assert (answer.status_code, answer.json().get("seq")) == (200, 1)
    assert hubless.open(tmp_path, NAME).seq == 1


def test_write_to_a_version_that_was_pruned_waits_for_the_newer_one(tmp_path, client_of):
    before = writing.build(tmp_path)
    with client_of(CatalogSource(tmp_path)) as client:
        writing.build(tmp_path)
        hubless.Catalog(tmp_path).prune(NAME, keep=1)
        answer = client.put("/points", json={"points": [point("new", 1)]})
        assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
        assert answer.headers["Retry-After"] == "1"
        answer = until(
            lambda: (answer := client.put("/points", json={"points": [point("new", 1)]})).is_success and answer
        )
        assert answer.json()["seq"] == 1
        assert client.post("/count").json()["version"] != before.version
    assert hubless.open(tmp_path, NAME).seq == 1


def test_followed_write_of_a_version_that_was_pruned_needs_the_newer_one(tmp_path, client_of):
    writing.build(tmp_path)
    with client_of(CatalogSource(tmp_path)) as client:
        writing.build(tmp_path)
        hubless.Catalog(tmp_path).prune(NAME, keep=1)
        with writing.writable(tmp_path) as other:
            other.put("/points", json={"points": [point("new", 1)]}).raise_for_status()
        assert until(lambda: client.post("/count").json()["count"]) == hubless.open(tmp_path, NAME).count
        until(lambda: client.get("/points/new").is_success)


def test_open_takes_the_newer_version_if_its_own_is_merged_and_pruned_meanwhile(tmp_path, client_of, monkeypatch):
    writing.build(tmp_path)
    with client_of(CatalogSource(tmp_path)) as client:
        assert client.put("/points", json={"points": [point("new", 1)]}).is_success
    follow, followed = hubless.Index.follow, []

    def merged_before(index, *given):
        if not followed:
            followed.append(index)
            hubless.merge(tmp_path, NAME)
            hubless.Catalog(tmp_path).prune(NAME, keep=1)
        return follow(index, *given)

    monkeypatch.setattr(hubless.Index, "follow", merged_before)
    with hubless.open(tmp_path, NAME) as opened:
        assert (opened.seq, opened.parts.added) == (1, 0)
        assert opened.version != followed[0].version
