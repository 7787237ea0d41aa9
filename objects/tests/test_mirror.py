import threading

import pytest
from support import small
from support.object_storage import ADDRESS, damaging, failing, late_listing

from hubless.errors import BundleDamaged, CollectionNotFound, PreconditionFailed, StorageError, VersionNotFound
from hubless.store.bundle import MANIFEST
from hubless_objects import objects
from hubless_objects.mirror import RemoteCatalog


@pytest.fixture
def built(store, tmp_path):
    made = small.build_full(tmp_path / "here")
    pushed = RemoteCatalog(ADDRESS, tmp_path / "here")
    pushed.push("photos", made.version, None)
    store.faults.clear()
    return pushed, made.version


@pytest.fixture
def other(tmp_path, store):
    return RemoteCatalog(ADDRESS, tmp_path / "there")


def test_pushed_version_is_pulled_byte_for_byte_and_answers(built, other):
    pushed, version = built
    assert other.pull("photos") == version
    assert other.collections() == ["photos"]
    for kind in ("fits", "segments", "versions"):
        assert small.contents(other.folder / "photos" / kind) == small.contents(pushed.folder / "photos" / kind)
    small.check_complete(other.folder)


def test_manifest_comes_after_all_files_and_current_last(store, tmp_path):
    made = small.build_full(tmp_path / "here")
    store.faults.clear()
    RemoteCatalog(ADDRESS, tmp_path / "here").push("photos", made.version, None)
    written = [path.rpartition("/")[2] for method, path in store.faults.asked if method == "PUT"]
    assert written[-2:] == [MANIFEST, "CURRENT"]
    assert set(written[:-2]) == {file.rpartition("/")[2] for file in made.files}


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


def test_version_that_is_pruned_while_it_is_pulled_gives_way_to_the_next(store, built, other):
    pushed, version = built
    newer = small.build_full(pushed.folder, data=1)

    def replace(method, path, query, respond, start_response):
        if method == "GET" and path.endswith("canary.npz"):
            store.faults.clear()
            pushed.push("photos", newer.version, pushed.tag("photos"))
            assert pushed.prune("photos", 1) == [version]

    store.faults.add(replace)
    assert other.pull("photos") == newer.version
    assert small.entries(other.folder) == [newer.version]
    small.check_complete(other.folder)


def test_file_that_comes_damaged_once_is_asked_for_again(store, built, other, monkeypatch):
    monkeypatch.setattr(objects, "CHUNK", 1000)  # S3 sends no checksum with a part
    store.faults.add(damaging(1, "index.faiss"))
    other.pull("photos")
    small.check_complete(other.folder)


def test_file_that_is_damaged_at_the_address_is_fetched_twice_and_then_not_before_it_is_another(store, built, other):
    _, version = built
    key = f"some/catalog/photos/segments/{version}/offsets.npy"
    sound = store.objects()[key]
    store.put(key, sound[:-1] + b"x")
    store.faults.clear()
    for _ in range(3):
        with pytest.raises(BundleDamaged, match=f"offsets.npy: its hash differs.*as it comes from {ADDRESS}"):
            other.pull("photos")
        assert not (other.folder / "photos" / "CURRENT").exists()
    assert len([path for method, path in store.faults.asked if method == "GET" and path.endswith(key)]) == 2
    store.put(key, sound)
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


@pytest.fixture
def merged(store, tmp_path):
    """Two versions of which the second names the segment and the fit of the first, which is at the address."""
    first, second = small.merged(tmp_path / "here")
    here = RemoteCatalog(ADDRESS, tmp_path / "here")
    here.push("photos", first.version, None)
    store.faults.clear()
    return here, first, second


def asked(store, method):
    """The files that were sent or fetched, by path from the collection's folder."""
    paths = [path.partition("/photos/")[2] for verb, path in store.faults.asked if verb == method]
    return {path for path in paths if not path.endswith((MANIFEST, "CURRENT")) and "." in path.rpartition("/")[2]}


def new_of(first, second):
    own = {f"versions/{second.version}/{file}" for file in second.files if "/" not in file}
    return own | {file for file in second.files if "/" in file} - {*first.files}


def test_push_brings_only_what_is_not_there(store, merged):
    here, first, second = merged
    here.push("photos", second.version, here.tag("photos"))
    assert asked(store, "PUT") == new_of(first, second)


def test_pull_brings_only_what_is_not_here(store, merged, other):
    here, first, second = merged
    other.pull("photos")
    here.push("photos", second.version, here.tag("photos"))
    store.faults.clear()
    assert other.pull("photos") == second.version
    assert asked(store, "GET") == new_of(first, second)
    small.check_complete(other.folder)


@pytest.mark.parametrize("end", [b"", b"x"])
def test_segment_that_is_not_whole_here_is_pulled_again_with_the_next_version(store, merged, other, end):
    here, first, second = merged
    other.pull("photos")
    damaged = other.folder / "photos" / "segments" / first.version / "index.faiss"
    damaged.write_bytes(damaged.read_bytes()[:-1] + end)
    here.push("photos", second.version, here.tag("photos"))
    store.faults.clear()
    other.pull("photos")
    assert asked(store, "GET") - new_of(first, second) == {f"segments/{first.version}/index.faiss"}
    small.check_complete(other.folder)


def test_prune_of_the_copies_waits_for_a_pull_and_spares_what_it_brought(store, merged, other):
    here, _, second = merged
    other.pull("photos")
    here.push("photos", second.version, here.tag("photos"))
    pruning = threading.Thread(target=other.catalog.prune, args=("photos", 1))

    def prune(method, path, query, respond, start_response):
        if path.endswith("canary.npz") and not pruning.ident:  # which comes after the segments
            pruning.start()
            pruning.join(0.2)

    store.faults.add(prune)
    assert other.pull("photos") == second.version
    pruning.join()
    assert small.entries(other.folder) == [second.version]
    small.check_complete(other.folder)
