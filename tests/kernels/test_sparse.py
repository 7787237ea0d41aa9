"""Sparse products and connected components, against SciPy's."""

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from hubless.kernels import sparse
from hubless.kernels.connected import connected
from hubless.kernels.sparse import Sparse


def lists(rows, width, seed, longest=9):
    """Lists of which some are empty, the first and the last among them; a few columns are in most."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, longest, rows)
    counts[[0, -1]] = 0
    often = 1 / np.arange(1, width + 1)
    columns = [rng.choice(width, count, replace=False, p=often / often.sum()) for count in counts]
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Sparse(starts, np.concatenate(columns).astype(np.int32), rng.normal(size=starts[-1]), width)


def scipys(matrix):
    return csr_array((matrix.values, matrix.columns, matrix.starts), shape=(len(matrix.counts), matrix.width))


def test_products_with_vectors_are_scipys():
    matrix = lists(60, 40, 0)
    x, y = np.random.default_rng(1).normal(size=40), np.random.default_rng(2).normal(size=60)
    np.testing.assert_allclose(matrix.times(x), scipys(matrix) @ x, atol=1e-12)
    np.testing.assert_allclose(matrix.turned_times(y), scipys(matrix).T @ y, atol=1e-12)


@pytest.mark.parametrize("products", [0, 4, 256], ids=["one by one", "both", "full"])
@pytest.mark.parametrize("pairs", [1, 7, 2**22])
def test_overlaps_are_scipys_however_they_are_made(monkeypatch, products, pairs):
    monkeypatch.setattr(sparse, "FULL_PRODUCTS", products)
    monkeypatch.setattr(sparse, "PAIRS", pairs)
    ours, others = lists(30, 25, 3), lists(50, 25, 4, 20)
    np.testing.assert_allclose(ours.overlaps(others), (scipys(ours) @ scipys(others).T).toarray(), atol=1e-12)


@pytest.mark.parametrize("edges", [0, 30, 90, 400])
def test_components_are_scipys_each_by_its_least_node(edges):
    rng = np.random.default_rng(edges)
    first, second = rng.integers(0, 100, (2, edges))
    graph = coo_array((np.ones(edges), (first, second)), shape=(100, 100))
    labels = connected_components(graph, directed=False)[1]
    expected = [int(np.flatnonzero(labels == label)[0]) for label in labels]
    assert connected(first, second, 100).tolist() == expected


def test_long_chain_in_any_order_is_one_component():
    order = np.random.default_rng(0).permutation(5000)
    assert (connected(order[1:], order[:-1], 5000) == 0).all()
