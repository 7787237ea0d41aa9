"""New versions take over while queries are answered."""

import asyncio
import gc
import threading
import weakref
from contextlib import ExitStack

import httpx
import pytest
from support import versions
from support.serving import serving_catalog
from support.until import until
from support.versions import ASK

import hubless
from hubless_service.searching.collection_sources import CatalogSource

QUERY = f"/v1/collections/{versions.NAME}/query"
HELD = {**ASK, "limit": 3}
CONNECTIONS = 8


class Remembering:
    """A catalog's collections, and whether those that were opened are still there."""

    def __init__(self, path):
        self._source = CatalogSource(path)
        self._opened = []

    def __getattr__(self, name):
        return getattr(self._source, name)

    def open(self, name, *, hashes, known=None):
        collection = self._source.open(name, hashes=hashes, known=known)
        self._opened.append(weakref.ref(collection))
        return collection

    def held(self):
        gc.collect()
        return [collection.version for opened in self._opened if (collection := opened())]


@pytest.fixture
def watching(tmp_path):
    """Start a server that looks often, over a catalog with versions; its address and what it holds."""
    with ExitStack() as running:

        def start(**settings):
            source = Remembering(tmp_path)
            base_url = running.enter_context(serving_catalog(tmp_path, source, poll_seconds=0.02, **settings))
            return base_url, source

        yield start


def state_of(base_url):
    return httpx.get(f"{base_url}/readyz").json()["collections"].get(versions.NAME, {})


def wait_for(base_url, version):
    """Wait until a version is served, and none is refused."""
    until(lambda: (state := state_of(base_url)).get("version") == version and "refused" not in state)


def wait_until_refused(base_url, version):
    return until(lambda: (state := state_of(base_url)).get("refused", {}).get("version") == version and state)


def wait_until_answered(seen, version):
    until(lambda: version in {answered for _, answered, *_ in set(seen)})


async def ask_until(stop, base_url, seen):
    async with httpx.AsyncClient(base_url=base_url, timeout=30) as client:
        while not stop.is_set():
            answer = await client.post(QUERY, json=ASK)
            document = answer.json()
            seen.add(
                (answer.status_code, document["version"], *{hit["id"] // versions.STEP for hit in document["hits"]})
            )


async def under_load(base_url, change):
    """Run change(seen) in a thread while 8 connections ask; seen has each (status, version, numbers in the hits)."""
    stop, seen = asyncio.Event(), set()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONNECTIONS):
            group.create_task(ask_until(stop, base_url, seen))
        try:
            await asyncio.to_thread(change, seen)
        finally:
            stop.set()
    return seen


def test_versions_change_under_load_without_a_failed_or_a_mixed_answer(tmp_path, watching):
    *sound, corrupt = versions.build(tmp_path, 6)
    versions.corrupt(tmp_path, corrupt)
    versions.activate(tmp_path, sound[0])
    base_url, source = watching()

    def change(seen):
        wait_until_answered(seen, sound[0])
        for number, version in enumerate(sound[1:]):
            if number == 0:
                versions.activate(tmp_path, corrupt)
                assert wait_until_refused(base_url, corrupt)["version"] == sound[0]
            versions.activate(tmp_path, version)
            wait_for(base_url, version)
            wait_until_answered(seen, version)

    seen = asyncio.run(under_load(base_url, change))
    assert seen == {(200, version, number) for number, version in enumerate(sound)}
    until(lambda: source.held() == [sound[-1]])


def test_refused_version_is_told_everywhere_and_the_old_one_serves_on(tmp_path, watching, caplog):
    old, new = versions.build(tmp_path, 2)
    versions.corrupt(tmp_path, new)
    versions.activate(tmp_path, old)
    base_url, _ = watching()
    versions.activate(tmp_path, new)
    state = wait_until_refused(base_url, new)
    assert (state["status"], state["version"]) == ("ready", old)
    assert state["refused"]["code"] == "bundle_damaged"
    assert state["refused"]["detail"].startswith("index.faiss: ")
    assert httpx.post(f"{base_url}{QUERY}", json=ASK).json()["version"] == old
    listed = httpx.get(f"{base_url}{QUERY}".replace("query", "versions")).json()["versions"]
    assert [(each["version"], each["state"], each["current"]) for each in listed] == [
        (old, "served", False),
        (new, "refused", True),
    ]
    assert listed[1]["detail"] == state["refused"]["detail"]
    page = httpx.get(f"{base_url}/metrics").text
    for version, told in ((old, "served"), (new, "refused")):
        assert f'hubless_version_info{{collection="songs",state="{told}",version="{version}"}} 1.0' in page
    # once, not at every look
    told = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(told) == 1
    versions.activate(tmp_path, old)
    wait_for(base_url, old)


def test_request_that_has_begun_ends_on_its_version(tmp_path, watching, monkeypatch):
    """Its payload and the name of its version too, though a new one has taken over meanwhile."""
    old, new = versions.build(tmp_path, 2)
    versions.activate(tmp_path, old)
    begun, free, ask = threading.Event(), threading.Event(), hubless.Collection.query

    def slow(self, vectors, limit=10, *args, **options):
        if self.version == old and limit == HELD["limit"]:
            begun.set()
            assert free.wait(20)
        return ask(self, vectors, limit, *args, **options)

    monkeypatch.setattr(hubless.Collection, "query", slow)
    base_url, source = watching(search_threads=2)

    async def run():
        async with httpx.AsyncClient(base_url=base_url, timeout=30) as client:
            first = asyncio.create_task(client.post(QUERY, json=HELD))
            assert await asyncio.to_thread(begun.wait, 20)
            versions.activate(tmp_path, new)
            await asyncio.to_thread(wait_for, base_url, new)
            second = await client.post(QUERY, json=ASK)
            assert not first.done()
            free.set()
            return (await first).json(), second.json()

    first, second = asyncio.run(run())
    assert (first["version"], {hit["id"] // versions.STEP for hit in first["hits"]}) == (old, {0})
    assert (second["version"], {hit["id"] // versions.STEP for hit in second["hits"]}) == (new, {1})
    until(lambda: source.held() == [new])


def test_what_is_served_is_served_on_when_the_catalog_cannot_be_read(tmp_path, watching):
    versions.build(tmp_path / "catalog", 1)
    with serving_catalog(tmp_path / "catalog", poll_seconds=0.02) as base_url:
        (tmp_path / "catalog").rename(tmp_path / "elsewhere")
        until(lambda: httpx.get(f"{base_url}/v1/collections/other").json()["code"] == "storage")
        assert httpx.get(f"{base_url}/readyz").status_code == 200
        assert httpx.post(f"{base_url}{QUERY}", json=ASK).status_code == 200
        (tmp_path / "elsewhere").rename(tmp_path / "catalog")
        until(lambda: httpx.get(f"{base_url}/v1/collections/other").json()["code"] == "collection_not_found")
