import pytest
from support import small
from support.object_storage import ADDRESS, failing

import hubless
from hubless.errors import (
    AliasNotFound,
    BundleDamaged,
    CollectionNotFound,
    InputError,
    PreconditionFailed,
    StorageError,
    VersionNotFound,
)
from hubless.store.bundle import MANIFEST

HOME = "some/catalog/photos"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    return folder, [small.build(folder, data=data).version for data in range(3)]


@pytest.fixture
def there(store, made):
    folder, versions = made
    for kind in ("fits", "segments", "versions"):
        store.put_folder(folder / "photos" / kind, f"{HOME}/{kind}")
    store.put(f"{HOME}/CURRENT", versions[-1].encode())
    store.faults.clear()
    return versions


@pytest.fixture
def remote(there):
    return hubless.RemoteCatalog(ADDRESS)


def complete(store):
    return [key.split("/")[4] for key in store.objects() if key.endswith(f"/{MANIFEST}")]


def left(store, version):
    return [key for key in store.objects() if f"/{version}/" in key]


def test_roll_back_takes_the_version_before_or_a_named_one(remote, there):
    assert remote.rollback("photos") == there[1]
    assert hubless.open(ADDRESS, "photos").version == there[1]
    assert remote.rollback("photos", there[2]) == remote.current("photos") == there[2]
    for wrong in ("20200101T000000000000-000000", "../x"):
        with pytest.raises(VersionNotFound):
            remote.rollback("photos", wrong)


def test_roll_back_to_a_version_that_lacks_a_file_changes_nothing(remote, there, store):
    store.client().delete_object(Bucket="hubless", Key=f"{HOME}/segments/{there[0]}/offsets.npy")
    with pytest.raises(BundleDamaged, match=r"offsets.npy: is not there"):
        remote.rollback("photos", there[0])
    assert remote.current("photos") == there[2]


def test_roll_back_to_a_version_that_is_pruned_at_that_moment_is_undone(remote, there, store):
    def prune(method, path, query, respond, start_response):
        if method == "PUT" and path.endswith("CURRENT"):
            store.faults.clear()
            store.client().delete_object(Bucket="hubless", Key=f"{HOME}/versions/{there[0]}/{MANIFEST}")

    store.faults.add(prune)
    with pytest.raises(VersionNotFound):
        remote.rollback("photos", there[0])
    assert remote.current("photos") == there[2]


def test_alias_is_set_moved_and_removed_and_opens_its_collection(remote, there):
    first = remote.set_alias("live", "photos", expected=0)
    moved = remote.set_alias("live", "photos", expected=first.revision)
    assert moved.revision == first.revision + 1
    assert remote.aliases() == {"live": moved}
    assert hubless.open(ADDRESS, "live").version == there[2]
    for expected in (0, first.revision):
        with pytest.raises(PreconditionFailed, match=f"has revision {moved.revision}, and not {expected}"):
            remote.set_alias("live", "photos", expected=expected)
    assert remote.remove_alias("live") == moved
    assert remote.aliases() == {}
    with pytest.raises(AliasNotFound):
        remote.remove_alias("live")


def test_alias_of_nothing_or_with_a_name_that_is_taken_is_refused(remote):
    with pytest.raises(CollectionNotFound):
        remote.set_alias("live", "nothing")
    with pytest.raises(InputError, match="a name that no collection has"):
        remote.set_alias("photos", "photos")
    with pytest.raises(InputError, match="alias: expected 1 to 64 letters"):
        remote.set_alias("../x", "photos")


def test_collection_cannot_get_the_name_of_an_alias(remote):
    remote.set_alias("live", "photos")
    with pytest.raises(InputError, match="collection: expected a name that is no alias"):
        small.build(ADDRESS, "live")


def test_alias_that_another_sets_meanwhile_is_kept(remote, store):
    def another(method, path, query, respond, start_response):
        if method == "PUT" and path.endswith(".aliases.json"):
            store.faults.clear()
            hubless.RemoteCatalog(ADDRESS).set_alias("other", "photos")

    store.faults.add(another)
    mine = remote.set_alias("mine", "photos")
    assert {name: alias.revision for name, alias in remote.aliases().items()} == {"mine": 2, "other": 1}
    assert mine.revision == 2


