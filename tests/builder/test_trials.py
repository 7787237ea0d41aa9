"""Kinds of index that are measured beside each other, of a sample of the targets and of all."""

import faiss
import numpy as np
import pytest
from support.problems import normal

import hubless
from hubless.builder import indexing, trial
from hubless.builder.trial import TriedKind, could_win
from hubless.knn import INDEXES, aims
from hubless.knn.index_files import read_index
from hubless.knn.tuning import Setting

COUNT, DIM = 3000, 136


def tried(name, latency, expected, recall=0.995):
    return TriedKind(INDEXES[name], 1000, Setting({}, recall, latency), 1.0, None, expected)


def test_kinds_that_are_expected_to_be_much_slower_than_the_fastest_cannot_win():
    trials = [tried("fastscan", 0.2, 2.0), tried("ivf_fastscan", 0.3, 0.8), tried("hnsw_sq8", 0.9, 1.0)]
    assert [kind.name for kind in could_win(trials, 0.99)] == ["ivf_fastscan", "hnsw_sq8"]


def test_fast_kind_that_misses_the_recall_cannot_win_unless_all_miss_it():
    trials = [tried("fastscan", 0.2, 0.2, recall=0.97), tried("ivf_fastscan", 0.3, 0.8), tried("hnsw_sq8", 1, 2)]
    assert [kind.name for kind in could_win(trials, 0.99)] == ["ivf_fastscan"]
    assert [kind.name for kind in could_win(trials, 0.999)] == ["ivf_fastscan"]


def build(catalog, sampled, **options):
    """Let a build take a thousand targets for many. Some are tried on a sample if that is smaller than all."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(aims, "FLAT_BYTES", 0)
        changed.setattr(aims, "MEASURED_FROM", 1000)
        changed.setattr(trial, "TRIED_ON", sampled)
        changed.setattr(indexing, "TRIED_FROM", sampled + 1)
        given = {"query_bank": normal(300, DIM, 1), "metric": "cosine", "recall": 0.8, **options}
        return hubless.build(catalog, "c", normal(COUNT, DIM, 0), **given)


@pytest.fixture(scope="module")
def of_all(tmp_path_factory):
    """A catalog, and the manifest of a version of which all ways were built of all targets."""
    path = tmp_path_factory.mktemp("all")
    return path, build(path, COUNT)


def ways(tried):
    return [(each.type, each.code_bytes) for each in tried]


def test_build_measures_all_ways_and_takes_the_fastest_of_them(of_all):
    index = of_all[1].index
    assert [(each.type, each.targets, each.expected_ms) for each in index.tried] == [
        (name, COUNT, None) for name in ("fastscan", "fastscan", "ivf_fastscan", "ivf_fastscan")
    ]
    (chosen,) = (each for each in index.tried if (each.type, each.code_bytes) == (index.type, index.code_bytes))
    assert chosen.parameters == index.parameters
    assert all(each.recall_at_10 >= 0.8 and each.seconds > 0 for each in index.tried)
    assert chosen.latency_ms < 2 * min(each.latency_ms for each in index.tried) + 0.1


def test_stored_index_has_the_codes_that_the_manifest_says(of_all):
    path, made = of_all
    (file,) = path.glob("c/segments/*/index.faiss")
    assert not list(file.parent.glob("index.*scan*"))
    stored = read_index(file)
    coded = faiss.downcast_index(faiss.downcast_index(stored.base_index).index)
    assert coded.pq.code_size == made.index.code_bytes
    coarse, fine = sorted({each.code_bytes for each in made.index.tried})
    assert 1.9 * coarse <= fine <= 2 * coarse
    opened = hubless.open(path, "c")
    opened.check_canaries()
    assert np.isfinite(opened.query(normal(5, DIM, 2)).scores).all()


def test_many_targets_are_tried_on_a_sample_and_those_that_can_win_are_built_of_all(tmp_path):
    index = build(tmp_path, COUNT // 2).index
    sampled = [each for each in index.tried if each.targets == COUNT // 2]
    whole = [each for each in index.tried if each.targets == COUNT]
    assert len(set(ways(sampled))) == 4
    assert sampled + whole == index.tried
    least = min(each.expected_ms for each in sampled)
    near, nearly = ([each for each in sampled if each.expected_ms <= close * least] for close in (1.29, 1.31))
    assert set(ways(near)) <= set(ways(whole)) <= set(ways(nearly))
    assert (index.type, index.code_bytes) in ways(whole)


def test_inspect_lists_what_was_tried(of_all, run):
    path, made = of_all
    out = run("inspect", "--catalog", path, "--collection", "c").out
    assert f"{made.index.type} of {made.index.code_bytes} bytes" in out
    for each in made.index.tried:
        assert f"{each.type}, {each.code_bytes} bytes" in out
