"""Kinds of index that could be the fastest are built, and measured beside each other."""

import faiss
import numpy as np
import pytest
from support.problems import normal

import hubless
from hubless.builder import indexing
from hubless.knn import aims
from hubless.knn.index_files import read_index

COUNT, DIM = 3000, 136


def build(catalog, lists_cost, finer, close, **options):
    """Let a build take a thousand targets for many, lists and finer codes for so much dearer, and so much for close."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(aims, "FLAT_BYTES", 0)
        changed.setattr(aims, "MEASURED_FROM", 1000)
        changed.setattr(indexing, "LISTS_COST", lists_cost)
        changed.setattr(indexing, "FINER", finer)
        changed.setattr(indexing, "MOST_WORK", close)
        given = {"query_bank": normal(300, DIM, 1), "metric": "cosine", "recall": 0.8, **options}
        return hubless.build(catalog, "c", normal(COUNT, DIM, 0), **given)


@pytest.fixture(scope="module")
def of_all(tmp_path_factory):
    """A catalog, and the manifest of a version of which both ways to build lists were tried."""
    path = tmp_path_factory.mktemp("all")
    return path, build(path, 0, 0, 9)


def test_build_measures_ways_that_could_win_and_takes_the_fastest_of_them(of_all):
    index = of_all[1].index
    assert [(each.type, each.targets) for each in index.tried] == 2 * [("ivf_fastscan", COUNT)]
    (chosen,) = (each for each in index.tried if (each.type, each.code_bytes) == (index.type, index.code_bytes))
    assert chosen.parameters == index.parameters
    assert all(each.recall_at_10 >= 0.8 and each.seconds > 0 for each in index.tried)
    assert chosen.latency_ms < 2 * min(each.latency_ms for each in index.tried) + 0.1


@pytest.mark.parametrize(
    ("lists_cost", "close", "options", "built"),
    [
        (40, 9, {}, 3 * ["fastscan"]),
        (40, 1, {}, ["fastscan"]),
        (40, 1, {"recall": 0.02}, ["ivf_fastscan"]),
        (99, 1, {"index": "ivf_fastscan"}, ["ivf_fastscan"]),
    ],
)
def test_lists_of_which_most_have_to_be_scanned_and_codes_that_should_take_longer_are_not_built(
    tmp_path, lists_cost, close, options, built
):
    index = build(tmp_path, lists_cost, 2, close, **options).index
    assert [each.type for each in (index, *index.tried)] == built


def test_finer_codes_are_built_alone_where_their_scan_costs_nothing(tmp_path):
    coarse, fine = (build(tmp_path, 40, finer, 1).index.code_bytes for finer in (99, 0))
    assert 1.9 * coarse <= fine <= 2 * coarse


def test_stored_index_has_the_codes_that_the_manifest_says(of_all):
    path, made = of_all
    (file,) = path.glob("c/segments/*/index.faiss")
    assert not list(file.parent.glob("index.*scan*"))
    stored = read_index(file)
    coded = faiss.downcast_index(faiss.downcast_index(stored.base_index).index)
    assert coded.pq.code_size == made.index.code_bytes
    opened = hubless.open(path, "c")
    opened.check_canaries()
    assert np.isfinite(opened.query(normal(5, DIM, 2)).scores).all()


def test_inspect_lists_what_was_tried(of_all, run):
    path, made = of_all
    out = run("inspect", "--catalog", path, "--collection", "c").out
    assert f"{made.index.type} of {made.index.code_bytes} bytes" in out
    for each in made.index.tried:
        assert f"{each.type}, {each.code_bytes} bytes" in out