def test_damaged_aliases_are_named_and_not_overwritten(remote, store):
    store.put("some/catalog/.aliases.json", b"no")
    with pytest.raises(StorageError, match=rf"{ADDRESS}/.aliases.json: is not a file of aliases"):
        remote.set_alias("live", "photos")
    assert store.objects()["some/catalog/.aliases.json"] == b"no"


def test_prune_deletes_all_but_the_newest_and_the_current(remote, there, store):
    remote.rollback("photos", there[0])
    remote.rollback("photos", there[1])
    assert remote.prune("photos", 1) == [there[0]]
    assert complete(store) == there[1:]
    assert not left(store, there[0])
    assert remote.prune("photos", 1) == []
    with pytest.raises(InputError, match="keep"):
        remote.prune("photos", 0)


@pytest.fixture
def merged(store, tmp_path):
    """Two versions that share a segment and a fit, both at the address."""
    made = small.merged(tmp_path / "here")
    for version in made:
        here = hubless.RemoteCatalog(ADDRESS, tmp_path / "here")
        here.push("photos", version.version, here.tag("photos"))
    store.faults.clear()
    return made


def test_prune_leaves_what_another_version_names_and_deletes_what_none_does(merged, store, tmp_path):
    first, second = merged
    remote = hubless.RemoteCatalog(ADDRESS, tmp_path / "there")
    store.put(f"{HOME}/segments/20200101T000000000000-000000/ids.arrow", b"left by a push")
    store.put(f"{HOME}/fits/29990101T000000000000-000000/correction.npz", b"of a push that goes on")
    assert remote.prune("photos", 1) == [first.version]
    shared = {f"{HOME}/{file}" for file in second.files if "/" in file}
    kept = {key for key in store.objects() if key.startswith((f"{HOME}/segments/", f"{HOME}/fits/"))}
    assert kept == shared | {f"{HOME}/fits/29990101T000000000000-000000/correction.npz"}
    remote.pull("photos")
    small.check_complete(remote.folder)


def test_prune_deletes_no_segment_while_a_manifest_cannot_be_read(merged, store, tmp_path):
    first, second = merged
    store.put(f"{HOME}/segments/20200101T000000000000-000000/ids.arrow", b"left by a push")
    store.put(f"{HOME}/versions/{second.version}/{MANIFEST}", b"{}")
    assert hubless.RemoteCatalog(ADDRESS, tmp_path / "there").prune("photos", 1) == [first.version]
    assert {f"{HOME}/{file}" for file in first.files if "/" in file} < store.objects().keys()


def test_prune_leaves_versions_newer_than_the_current_one(remote, there):
    remote.rollback("photos", there[0])
    assert remote.prune("photos", 1) == []


def test_prune_leaves_a_version_that_becomes_current_at_that_moment(remote, there, store):
    def roll_back(method, path, query, respond, start_response):
        if method == "DELETE" and path.endswith(f"{there[0]}/{MANIFEST}"):
            store.faults.clear()
            store.put(f"{HOME}/CURRENT", there[0].encode())

    store.faults.add(roll_back)
    assert there[0] not in remote.prune("photos", 1)
    assert hubless.open(ADDRESS, "photos").version == there[0]


@pytest.mark.parametrize("where", ["versions/{}/canary.npz", "segments/{}/offsets.npy", "fits/{}/correction.npz"])
def test_prune_that_was_interrupted_hides_the_version_and_is_finished_later(remote, there, store, where):
    store.faults.add(failing(1000, where.format(there[0]), method="DELETE"))
    with pytest.raises(StorageError):
        remote.prune("photos", 2)
    assert remote.version_ids("photos") == there[1:]
    assert left(store, there[0])
    store.faults.clear()
    remote.prune("photos", 2)
    assert not left(store, there[0])


@pytest.mark.parametrize("change", ["set_alias", "rollback", "prune"])
def test_change_without_permission_or_bucket_says_so(remote, store, change):
    arguments = {"set_alias": ("live", "photos"), "rollback": ("photos",), "prune": ("photos", 1)}
    with pytest.raises(StorageError, match="there is no such bucket"):
        getattr(hubless.RemoteCatalog("s3://nobody-has-it/c"), change)(*arguments[change])
    for method in ("PUT", "DELETE"):
        store.faults.add(failing(1000, status="403 Forbidden", code="AccessDenied", method=method))
    with pytest.raises(StorageError, match="no permission"):
        getattr(remote, change)(*arguments[change])
