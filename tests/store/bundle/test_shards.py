import shutil

import numpy as np
import pytest
from support import shards, small

import hubless
from hubless.errors import BundleDamaged
from hubless.store.bundle import read_manifest

FILES = ["index-000.faiss", "index-001.faiss", "index-002.faiss"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("shards")
    shards.build(path)
    return path


@pytest.fixture
def catalog(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "catalog")


def refused(catalog, name, **options):
    with pytest.raises(BundleDamaged) as caught:
        hubless.open(catalog, shards.NAME, **options)
    assert caught.value.path.name == name
    return caught.value.problem


def sealed(catalog, **index):
    home = shards.folder(catalog)
    manifest = read_manifest(home)
    small.reseal(home, index=manifest.index.model_copy(update=index))


def test_each_shard_is_a_file_and_the_manifest_says_how_many_targets_it_has(whole):
    manifest = read_manifest(shards.folder(whole))
    assert (manifest.index.shards, manifest.index.shard_targets) == ([1000, 1000, 900], 1000)
    assert manifest.index.files == FILES
    assert {name for name in manifest.files if name.startswith("index")} == {*FILES}
    hubless.open(whole, shards.NAME).check_canaries()


def test_bundle_of_as_many_targets_as_a_shard_takes_has_one_file(tmp_path):
    one = shards.build(tmp_path, shard_targets=shards.COUNT)
    assert (one.index.shards, one.index.files) == ([], ["index.faiss"])


def test_shard_with_another_number_of_targets_is_named(catalog):
    home = shards.folder(catalog)
    shutil.copyfile(home / FILES[2], home / FILES[1])
    sealed(catalog)
    assert refused(catalog, FILES[1]) == "holds 900 targets, the manifest says 1000"


def test_shards_that_are_not_all_targets_together_are_refused(catalog):
    home = shards.folder(catalog)
    (home / FILES[2]).unlink()
    sealed(catalog, shards=[1000, 1000])
    assert refused(catalog, "manifest.json") == "says 2900 targets, and the shards hold 2000"


@pytest.mark.parametrize("made", ["flat", "fastscan"])
def test_shard_of_another_dimension_or_kind_is_named(catalog, tmp_path, made):
    other = tmp_path / "other"
    dim = shards.DIM if made == "fastscan" else shards.DIM + 16
    rows = np.random.default_rng(0).normal(size=(1000, dim)).astype(np.float32)
    hubless.build(other, shards.NAME, rows, rows[:100] + 1, index=made, bank_of_targets=True)
    shutil.copyfile(shards.folder(other) / "index.faiss", shards.folder(catalog) / FILES[1])
    sealed(catalog)
    expected = {
        "flat": "has vectors of 48 dimensions, and not of 32",
        "fastscan": "is an index IndexRefineFlat of IndexPreTransform of IndexIVFPQFastScan, and index-000.faiss is "
        "IndexFlatIP",
    }
    assert refused(catalog, FILES[1]) == expected[made]
