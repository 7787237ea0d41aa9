"""Machines that share a catalog, on a file system that does not tell one of them of the locks of another."""

import os
from time import sleep

import pytest
from support import small

import hubless
from hubless.store import durable, locks


class Machines:
    """The machine that this process plays."""

    def __init__(self):
        self.name = "one"

    def __call__(self):
        return self.name


@pytest.fixture
def machines(monkeypatch):
    """Let the test say on which machine it is. A lock is noticed on the machine that holds it only."""
    played, locked, is_locked = Machines(), durable.locked, durable.is_locked

    def locked_here(path):
        path.touch()
        return locked(path.with_name(f"{path.name}-on-{played.name}"))

    monkeypatch.setattr(locks, "machine", played)
    monkeypatch.setattr("hubless.store.catalog.locked", locked_here)
    monkeypatch.setattr(locks, "is_locked", lambda lock: f"@{played.name}." in lock.name and is_locked(lock))
    return played


@pytest.fixture
def files(tmp_path):
    """The manifest of a version, and its other files."""
    template = small.build(tmp_path / "template")
    contents = small.contents(small.folder(tmp_path / "template", template))
    del contents["manifest.json"]
    return template, contents


def publish(staged, files):
    """End the build of another machine."""
    manifest, contents = files
    for name, data in contents.items():
        (staged.folder / name).write_bytes(data)
    staged.publish(manifest.model_copy(update={"version": staged.version}))


def changes(catalog):
    """All that one may do to a collection while another machine builds it."""
    small.build(catalog.path)
    small.build(catalog.path, data=1)
    catalog.rollback("photos")
    catalog.prune("photos", 1)


def test_build_of_another_machine_survives_builds_rollbacks_and_retention(machines, files, tmp_path):
    catalog = hubless.Catalog(tmp_path / "catalog")
    with catalog.staging("photos") as staged:
        (staged.folder / "index.faiss").write_bytes(b"half")
        machines.name = "two"
        changes(catalog)
        assert (staged.folder / "index.faiss").read_bytes() == b"half"
        machines.name = "one"
        publish(staged, files)
    assert small.check_complete(catalog.path).version == staged.version
    assert [name for name in small.entries(catalog.path) if name.startswith(".")] == []


def test_version_that_another_machine_is_about_to_make_current_survives(machines, files, tmp_path, monkeypatch):
    catalog = hubless.Catalog(tmp_path / "catalog")
    replace = hubless.store.catalog.replace_text

    def overtaken(path, text):
        monkeypatch.setattr("hubless.store.catalog.replace_text", replace)
        machines.name = "two"
        changes(catalog)
        machines.name = "one"
        replace(path, text)

    with catalog.staging("photos") as staged:
        monkeypatch.setattr("hubless.store.catalog.replace_text", overtaken)
        publish(staged, files)
    assert small.check_complete(catalog.path).version == staged.version


def test_long_build_goes_on_telling_that_it_lives(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "BEAT_SECONDS", 0.01)
    catalog = hubless.Catalog(tmp_path)
    with catalog.staging("photos") as staged:
        (lock,) = staged.folder.parent.glob("*.lock")
        os.utime(lock, (0, 0))
        while lock.stat().st_mtime == 0:
            sleep(0.01)
        assert locks.machine() in lock.name
