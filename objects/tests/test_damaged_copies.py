"""Copies of what is at an address that this disk damaged: each is pulled again, whatever is wrong with it."""

import os

import pytest
from support import small
from support.object_storage import ADDRESS

import hubless
from hubless.errors import BundleDamaged
from hubless_objects.mirror import RemoteCatalog


def flip(path):
    """Change a byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 255
    path.write_bytes(content)


DAMAGES = {
    "changed": flip,
    "empty": lambda path: os.truncate(path, 0),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "missing": lambda path: path.unlink(),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.fixture
def copies(store, tmp_path):
    """The folder of copies of a version of several segments, and of an alias."""
    here = RemoteCatalog(ADDRESS, tmp_path / "here")
    for version in small.merged(tmp_path / "here"):
        here.push("photos", version.version, here.tag("photos"))
    here.set_alias("best", "photos")
    with hubless.open(ADDRESS, "best"):
        return RemoteCatalog(ADDRESS).folder


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_copy_is_whole_again_after_it_was_damaged(copies, damage):
    before = small.contents(copies)
    assert {"photos/CURRENT", ".aliases.json"} < {*before}
    for name in filter(before.get, before):  # the locks are empty
        DAMAGES[damage](copies / name)
        hubless.open(ADDRESS, "best").check_canaries()
        assert small.contents(copies) == before, name


def test_who_has_a_copy_open_that_was_pulled_again_is_told_so(copies):
    catalog = RemoteCatalog(ADDRESS).catalog
    opened = hubless.open(catalog, "photos")
    opened.parts.check_hashes()
    flip(small.path_of(opened.parts.folder, "ids.arrow"))
    hubless.open(catalog, "photos")
    with pytest.raises(BundleDamaged, match="replaced since it was opened"):
        opened.parts.check_hashes()
