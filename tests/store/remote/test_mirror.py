import pytest
from support import small
from support.object_storage import ADDRESS, damaging, failing, late_listing

import hubless
from hubless.builder import indexing as shards
from hubless.errors import BundleDamaged, CollectionNotFound, PreconditionFailed, StorageError, VersionNotFound
from hubless.store.bundle import MANIFEST
from hubless.store.remote import objects
from hubless.store.remote.mirror import RemoteCatalog


@pytest.fixture
def built(store, tmp_path):
    made = small.build_full(tmp_path / "here")
    pushed = RemoteCatalog(ADDRESS, tmp_path / "here")
    pushed.push("photos", made.version, None)
    store.faults.clear()
    return pushed, made.version


@pytest.fixture
def other(tmp_path, built):
    return RemoteCatalog(ADDRESS, tmp_path / "there")


def test_pushed_version_is_pulled_byte_for_byte_and_answers(built, other):
    pushed, version = built
    assert other.pull("photos") == version
    assert other.collections() == ["photos"]
    assert small.contents(other.folder / "photos" / "versions") == small.contents(pushed.folder / "photos" / "versions")
    small.check_complete(other.folder)


def test_manifest_comes_after_all_files_and_current_last(store, tmp_path):
    made = small.build_full(tmp_path / "here")
    store.faults.clear()
    RemoteCatalog(ADDRESS, tmp_path / "here").push("photos", made.version, None)
    written = [path.rpartition("/")[2] for method, path in store.faults.asked if method == "PUT"]
    assert written[-2:] == [MANIFEST, "CURRENT"]
    assert set(written[:-2]) == set(made.files)


def test_version_without_a_manifest_is_not_there(store, built, other):
    pushed, version = built
    newer = small.build_full(pushed.folder, data=1)
    store.faults.add(failing(1000, MANIFEST, method="PUT"))
    with pytest.raises(StorageError, match="cannot be reached"):
        pushed.push("photos", newer.version, pushed.tag("photos"))
    assert other.version_ids("photos") == [version]
    assert other.pull("photos") == version
    with pytest.raises(VersionNotFound):
        other.pull("photos", newer.version)


def test_interrupted_push_goes_on_where_it_was(store, built):
    pushed, _ = built
    newer = small.build_full(pushed.folder, data=1)
    fault = store.faults.add(failing(1000, "offsets.npy", method="PUT"))
    with pytest.raises(StorageError):
        pushed.push("photos", newer.version, pushed.tag("photos"))
    store.faults._list.remove(fault)
    before = [path for method, path in store.faults.asked if method == "PUT"]
    store.faults.clear()
    pushed.push("photos", newer.version, pushed.tag("photos"))
    again = {path for method, path in store.faults.asked if method == "PUT"}
    assert "index.faiss" in str(before)
    assert "index.faiss" not in str(again)
    assert pushed.current("photos") == newer.version


def test_push_over_a_version_of_somebody_else_is_refused_and_changes_nothing(built, tmp_path):
    pushed, _ = built
    tag = pushed.tag("photos")
    others = small.build_full(tmp_path / "others", data=1)
    RemoteCatalog(ADDRESS, tmp_path / "others").push("photos", others.version, tag)
    ours = small.build_full(pushed.folder, data=2)
    with pytest.raises(PreconditionFailed, match="CURRENT was changed by somebody else"):
        pushed.push("photos", ours.version, tag)
    assert pushed.current("photos") == others.version
    RemoteCatalog(ADDRESS).rollback("photos", ours.version)  # it is there, and can be taken
    assert pushed.current("photos") == ours.version


def test_interrupted_pull_goes_on_where_it_was(store, built, other, monkeypatch):
    monkeypatch.setattr(objects, "CHUNK", 1000)
    fault = store.faults.add(failing(1000, "payload.arrow"))
    with pytest.raises(StorageError):
        other.pull("photos")
    assert not (other.folder / "photos" / "CURRENT").exists()
    came = [path for _, path in store.faults.asked if path.endswith("index.faiss")]
    store.faults._list.remove(fault)
    store.faults.clear()
    other.pull("photos")
    assert came
    assert not any(path.endswith("index.faiss") for _, path in store.faults.asked)
    small.check_complete(other.folder)


def test_damaged_file_is_refused_and_comes_again_with_the_next_pull(store, built, other, monkeypatch):
    monkeypatch.setattr(objects, "CHUNK", 1000)  # S3 sends no checksum with a part
    store.faults.add(damaging(1, "index.faiss"))
    with pytest.raises(BundleDamaged, match=f"index.faiss.*its hash differs.*as it came from {ADDRESS}"):
        other.pull("photos")
    assert not (other.folder / "photos" / "CURRENT").exists()
    other.pull("photos")
    small.check_complete(other.folder)


@pytest.mark.parametrize("current", ["../../victim", "..", "", "a\0b", "/x"])
def test_current_that_names_no_version_is_refused_and_rollback_mends_it(store, built, other, current):
    _, version = built
    (other.folder.parent / "victim").mkdir()
    (other.folder.parent / "victim" / "file").write_text("mine")
    store.put("some/catalog/photos/CURRENT", current.encode())
    with pytest.raises(BundleDamaged, match="CURRENT: names no version"):
        other.pull("photos")
    assert (other.folder.parent / "victim" / "file").read_text() == "mine"
    assert other.rollback("photos", version) == other.pull("photos") == version


def test_file_that_is_lost_here_is_pulled_again(built, other):
    version = other.pull("photos")
    (other.folder / "photos" / "versions" / version / "index.faiss").unlink()
    other.pull("photos")
    small.check_complete(other.folder)


def test_late_listing_hides_neither_versions_nor_known_collections(store, built, other):
    pushed, _ = built
    other.pull("photos")
    newer = small.build_full(pushed.folder, data=1)
    store.faults.add(late_listing())
    pushed.push("photos", newer.version, pushed.tag("photos"))
    assert other.collections() == ["photos"]
    assert other.pull("photos") == newer.version


def test_unknown_collection_is_not_found_and_an_unknown_bucket_is_named(built, tmp_path):
    pushed, _ = built
    with pytest.raises(CollectionNotFound, match=f"no collection 'other' at {ADDRESS}"):
        pushed.pull("other")
    with pytest.raises(StorageError, match="there is no such bucket"):
        RemoteCatalog("s3://nobody-has-it/c", tmp_path / "x").pull("photos")


def test_files_that_a_version_here_has_are_not_pulled_again(store, tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "SHARD_LEAST", 8)
    here, there = (RemoteCatalog(ADDRESS, tmp_path / name) for name in ("here", "there"))
    first = small.build_full(here.folder, shard_targets=16)
    here.push("photos", first.version, None)
    there.pull("photos")
    index = hubless.open(here.folder, "photos")
    index.remove(["target-39"])
    second = index.save(here.folder, "photos")
    assert second.index.shards == [16, 16, 7]
    here.push("photos", second.version, here.tag("photos"))
    damaged = there.folder / "photos" / "versions" / first.version / "index-001.faiss"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    store.faults.clear()
    assert there.pull("photos") == second.version
    came = {path.rpartition("/")[2] for method, path in store.faults.asked if method == "GET"}
    assert "index-000.faiss" not in came
    assert {"index-001.faiss", "index-002.faiss"} <= came
    small.check_complete(there.folder)
