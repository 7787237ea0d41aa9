"""Names that others wrote into manifests, aliases and CURRENT are data, and never paths, before they are checked."""

import json

import pytest
from support import small

import hubless
from hubless.errors import BundleDamaged, StorageError
from hubless.store.aliases import ALIASES
from hubless.store.bundle import read_manifest
from hubless.store.names import is_file_name, is_name

OUTSIDE = ["../../.bashrc", "/etc/passwd", "..", ".", "", "a/b", "a\\b", ".hidden", "a\0b", "a\n", "x" * 129, "é"]


@pytest.mark.parametrize("name", OUTSIDE)
def test_name_that_leads_elsewhere_is_no_name(name):
    assert not is_file_name(name)
    assert not is_name(name)


@pytest.fixture
def folder(tmp_path):
    small.build_full(tmp_path / "catalog", "photos")
    return hubless.Catalog(tmp_path / "catalog").folder("photos")


def changed(folder, **changes):
    small.write_sealed(folder, small.read_plain(folder) | changes)


BESIDE = [
    "versions/x/index.faiss",
    "segments/x",
    "segments/x/y/ids.arrow",
    "segments/../CURRENT",
    "segments//ids.arrow",
]


@pytest.mark.parametrize("name", [*(name for name in OUTSIDE if "\0" not in name), *BESIDE, "/fits/x/y", "fits/.x/y"])
def test_manifest_with_a_file_elsewhere_is_refused_by_its_name(folder, name):
    files = small.read_plain(folder)["files"]
    changed(folder, files={**files, name: {"size": 0, "sha256": "0" * 64}})
    with pytest.raises(BundleDamaged, match="is no name of a file"):
        read_manifest(folder)


@pytest.mark.parametrize("field", ["version", "collection", "fit", "built", "segments"])
def test_manifest_of_something_elsewhere_is_refused(folder, field):
    wrong = [each | {"name": "../x"} for each in small.read_plain(folder)["segments"]]
    changed(folder, **{field: wrong if field == "segments" else "../x"})
    with pytest.raises(BundleDamaged, match="is no name of"):
        read_manifest(folder)


@pytest.mark.parametrize("aliases", [{"../x": "photos"}, {"photo": "../x"}])
def test_alias_that_leads_elsewhere_is_refused(folder, aliases):
    catalog = folder.parents[2]
    table = {alias: {"collection": stands, "revision": 1} for alias, stands in aliases.items()}
    (catalog / ALIASES).write_text(json.dumps({"revision": 1, "aliases": table}))
    with pytest.raises(StorageError, match="is not a file of aliases"):
        hubless.Catalog(catalog).aliases()
