"""Numbers that came by file or array are kept with their targets, as those of a payload column are."""

import shutil

import numpy as np
import pytest
from support.problems import with_hubs

import hubless
from hubless.builder.backup import back_up, restore
from hubless.search.soundness import collection_problem

PROBLEM = with_hubs(targets=300, bank=200, queries=60)
COUNTS = np.random.default_rng(1).lognormal(1, 1.5, 300)


def build(catalog, index="hnsw", **options):
    hubless.build(catalog, "c", PROBLEM.targets, PROBLEM.bank, metric="dot", correction="sn", index=index, **options)


def changed(catalog, gone):
    index = hubless.open(catalog, "c")
    last = int(index.parts.ids.largest)
    index.add(PROBLEM.targets[:3] / 2, ids=range(last + 1, last + 4))
    index.remove(gone)
    index.save(catalog, "c")


def add_some(catalog):
    changed(catalog, [len(hubless.open(catalog, "c").parts.ids.array)])


def remove_many(catalog):
    changed(catalog, range(100, 180))


def refit(catalog):
    hubless.refit(catalog, "c", PROBLEM.queries)


def move(catalog):
    back_up(hubless.Catalog(catalog), catalog.parent / f"{catalog.name} copy")
    shutil.rmtree(catalog)
    restore(catalog.parent / f"{catalog.name} copy", hubless.Catalog(catalog))


@pytest.mark.parametrize(
    ("index", "steps"),
    [
        ("hnsw", [add_some, move, refit]),
        ("hnsw", [remove_many, refit, add_some]),  # the index is trained anew
        ("flat", [remove_many, refit]),  # the segment is written anew
    ],
)
def test_prior_of_a_file_is_that_of_a_column_whatever_becomes_of_the_collection(tmp_path, index, steps):
    np.save(tmp_path / "counts.npy", COUNTS)
    build(tmp_path / "file", index, target_prior=tmp_path / "counts.npy")
    build(tmp_path / "column", index, target_prior="clicks", payload={"clicks": COUNTS})
    for step in steps:
        step(tmp_path / "file")
        step(tmp_path / "column")
        of_file, of_column = (hubless.open(tmp_path / each, "c") for each in ("file", "column"))
        np.testing.assert_array_equal(of_file.offsets, of_column.offsets)
        assert collection_problem(of_file) is None


def test_offsets_that_another_prior_would_give_are_noticed(tmp_path):
    build(tmp_path, target_prior=COUNTS)
    collection = hubless.open(tmp_path, "c")
    segment = collection.parts.targets.first
    segment.columns.by_role["target_prior"].values[0] *= 9
    assert "offsets differ from those of the stored correction" in collection_problem(collection)
