"""What strangers put into a folder in the place of a file, and names that lead out of it."""

import os

import pytest
from support.photos import solid

MARK = b"SECRET"
RED = solid("red") + MARK
"""Behind the end, where no decoder looks."""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "root" / "sub" / "good.png").write_bytes(solid("blue"))
    (tmp_path / "outside").mkdir()
    return tmp_path / "root"


def link_inside(place, outside):
    outside.rename(place.with_name(".inside"))
    place.symlink_to(".inside")


def link_the_folder(place, outside):
    place.parent.rename(place.parents[1] / "was")
    place.parent.symlink_to(outside.parent)


STANDING = {
    "link": lambda place, outside: place.symlink_to(outside),
    "link inside": link_inside,
    "linked folder": link_the_folder,
    "link to nowhere": lambda place, outside: place.symlink_to("nowhere"),
    "link to itself": lambda place, outside: place.symlink_to(place),
    "link to a device": lambda place, outside: place.symlink_to("/dev/zero"),
    "pipe": lambda place, outside: os.mkfifo(place),
    "folder": lambda place, outside: place.mkdir(),
    "file": lambda place, outside: outside.rename(place),
}
LEADING_OUT = [
    *("../outside/it.png", "sub/../../outside/it.png", "sub/good.png/../../../outside/it.png", "{outside}"),
    *("/{outside}", "file://{outside}", "../outside/it.png\0", "x" * 5000, "x/" * 2000, "", ".", "..", "/dev/zero"),
]


def check_standing(root, standing, name, content, read):
    """Let something stand in the place of a file: `read(root, name)` says what it got, and why it did not."""
    outside = root.with_name("outside") / name.rpartition("/")[2]
    outside.write_bytes(content)
    STANDING[standing](root / name, outside)
    found, why = read(root, name)
    assert (MARK in found) == (standing == "file")
    assert any(said in why for said in ("link", "no plain file", "picture_not_found")) or not standing.startswith("l")


def check_leading_out(root, name, read):
    outside = root.with_name("outside") / "it.png"
    outside.write_bytes(RED)
    assert MARK not in read(root, name.format(outside=outside))[0]
