import subprocess
import sys

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
    assert catalog.rollback("photos") == first.version
    assert small.entries(tmp_path) == [first.version, second.version]


def test_parts_of_segments_and_fits_that_are_being_deleted_go_with_the_next_change(tmp_path):
    built = small.build(tmp_path)
    for kind in ("segments", "fits"):
        left = tmp_path / "photos" / kind / ".deleted-20250101-bbb"
        left.mkdir()
        (left / "file").write_bytes(b"half")
    hubless.Catalog(tmp_path).rollback("photos", built.version)
    assert folders(tmp_path) == {"segments": [built.version], "fits": [built.version]}


@pytest.mark.parametrize("after", range(1, 7))
def test_kill_while_a_version_is_published_leaves_all_of_it_or_nothing(tmp_path, after):
    """Segments and the fit come before the version, and the version before it is current."""
    script = f"""
import os
from pathlib import Path
from support import small
from hubless.store import catalog

real, done = {{name: getattr(catalog, name) for name in ("move", "replace_text", "finish")}}, []

def killing(name):
    def step(*arguments):
        real[name](*arguments)
        done.append(name)
        if len(done) == {after}:
            os.kill(os.getpid(), 9)
    return step

path = {str(tmp_path)!r}
small.build(Path(path))
for name in real:
    setattr(catalog, name, killing(name))
small.build(Path(path), data=1)
"""
    done = subprocess.run([sys.executable, "-c", script], env=processes.environment(), check=False)
    published = after >= 4  # the segment, the fit and the version are moved, and it becomes current
    if after > 5:
        assert done.returncode == 0
    else:
        assert done.returncode == -9
        assert (len(folders(tmp_path)["segments"]), len(folders(tmp_path)["fits"])) == (2, 1 + (after > 1))
    catalog = hubless.Catalog(tmp_path)
    catalog.tidy("photos")
    left = catalog.version_ids("photos")
    assert len(left) == 1 + published
    assert folders(tmp_path) == {"segments": left, "fits": left}
    assert small.check_complete(tmp_path).version == left[-1]


@pytest.mark.parametrize("after", [1, 2, 3, 4, 7, 10, 11, 12, 13])
def test_kill_while_versions_are_pruned_leaves_nothing_that_the_next_change_does_not_remove(tmp_path, after):
    script = f"""
import os
import shutil
from pathlib import Path
import hubless
from hubless.store import locks

real, done = {{"move": locks.move, "rmtree": shutil.rmtree}}, []

def killing(name):
    def step(*arguments):
        real[name](*arguments)
        done.append(name)
        if len(done) == {after}:
            os.kill(os.getpid(), 9)
    return step

locks.move, locks.shutil.rmtree = killing("move"), killing("rmtree")
hubless.Catalog({str(tmp_path)!r}).prune("photos", 1)
"""
    built = [small.build(tmp_path, data=data).version for data in range(3)]
    done = subprocess.run([sys.executable, "-c", script], env=processes.environment(), check=False)
    assert done.returncode == (-9 if after <= 12 else 0)  # two versions, with a segment and a fit each
    catalog = hubless.Catalog(tmp_path)
    catalog.tidy("photos")
    left = catalog.version_ids("photos")
    assert left == (built[1:] if after == 1 else built[2:])
    assert folders(tmp_path) == {"segments": left, "fits": left}
    assert small.entries(tmp_path) == left


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
