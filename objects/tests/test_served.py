"""A service whose catalog is in object storage."""

import shutil

import httpx
import pytest
from attack.test_kills import count
from support import object_storage, small
from support.object_storage import ADDRESS, BUCKET, damaging, failing
from support.server_process import served
from support.serving import serving_catalog
from support.until import until
from test_damaged_copies import flip

import hubless
from hubless_objects.mirror import RemoteCatalog
from hubless_service.searching.collection_sources import RemoteSource


@pytest.fixture
def publish(tmp_path):
    """Build a version of other targets for other `data`, at the address; its id."""

    def build(data=0, name="photos"):
        mirror = RemoteCatalog(ADDRESS, tmp_path / "builds")
        made = small.build(tmp_path / "builds", name, data=data)
        mirror.push(name, made.version, mirror.tag(name))
        return made.version

    return build


@pytest.fixture
def source(store, tmp_path):

    def make(seconds=0):
        return RemoteSource(ADDRESS, tmp_path / "served", seconds)

    return make


def test_what_is_here_is_served_while_the_store_is_down(publish, source, store):
    first = publish()
    assert list(source().names()) == ["photos"]
    publish(data=1)
    fault = store.faults.add(failing(10**6))
    again = source()  # a new process
    assert list(again.names()) == ["photos"]
    assert again.open("photos", hashes=True).version == first
    assert "cannot be reached" in again.state.trouble
    synced = again.state.synced
    store.faults._list.remove(fault)
    again.names()
    assert again.current("photos") != first
    assert again.state.trouble == ""
    assert again.state.synced > synced


def test_store_that_is_down_with_nothing_here_is_an_error(source, store):
    store.faults.add(failing(10**6))
    with pytest.raises(hubless.HublessError, match="cannot be reached"):
        source().names()


def test_damaged_version_holds_up_neither_the_old_one_nor_other_collections(publish, source, store):
    first = publish()
    found = source()
    found.names()
    damaged = publish(data=1)
    other = publish(name="other")
    key = f"some/catalog/photos/segments/{damaged}/index.faiss"
    content = store.objects()[key]
    store.put(key, content[:-1] + bytes([content[-1] ^ 1]))
    assert list(found.names()) == ["other", "photos"]
    assert found.current("photos") == first
    assert found.current("other") == other
    assert "index.faiss" in found.state.trouble


def test_current_that_is_no_name_and_damaged_aliases_stop_only_themselves(publish, source, store):
    publish()
    store.put("some/catalog/photos/CURRENT", b"../a\0b")
    store.put("some/catalog/.aliases.json", b"{")
    publish(name="other")
    found = source()
    assert found.names() == ["other"]
    assert "names no version" in found.state.trouble
    assert "is not a file of aliases" in found.state.trouble


def asked(url):
    return httpx.post(f"{url}/v1/collections/photos/query", json={"vector": [1.0] * small.DIM}, timeout=60)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        *((name, "there") for name in ("offsets.npy", "canary.npz", "index.faiss", "manifest.json", "CURRENT")),
        ("offsets.npy", "away"),
        ("offsets.npy", "damaged"),
    ],
)
def test_damaged_copy_is_served_again_once_the_address_has_it(publish, source, store, tmp_path, name, state):
    publish()
    source().names()
    before = small.contents(tmp_path / "served" / "photos")
    flip(next((tmp_path / "served").rglob(name)))
    [(key, sound)] = [item for item in store.objects().items() if item[0].endswith(name)]
    if state == "damaged":
        store.put(key, b"x" * len(sound))
    store.faults.clear()
    if state == "away":
        store.faults.add(failing(10**6))
    with serving_catalog(tmp_path / "served", source(), poll_seconds=0.05) as url:
        if state != "there":
            until(lambda: f"{name}: missing, and it cannot be pulled again" in asked(url).text)
            assert asked(url).status_code == 503
            fetched = [path for method, path in store.faults.asked if method == "GET" and path.endswith(key)]
            assert len(fetched) == (2 if state == "damaged" else 0)
            store.faults.clear()
            store.put(key, sound)
        until(lambda: small.contents(tmp_path / "served" / "photos") == before and asked(url).status_code == 200)


def test_deleted_collection_goes_and_a_late_listing_removes_nothing(publish, source, store):
    publish()
    publish(name="other")
    found = source()
    assert list(found.names()) == ["other", "photos"]
    fault = store.faults.add(object_storage.late_listing())
    assert list(found.names()) == ["other", "photos"]
    store.faults._list.remove(fault)
    store.client().delete_object(Bucket=BUCKET, Key="some/catalog/other/CURRENT")
    assert list(found.names()) == ["photos"]


def test_copies_are_the_current_version_and_the_one_before(publish, source):
    found, versions = source(), []
    for data in range(3):
        versions.append(publish(data=data))
        found.names()
    assert list(found.version_ids("photos")) == versions[1:]


def test_workers_share_what_one_of_them_brings(publish, source, store):
    publish()
    first, second = source(seconds=1000), source(seconds=1000)
    first.names()
    second.names()
    store.faults.clear()
    publish(data=1)
    store.faults.clear()
    second.names()
    assert store.faults.asked == []


def test_aliases_that_are_moved_at_the_address_are_followed(publish, source):
    publish()
    publish(name="other")
    remote = hubless.RemoteCatalog(ADDRESS)
    found = source()
    for collection in ("photos", "other"):
        remote.set_alias("best", collection)
        found.names()
        assert found.aliases()["best"].collection == collection
    remote.remove_alias("best")
    found.names()
    assert not found.aliases()


def test_service_serves_follows_survives_and_says_so(publish, store, tmp_path):
    first = publish()
    with served(ADDRESS, cache=tmp_path / "cache", poll_seconds=0.2) as server:

        def ready():
            return httpx.get(f"{server.url}/readyz", timeout=60).json()

        assert ready()["store"]["address"] == ADDRESS
        assert ready()["store"]["trouble"] is None
        assert asked(server.url).json()["version"] == first
        assert server.metrics()["hubless_store_failing"] == 0
        second = publish(data=1)
        until(lambda: asked(server.url).json()["version"] == second)

        store.faults.add(damaging(10**6, "nothing"))
        store.faults.add(failing(10**6, "catalog", status="403 Forbidden", code="AccessDenied"))
        until(lambda: "no permission" in str(ready()["store"]["trouble"]))
        assert ready()["status"] == "ready"
        assert asked(server.url).status_code == 200
        assert server.metrics()["hubless_store_failing"] == 1

        refused = httpx.put(f"{server.url}/v1/collections/photos/points", json={"points": []}, timeout=60)
        assert refused.status_code == 403
        assert f"The catalog is at {ADDRESS}. Change it by hubless build" in refused.json()["detail"]
    shutil.rmtree(tmp_path / "cache")


def test_workers_over_a_bucket_count_together(store, tmp_path):
    mirror = RemoteCatalog(ADDRESS, tmp_path / "builds")
    made = small.build(tmp_path / "builds", "photos")
    mirror.push("photos", made.version, mirror.tag("photos"))
    count(ADDRESS, cache=tmp_path / "cache")
