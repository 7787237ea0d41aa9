import shutil

import numpy as np
import pytest
from support import shards, small

import hubless
from hubless.errors import BundleDamaged
from hubless.store.bundle import read_manifest, segment_path

SIZES = [1000, 1000, 900]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("shards")
    shards.build(path)
    return path


@pytest.fixture
def catalog(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "catalog")


def refused(catalog, path, **options):
    with pytest.raises(BundleDamaged) as caught:
        hubless.open(catalog, shards.NAME, **options)
    assert caught.value.path == path
    return caught.value.problem


def index_of(catalog, number):
    """The index of a shard."""
    home = shards.folder(catalog)
    return segment_path(home, read_manifest(home).segments[number].name) / "index.faiss"


def test_each_shard_is_a_segment_and_the_manifest_says_how_many_targets_it_has(whole):
    manifest = read_manifest(shards.folder(whole))
    assert ([each.count for each in manifest.segments], manifest.index.shard_targets) == (SIZES, 1000)
    first, *others = [each.name for each in manifest.segments]
    assert (first, others) == (manifest.version, [f"{first}-1", f"{first}-2"])
    indexes = {name for name in manifest.files if name.endswith("index.faiss")}
    assert indexes == {f"segments/{name}/index.faiss" for name in (first, *others)}
    hubless.open(whole, shards.NAME).check_canaries()


def test_segments_of_two_shards_in_each_others_place_are_noticed(catalog):
    home = shards.folder(catalog)
    first, second, last = read_manifest(home).segments
    small.reseal(home, segments=[second, first, last])
    with pytest.raises(BundleDamaged, match="canary quer"):
        hubless.open(catalog, shards.NAME).check_canaries()


@pytest.mark.parametrize("made", ["flat", "fastscan"])
def test_shard_of_another_dimension_or_kind_is_named(catalog, tmp_path, made):
    other = tmp_path / "other"
    dim = shards.DIM if made == "fastscan" else shards.DIM + 16
    rows = np.random.default_rng(0).normal(size=(1000, dim)).astype(np.float32)
    hubless.build(other, shards.NAME, rows, rows[:100] + 1, index=made, bank_of_targets=True)
    shutil.copyfile(index_of(other, 0), index_of(catalog, 1))
    small.reseal(shards.folder(catalog))
    expected = {
        "flat": "has vectors of 48 dimensions, and not of 32",
        "fastscan": "is an index IndexRefineFlat of IndexPreTransform of IndexIVFPQFastScan, and not of the kind flat",
    }
    assert refused(catalog, index_of(catalog, 1)) == expected[made]
