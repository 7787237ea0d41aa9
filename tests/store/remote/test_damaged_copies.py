"""Copies of what is at an address that this disk damaged: each is pulled again, whatever is wrong with it."""

import os
import shutil

import pytest
from support import small
from support.object_storage import ADDRESS

import hubless
from hubless.errors import BundleDamaged
from hubless.store.address import copy_folder
from hubless.store.remote.mirror import RemoteCatalog


def flip(path):
    """Change a byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


def put_folder(path):
    path.unlink()
    (path / "inside").mkdir(parents=True)


DAMAGES = {
    "changed": flip,
    "empty": lambda path: os.truncate(path, 0),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "missing": lambda path: path.unlink(),
    "a folder": put_folder,
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.fixture
def made(store, tmp_path):
    """A version of several segments and an alias at the address, and copies of them here."""
    here = RemoteCatalog(ADDRESS, tmp_path / "here")
    for version in small.merged(tmp_path / "here"):
        here.push("photos", version.version, here.tag("photos"))
    here.set_alias("best", "photos")
    answer()
    return version


def answer():
    with hubless.open(ADDRESS, "best") as found:
        return found.version, found.query(small.query_bank(), limit=5).ids


def copies():
    folder = copy_folder(ADDRESS, "read")
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_copy_is_whole_again_after_it_was_damaged(made, damage):
    wanted, before = answer(), small.contents(copy_folder(ADDRESS, "read"))
    assert len(copies()) == len(made.files) + 3  # the manifest, CURRENT and the aliases
    for path in copies():
        DAMAGES[damage](path)
        assert answer() == wanted, path
    assert small.contents(copy_folder(ADDRESS, "read")) == before


def test_folder_of_copies_that_is_a_file_is_pulled_again(made):
    for place in {path.parent for path in copies()[2:]}:
        shutil.rmtree(place)
        place.write_text("a file")
        answer()
        assert place.is_dir()


def test_who_has_a_copy_open_that_was_pulled_again_is_told_so(made):
    catalog = RemoteCatalog(ADDRESS).catalog
    before = hubless.open(catalog, "photos")
    before.parts.check_hashes()
    flip(next(path for path in copies() if path.suffix == ".arrow"))
    hubless.open(catalog, "photos")
    with pytest.raises(BundleDamaged, match="replaced since it was opened"):
        before.parts.check_hashes()
