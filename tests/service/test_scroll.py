"""Scroll gives each target once, whoever answers a page; and writes to a version that is deleted while it is served."""

from contextlib import ExitStack

import httpx
import pytest
from support import small, writing
from support.contract import code_of
from support.serving import serving_catalog
from support.until import until
from support.writing import NAME, model, point, put_points, scrolled

import hubless
from hubless.search.transaction import WritableCollection
from hubless_service.searching.collection_sources import CatalogSource


def ids(points):
    return sorted(each["id"] for each in points)


def write_again_and_again(client, count=40):
    """Targets that replace each other, so that how many ever came depends on who counts. Return which are there."""
    for number in range(count):
        points = [point(f"a-{number % 25}", number), point(f"b-{number * 7 % 25}", number)]
        put_points(client, *points).raise_for_status()
    client.post("/points/delete", json={"ids": ["a-3", "target-9"]}).raise_for_status()
    stored = {*small.IDS, *(f"a-{number % 25}" for number in range(count))}
    return stored.union(f"b-{number * 7 % 25}" for number in range(count)) - {"a-3", "target-9"}


def test_scroll_goes_on_after_another_version_was_served_for_a_while(tmp_path):
    first, second = writing.build(tmp_path), writing.build(tmp_path)
    catalog = hubless.Catalog(tmp_path)
    catalog.rollback(NAME, first.version)
    with writing.writable(tmp_path) as client:
        stored = write_again_and_again(client)
        halfway = client.post("/scroll", json={"limit": 50}).json()
        for version in (second.version, first.version):
            catalog.rollback(NAME, version)
            until(lambda version=version: client.post("/count").json()["version"] == version)
            if version == second.version:
                answer = client.post("/scroll", json={"cursor": halfway["cursor"]})
                assert code_of(answer) == (410, "cursor_expired")
        assert ids(scrolled(client, page=halfway, limit=7)) == sorted(stored)


def test_cursor_of_writes_that_are_not_there_any_more_is_told_so(tmp_path):
    writing.build(tmp_path)
    with writing.writable(tmp_path) as client:
        write_again_and_again(client, 10)
        cursor = client.post("/scroll", json={"limit": 5}).json()["cursor"]
    for left in (tmp_path / NAME).glob("log.sqlite*"):
        left.unlink()
    with writing.writable(tmp_path) as client:
        answer = client.post("/scroll", json={"limit": 5, "cursor": cursor})
    assert code_of(answer) == (410, "cursor_expired")


class MadeAnew(CatalogSource):
    """Collections of which one is deleted and made anew when either its version or its log has been opened."""

    opened = 0

    def open(self, name, *, hashes, known=None):
        self._make_anew(name)
        return super().open(name, hashes=hashes, known=known)

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
    with ExitStack() as opened:

        def start(source):
            serving = serving_catalog(source.path, source, hubness=False, poll_seconds=3600)
            url = opened.enter_context(serving)
            return httpx.Client(base_url=f"{url}/v1/collections/{NAME}", timeout=60)

        yield start


def test_version_and_log_are_of_the_same_collection_though_it_is_made_anew_meanwhile(tmp_path, client_of):
    writing.build(tmp_path)
    MadeAnew.opened = 0
    with client_of(MadeAnew(tmp_path)) as client:
        answer = put_points(client, point("new", 1))
        assert (answer.status_code, answer.json().get("seq")) == (200, 1)
    assert hubless.open(tmp_path, NAME).seq == 1


def test_write_to_a_version_that_was_pruned_waits_for_the_newer_one(tmp_path, client_of):
    before = writing.build(tmp_path)
    with client_of(CatalogSource(tmp_path)) as client:
        writing.build(tmp_path)
        hubless.Catalog(tmp_path).prune(NAME, keep=1)
        answer = put_points(client, point("new", 1))
        assert code_of(answer) == (503, "not_ready")
        assert answer.headers["Retry-After"] == "1"
        answer = until(lambda: (answer := put_points(client, point("new", 1))).is_success and answer)
        assert answer.json()["seq"] == 1
        assert client.post("/count").json()["version"] != before.version
    assert hubless.open(tmp_path, NAME).seq == 1


@pytest.mark.parametrize("cut", [False, True])
def test_open_takes_the_newer_version_if_its_own_is_merged_and_pruned_meanwhile(tmp_path, client_of, monkeypatch, cut):
    writing.build(tmp_path)
    with client_of(CatalogSource(tmp_path)) as client:
        assert put_points(client, point("new", 1)).is_success
    catch_up, followed, catalog = WritableCollection.catch_up, [], hubless.Catalog(tmp_path)

    def merged_before(written):
        if not followed:
            followed.append(written.base)
            hubless.merge(tmp_path, NAME)
            catalog.prune(NAME, keep=1)
            if cut:
                catalog.cut_log(NAME)
        return catch_up(written)

    monkeypatch.setattr(WritableCollection, "catch_up", merged_before)
    with hubless.open(tmp_path, NAME) as opened:
        # all that the version before needs is in the newer one, too
        assert (opened.seq, opened.count) == (1, len(model()) + 1)
