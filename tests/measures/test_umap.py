"""The picture by UMAP (`make extras`), and what is said without its package."""

import importlib.util

import numpy as np
import pytest

from hubless.errors import InputError
from hubless.measures.projection import check_method, project

pytestmark = pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")

HERE = importlib.util.find_spec("umap") is not None


def needing(method, package):
    lacks = importlib.util.find_spec(package) is None
    return pytest.param(method, marks=pytest.mark.skipif(lacks, reason=f"needs {package}: make extras"))


def groups(seed=0):
    """Five groups of 40 targets that lie far apart in 20 dimensions, and their numbers."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(5), 40)
    rows = 10 * rng.normal(size=(5, 20))[numbers] + rng.normal(size=(200, 20))
    return rows.astype(np.float32), numbers


@pytest.mark.parametrize("method", [needing("umap", "umap"), needing("tsne", "sklearn")])
def test_neighbours_are_together_and_queries_among_them(method):
    rows, numbers = groups()
    found = project(len(rows), lambda wanted: rows[wanted], rows[::10] + 0.01, method=method)
    assert found.explained is None
    centres = np.stack([found.targets[numbers == each].mean(axis=0) for each in range(5)])
    for places, wanted in ((found.targets, numbers), (found.queries, numbers[::10])):
        distances = np.linalg.norm(places[:, np.newaxis] - centres, axis=2)
        assert np.array_equal(distances.argmin(axis=1), wanted)


@pytest.mark.skipif(HERE, reason="umap-learn is here")
def test_without_the_package_the_error_says_how_to_install_it():
    with pytest.raises(InputError, match=r"projection: .*what draws umap \(pip install .*\[umap\]"):
        check_method("umap")


def test_unknown_projection_is_refused():
    with pytest.raises(InputError, match="projection: expected pca or umap or tsne, got 't-sne'"):
        check_method("t-sne")
