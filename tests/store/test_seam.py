"""The store reaches the disk's durable changes and the clock in one module."""

import ast
from pathlib import Path

import pytest

import hubless.store

ROOM = Path(hubless.store.__file__).parent
SEAM = "durable.py"
DISK = {"os.fsync", "os.fdatasync", "os.link", "os.rename", "os.replace", "shutil.move"}
CALLS = DISK | {"datetime.now", "time.time", "time.time_ns"}
"""Calls that only the seam makes."""


def calls_of(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = ast.unparse(node.func)
            if called in CALLS:
                yield called
            elif node.func.attr in ("rename", "hardlink_to") or (
                node.func.attr == "replace" and len(node.args) == 1 and not node.keywords
            ):
                yield f"Path.{node.func.attr}"


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_only_the_seam_renames_links_syncs_and_reads_the_clock(path):
    found = list(calls_of(path.read_text("utf-8")))
    assert bool(found) == (path.name == SEAM), found
