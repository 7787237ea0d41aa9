"""Completion, by the protocol that the scripts of the shells speak."""

import os
import subprocess
import sys

import pytest
from support import small

ASKED = [sys.executable, "-m", "hubless"]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    catalog = tmp_path_factory.mktemp("completion") / "catalog"
    for name in ("photos", "songs"):
        small.build(catalog, name)
    return catalog


def bash(line):
    """What bash is offered at the end of a line."""
    words = line.split(" ")
    asked = {"_HUBLESS_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    ended = subprocess.run(ASKED, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout.split()


def test_collections_of_the_catalog_that_was_given_are_offered(catalog):
    assert bash(f"hubless query --catalog {catalog} --collection ") == ["photos", "songs"]
    assert bash(f"hubless evaluate --catalog {catalog} --collection s") == ["songs"]


def test_versions_are_offered_newest_first(catalog):
    small.build(catalog, "songs")
    newest_first = small.entries(catalog, "songs")[::-1]
    assert bash(f"hubless inspect --catalog {catalog} --collection songs --version ") == newest_first


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("build --correction dual", {"dual_is", "dual_dis"}),
        ("build --index hnsw_", {"hnsw_fp16", "hnsw_sq8"}),
    ],
)
def test_names_that_begin_so_are_offered(line, offered):
    assert set(bash(f"hubless {line}")) == offered


def test_nothing_is_offered_and_nothing_fails_without_a_catalog(tmp_path):
    assert bash(f"hubless query --catalog {tmp_path}/none --collection ") == []
    assert bash("hubless query --collection ") == []


def test_zsh_is_offered_the_same(catalog):
    asked = {
        "_HUBLESS_COMPLETE": "complete_zsh",
        "_TYPER_COMPLETE_ARGS": f"hubless query --catalog {catalog} --collection ",
    }
    ended = subprocess.run(ASKED, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert "photos" in ended.stdout
    assert "songs" in ended.stdout
