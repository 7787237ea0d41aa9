import json
import os

import pytest
from support import processes, small

import hubless
from hubless.errors import BundleDamaged, StorageError
from hubless.store import catalog as catalogs


def lock_of(catalog, version):
    (catalog / "photos" / "versions" / f".staging-{version}.lock").touch()


def folders(catalog):
    """The segments and fits that are there, hidden ones too."""
    home = catalog / "photos"
    return {kind: sorted(path.name for path in (home / kind).iterdir()) for kind in ("segments", "fits")}


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
    assert catalog.version_ids("photos") == [first.version, second.version]  # nobody can activate it
    assert catalog.rollback("photos") == first.version
    assert small.entries(tmp_path) == [first.version, second.version]


KILLED = """
import json
import os
import shutil
import sys
from pathlib import Path
from support import small
from support.processes import in_child
import hubless
from hubless.store import catalog, locks

def kill_after(count, *steps):
    done = []

    def killing(real):
        def step(*arguments):
            real(*arguments)
            done.append(real)
            if len(done) == count:
                os.kill(os.getpid(), 9)
        return step

    for module, name in steps:
        setattr(module, name, killing(getattr(module, name)))

def publish(path, after):
    small.build(path)
    kill_after(after, *((catalog, name) for name in ("move", "replace_text", "finish")))
    small.build(path, data=1)

def prune(path, after):
    for data in range(3):
        small.build(path, data=data)
    kill_after(after, (locks, "move"), (shutil, "rmtree"))
    hubless.Catalog(path).prune("photos", 1)

def tidy(path, after):
    shutil.copytree(path.with_name("left"), path)
    kill_after(after, (locks, "move"), (shutil, "rmtree"), (Path, "unlink"))
    hubless.Catalog(path).sweep("photos")

folder, work, *moments = sys.argv[1:]
for after in moments:
    ended = in_child(lambda tell: globals()[work](Path(folder, after), int(after)))
    print(json.dumps(ended["error"]))
"""
"""Does some work once for each moment, in a process of its own that is killed after so many of its steps."""


def killed(folder, work, moments):
    """Return by moment where the work was done, and whether it was killed."""
    ended = map(json.loads, processes.python("-c", KILLED, folder, work, *moments).splitlines())
    return {moment: (folder / str(moment), error == "killed") for moment, error in zip(moments, ended, strict=True)}


def swept(path):
    """Remove what was left, and return the versions, which have a segment and a fit each, and no others are there."""
    catalog = hubless.Catalog(path)
    catalog.sweep("photos")
    left = catalog.version_ids("photos")
    assert folders(path) == {"segments": left, "fits": left}
    return left


def test_kill_while_a_version_is_published_leaves_all_of_it_or_nothing(tmp_path):
    """Segments and the fit come before the version, and the version before it is current."""
    for after, (path, was_killed) in killed(tmp_path, "publish", range(1, 7)).items():
        published = after >= 4  # the segment, the fit and the version are moved, and it becomes current
        assert was_killed == (after <= 5)
        if was_killed:
            assert (len(folders(path)["segments"]), len(folders(path)["fits"])) == (2, 1 + (after > 1))
        left = swept(path)
        assert len(left) == 1 + published
        assert small.check_complete(path).version == left[-1]


def test_kill_while_versions_are_pruned_leaves_nothing_that_the_next_change_does_not_remove(tmp_path):
    for after, (path, was_killed) in killed(tmp_path, "prune", [1, 2, 3, 4, 7, 10, 11, 12, 13]).items():
        assert was_killed == (after <= 12)  # two versions, with a segment and a fit each
        current = hubless.Catalog(path).current("photos")
        left = swept(path)
        assert (len(left), left[-1]) == (2 if after == 1 else 1, current)
        assert small.entries(path) == left


def test_kill_while_what_a_kill_left_is_removed_leaves_nothing_that_the_next_change_does_not_remove(tmp_path):
    first, second = (small.build(tmp_path / "left", data=data).version for data in range(2))
    hubless.Catalog(tmp_path / "left").rollback("photos", first)
    lock_of(tmp_path / "left", second)
    for after, (path, was_killed) in killed(tmp_path, "tidy", range(1, 9)).items():
        assert was_killed == (after <= 7)  # a version, its segment, its fit, and what told of them
        assert swept(path) == [hubless.Catalog(path).current("photos")] == small.entries(path)


def test_what_tells_of_a_build_is_on_the_disk_before_its_segments_move_and_gone_once_it_is_current(
    tmp_path, monkeypatch
):
    small.build(tmp_path)
    versions = tmp_path / "photos" / "versions"
    synced, moves, real, move = [], [], os.fsync, catalogs.move

    def fsync(descriptor):
        real(descriptor)
        if os.path.samestat(os.fstat(descriptor), versions.stat()):
            synced[:] = small.entries(tmp_path)

    def moved(path, new):
        moves.append((new.parent.name, [name for name in synced if name.endswith(".lock")]))
        move(path, new)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(catalogs, "move", moved)
    made = small.build(tmp_path, data=1)
    lock = [f".staging-{made.version}.lock"]
    assert moves == [("segments", lock), ("fits", lock), ("versions", lock)]
    assert synced == small.entries(tmp_path)  # or a power cut would bring the lock back, after a rollback too


def test_build_that_ends_between_its_segments_and_its_version_leaves_nothing(tmp_path, monkeypatch):
    first = small.build(tmp_path)

    def refuses(*arguments, **options):
        raise StorageError(tmp_path, "the disk is full")

    monkeypatch.setattr(catalogs, "verify", refuses)
    with pytest.raises(StorageError, match="the disk is full"):
        small.build(tmp_path, data=1)
    assert small.entries(tmp_path) == [first.version]
    assert folders(tmp_path) == {"segments": [first.version], "fits": [first.version]}


def test_version_whose_shared_segment_is_gone_is_not_published(tmp_path):
    small.build_full(tmp_path, index="flat")
    index = hubless.open(tmp_path, "photos")
    index.remove(small.IDS[-1:])
    lost = small.path_of(hubless.Catalog(tmp_path).folder("photos"), "offsets.npy")
    lost.unlink()
    with pytest.raises(BundleDamaged, match=r"offsets\.npy: missing"):
        index.save(tmp_path, "photos")
    assert small.entries(tmp_path) == [lost.parent.name]
