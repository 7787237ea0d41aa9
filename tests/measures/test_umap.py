"""The map by UMAP (`make extras`), and what is said without its package."""

import importlib.util

import numpy as np
import pytest
from support import small

import hubless
from hubless.errors import InputError
from hubless.measures.projection import project
from hubless.search.parts import projection

pytestmark = pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")

HERE = importlib.util.find_spec("umap") is not None
needs_umap = pytest.mark.skipif(not HERE, reason="needs umap-learn: make extras")


def groups(seed=0):
    """Five groups of 40 targets that lie far apart in 20 dimensions, and their numbers."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(5), 40)
    rows = 10 * rng.normal(size=(5, 20))[numbers] + rng.normal(size=(200, 20))
    return rows.astype(np.float32), numbers


@needs_umap
def test_neighbours_are_together_and_queries_among_them():
    rows, numbers = groups()
    found = project(len(rows), lambda wanted: rows[wanted], rows[::10] + 0.01, method="umap")
    assert found.method == "umap"
    assert found.explained is None
    centres = np.stack([found.targets[numbers == each].mean(axis=0) for each in range(5)])
    for places, wanted in ((found.targets, numbers), (found.queries, numbers[::10])):
        distances = np.linalg.norm(places[:, np.newaxis] - centres, axis=2)
        assert np.array_equal(distances.argmin(axis=1), wanted)


@pytest.mark.skipif(importlib.util.find_spec("sklearn") is None, reason="needs scikit-learn: make extras")
def test_groups_lie_apart_by_t_sne_with_their_queries():
    rows, numbers = groups()
    found = project(len(rows), lambda wanted: rows[wanted], rows[::10] + 0.01, method="tsne")
    centres = np.stack([found.targets[numbers == each].mean(axis=0) for each in range(5)])
    distances = np.linalg.norm(found.targets[:, np.newaxis] - centres, axis=2)
    assert np.array_equal(distances.argmin(axis=1), numbers)
    assert found.queries.shape == (20, 2)


@needs_umap
def test_version_keeps_its_map_and_so_does_the_next_one(tmp_path):
    targets, bank = groups()[0], groups(1)[0]
    hubless.build(tmp_path, "all", targets, bank, correction="csls", projection="umap", progress=False)
    stored = projection(hubless.open(tmp_path, "all").parts)
    assert stored.method == "umap"
    assert stored.targets.shape == (200, 2)
    hubless.refit(tmp_path, "all", bank[:100], progress=False)
    assert projection(hubless.open(tmp_path, "all").parts).method == "umap"


@pytest.mark.skipif(HERE, reason="umap-learn is here")
def test_without_the_package_the_error_says_how_to_install_it(tmp_path):
    with pytest.raises(InputError, match=r"projection: .*what draws umap \(pip install '\.\[umap\]'"):
        hubless.build(tmp_path, "all", small.targets(), small.query_bank(), projection="umap", progress=False)


def test_unknown_projection_is_refused(tmp_path):
    with pytest.raises(InputError, match="projection: expected pca or umap, got 't-sne'"):
        hubless.build(tmp_path, "all", small.targets(), small.query_bank(), projection="t-sne", progress=False)
    assert not list(tmp_path.iterdir())
