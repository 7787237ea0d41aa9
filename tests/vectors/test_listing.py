import errno
import os
from pathlib import Path

import pytest

from hubless.errors import StorageError
from hubless.vectors.listing import files_in, files_matching, natural_order

ENDINGS = (".npy", ".parquet")


def touched(folder, *names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")
    return folder


def seen(paths, folder):
    return [str(path.relative_to(folder)) for path in paths]


def test_numbers_in_names_are_compared_as_numbers():
    names = ["part-10", "part-9", "2/b-1", "10/a", "part-09", "part", "x1y10", "x1y9", "x01y8"]
    assert sorted(names, key=natural_order) == [
        "2/b-1", "10/a", "part", "part-09", "part-9", "part-10", "x01y8", "x1y9", "x1y10",
    ]  # fmt: skip


@pytest.mark.parametrize("listed", [files_in, lambda folder, endings: files_matching("*", folder, endings)])
def test_folder_and_pattern_give_data_in_natural_order_without_what_programs_leave(tmp_path, listed):
    leavings = ("._0.npy", ".DS_Store", ".ipynb_checkpoints/0.npy", "_SUCCESS", "_temporary/0.npy", "Thumbs.db")
    touched(tmp_path, "10.npy", "2.npy", "1.NPY", "_3.npy", *leavings, "b.parquet/part-1.parquet", "b.parquet/_SUCCESS")
    assert seen(listed(tmp_path, ENDINGS), tmp_path) == [
        "1.NPY",
        "2.npy",
        "10.npy",
        "_3.npy",
        "b.parquet/part-1.parquet",
    ]


def test_pattern_matches_at_any_depth_and_what_is_hidden_only_by_its_name(tmp_path):
    touched(tmp_path, "a/2/x.npy", "a/10/x.npy", "a/.git/x.npy", "a/_temporary/x.npy", ".b/x.npy", "x.npy", "a/y.csv")
    assert seen(files_matching("**/x.npy", tmp_path, ENDINGS), tmp_path) == ["a/2/x.npy", "a/10/x.npy", "x.npy"]
    assert seen(files_matching("a/[0-9]*/x.*", tmp_path, ENDINGS), tmp_path) == ["a/2/x.npy", "a/10/x.npy"]
    assert seen(files_matching(".b/*", tmp_path, ENDINGS), tmp_path) == [".b/x.npy"]
    assert seen(files_matching(".*/*.npy", tmp_path, ENDINGS), tmp_path) == [".b/x.npy"]
    assert seen(files_matching(f"{tmp_path}/a/*", Path("elsewhere"), ENDINGS), tmp_path) == ["a/y.csv"]
    assert files_matching("a/*/nothing.npy", tmp_path, ENDINGS) == []


def nowhere(folder):
    (folder / "items/1.npy").symlink_to(folder / "disk/1.npy")
    return "a link to .*disk/1.npy, which is not there. Is its disk mounted"


def folder_nowhere(folder):
    (folder / "items/more").symlink_to(folder / "disk")
    return "a link to .*disk, which is not there. Is its disk mounted"


def around(folder):
    (folder / "items/1.npy").symlink_to(folder / "items/2.npy")
    (folder / "items/2.npy").symlink_to(folder / "items/1.npy")
    return "symbolic links"


def without_shards(folder):
    (folder / "items/1.npy").mkdir()
    return "a folder without files that end in .npy"


@pytest.mark.parametrize("pattern", [None, "items/*", "*/*.npy", "**/*.npy"])
@pytest.mark.parametrize("broken", [nowhere, around, without_shards])
def test_file_that_cannot_be_looked_at_is_an_error_and_not_gone(tmp_path, broken, pattern):
    items = touched(tmp_path, "items/0.npy") / "items"
    told = broken(tmp_path)
    with pytest.raises(StorageError, match=told):
        files_in(items, ENDINGS) if pattern is None else files_matching(pattern, tmp_path, ENDINGS)


@pytest.mark.parametrize("pattern", ["items/*/x.npy", "items/**/x.npy", "items/more/*.npy"])
def test_folder_on_the_way_that_cannot_be_looked_at_is_an_error(tmp_path, pattern):
    touched(tmp_path, "items/0/x.npy")
    with pytest.raises(StorageError, match=folder_nowhere(tmp_path)):
        files_matching(pattern, tmp_path, ENDINGS)


@pytest.mark.parametrize("code", [errno.ESTALE, errno.EIO, errno.EACCES, errno.ENOTCONN])
@pytest.mark.parametrize("call", ["iterdir", "stat"])
@pytest.mark.parametrize("pattern", [None, "**/*.npy", "disk*/*"])
def test_error_of_a_disk_is_told_with_its_path(tmp_path, monkeypatch, code, call, pattern):
    place = touched(tmp_path, "disk/0.npy", "other/0.npy") / "disk"
    usual = getattr(Path, call)

    def failing(path, **options):
        if path == place or path.parent == place:
            raise OSError(code, os.strerror(code), str(path))
        return usual(path, **options)

    monkeypatch.setattr(Path, call, failing)
    with pytest.raises(StorageError, match=f"^{place}"):
        files_in(place, ENDINGS) if pattern is None else files_matching(pattern, tmp_path, ENDINGS)
