"""What builds and deletions leave when they are killed is removed by the next change."""

import os

import pytest
from support import small

import hubless
from hubless.store.locks import SILENT_BUILD, machine


def leftovers(catalog):
    home = catalog / "photos"
    beside = {entry.name for entry in home.iterdir()} - {"CURRENT", "LOCK", "versions"} if home.exists() else set()
    return sorted(beside | {name for name in small.entries(catalog) if name.startswith(".")})


def lock_of(catalog, version, owner=None):
    """The lock of a build, as it is left when its process dies."""
    lock = catalog / "photos" / "versions" / f".staging-{version}@{machine() if owner is None else owner}.lock"
    lock.touch()
    return lock


def test_leftovers_of_dead_processes_are_removed_by_the_next_build(tmp_path):
    first = small.build(tmp_path)
    versions = tmp_path / "photos" / "versions"
    for name in (".staging-20250101-aaa", ".deleted-20250101-bbb"):
        (versions / name).mkdir()
        (versions / name / "index.faiss").write_bytes(b"half")
    for version in ("20250101-aaa", "20250101-without-folder"):
        lock_of(tmp_path, version)
    second = small.build(tmp_path)
    assert small.entries(tmp_path) == [first.version, second.version]


def test_version_that_was_moved_but_never_current_is_removed_by_the_next_change(tmp_path):
    first, second, third = (small.build(tmp_path) for _ in range(3))
    catalog = hubless.Catalog(tmp_path)
    catalog.rollback("photos", second.version)
    lock_of(tmp_path, third.version)
    assert catalog.rollback("photos") == first.version
    assert small.entries(tmp_path) == [first.version, second.version]


@pytest.mark.parametrize("name", [".staging-20250101-aaa@elsewhere", ".staging-20250101-aaa"], ids=["now", "0.1.0"])
def test_leftovers_of_another_machine_stay_until_it_was_silent_for_an_hour(tmp_path, name):
    small.build(tmp_path)
    versions = tmp_path / "photos" / "versions"
    staging, lock = versions / ".staging-20250101-aaa", versions / f"{name}.lock"
    staging.mkdir()
    lock.touch()
    small.build(tmp_path)
    assert staging.exists()
    assert lock.exists()
    silent = lock.stat().st_mtime - SILENT_BUILD - 60
    os.utime(lock, (silent, silent))
    small.build(tmp_path)
    assert leftovers(tmp_path) == []
