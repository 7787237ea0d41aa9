import numpy as np
import pytest
from support import jobs, small
from support.object_storage import ADDRESS, failing

import hubless
from hubless.errors import InputError, StorageError
from hubless.store.addressed import working


def build(data=0, **options):
    return small.build(ADDRESS, data=data, **options)


def test_build_publishes_at_the_address_and_open_finds_it(store, tmp_path):
    made = build()
    assert set(store.objects()) == {
        "some/catalog/photos/CURRENT",
        f"some/catalog/photos/versions/{made.version}/manifest.json",
        f"some/catalog/photos/versions/{made.version}/canary.npz",
        *(f"some/catalog/photos/{file}" for file in made.files if "/" in file),
    }
    found = hubless.open(ADDRESS, "photos")
    assert found.version == made.version
    local = small.build(tmp_path / "local")
    same = hubless.open(tmp_path / "local", local.collection).query(small.query_bank(), limit=5)
    np.testing.assert_array_equal(found.query(small.query_bank(), limit=5).rows, same.rows)


def test_build_without_permission_or_bucket_fails_before_the_long_work(store, monkeypatch):
    from hubless.builder import build as job

    monkeypatch.setattr(job, "next_version", None)
    store.faults.add(failing(1000, status="403 Forbidden", code="AccessDenied", method="HEAD"))
    with pytest.raises(StorageError, match="no permission"):
        build()
    store.faults.clear()
    with pytest.raises(StorageError, match="s3://nobody-has-it/x: there is no such bucket"):
        small.build("s3://nobody-has-it/x")


def test_what_needs_a_folder_refuses_an_address_naming_it(store):
    with pytest.raises(InputError, match=f"catalog: expected a folder: .*, got {ADDRESS}"):
        hubless.Catalog(ADDRESS)
    with pytest.raises(InputError, match=f"got {ADDRESS}"):
        hubless.merge(ADDRESS, "photos")


def test_input_at_an_address_is_refused_naming_it(store):
    with pytest.raises(InputError, match=f"targets: expected a file on this machine.*, got {ADDRESS}/t.npy"):
        hubless.build(ADDRESS, "photos", f"{ADDRESS}/t.npy", correction="none")


def test_reindex_at_an_address_pulls_the_version_and_publishes_the_next(store, tmp_path):
    job = jobs.write(tmp_path)
    first = hubless.reindex(job, catalog=ADDRESS)
    assert first.published
    assert hubless.open(ADDRESS, first.manifest.collection).version == first.manifest.version
    again = hubless.reindex(job, catalog=ADDRESS)
    assert again.manifest is None


def test_work_of_an_unfinished_first_build_stays(store):
    with working(ADDRESS, "photos") as work:
        begun = work.catalog.path / "photos" / ".reindex"
        begun.mkdir(parents=True)
    with working(ADDRESS, "photos"):
        assert begun.is_dir()


def test_version_that_was_built_but_not_pushed_is_not_taken_for_the_current_one(store):
    first = build()
    store.faults.add(failing(1000, "CURRENT", method="PUT"))
    with pytest.raises(StorageError):
        build(data=1)
    store.faults.clear()
    with working(ADDRESS, "photos", pull=True) as work:
        assert work.catalog.current("photos") == first.version
