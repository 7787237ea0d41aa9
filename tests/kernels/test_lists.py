"""Sums over lists and floors, against the same on the whole matrix."""

import numpy as np
import pytest
from scipy.special import logsumexp
from support import naive

from hubless.kernels.lists import ListEntropy, list_potentials
from hubless.kernels.sparse import Sparse


def dense(matrix):
    """Return a matrix of lists as an array (b, n)."""
    full = np.zeros((matrix.height, matrix.width))
    full[matrix.rows, matrix.columns] = matrix.values
    return full


def naive_potentials(full, temperature, iterations, weights=None):
    """Sinkhorn on the whole matrix (b, n), as `list_potentials`, in the log domain."""
    b, n = full.shape
    share, c = np.full(b, 1 / b) if weights is None else weights / weights.sum(), 0
    for _ in range(iterations):
        a = np.log(share) - logsumexp(full / temperature + c, axis=1)
        v = logsumexp(full / temperature + a[:, np.newaxis], axis=0)
        c = -np.log(n) - v
    return a, temperature * v


@pytest.fixture(scope="module")
def matrix():
    """Lists of 1 to 12 of 60 items; four items are in no list."""
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 13, 80)
    columns = np.concatenate([rng.choice(56, length, replace=False) for length in lengths])
    heights = rng.gamma(2, 0.4, len(columns))
    return Sparse(np.concatenate([[0], np.cumsum(lengths)]), columns.astype(np.int32), heights, 60)


@pytest.mark.parametrize("temperature", [0.02, 0.3, 5.0])
@pytest.mark.parametrize("weighed", [False, True])
def test_potentials_are_those_of_the_whole_matrix(matrix, temperature, weighed):
    weights = np.random.default_rng(4).random(matrix.height) + 0.1 if weighed else None
    a, offsets = list_potentials(matrix, temperature, 10, weights)
    wanted_a, wanted = naive_potentials(dense(matrix), temperature, 10, weights)
    np.testing.assert_allclose(offsets - offsets.mean(), wanted - wanted.mean(), atol=1e-9)
    np.testing.assert_allclose(a - a.mean(), wanted_a - wanted_a.mean(), atol=1e-7)
    assert np.ptp(offsets) > 0.05


def test_coldest_temperature_leaves_finite_offsets(matrix):
    coldest = float(matrix.values.max()) / 500
    _, offsets = list_potentials(matrix, coldest, 10)
    _, wanted = naive_potentials(dense(matrix), coldest, 10)
    np.testing.assert_allclose(offsets - offsets.mean(), wanted - wanted.mean(), atol=1e-8)


def test_items_of_no_list_have_the_smallest_offset(matrix):
    _, offsets = list_potentials(matrix, 0.3, 10)
    absent = matrix.found() == 0
    assert absent.sum() >= 4
    assert offsets[absent].max() <= offsets[~absent].min()


@pytest.mark.parametrize("temperature", [0.05, 0.4, 3.0])
def test_entropy_and_spread_are_those_of_the_whole_columns(matrix, temperature):
    full = dense(matrix)[:, matrix.found() > 0]
    entropy = ListEntropy.of(matrix)
    assert entropy(temperature) == pytest.approx(naive.entropies(full.T / temperature).mean(), abs=1e-9)
    assert entropy.spread() == pytest.approx(full.std(axis=0).mean())


def test_entropy_of_a_sample_of_items_is_near_that_of_all(matrix, monkeypatch):
    of_all = ListEntropy.of(matrix)(0.4)
    monkeypatch.setattr("hubless.kernels.lists.SAMPLED_ENTRIES", len(matrix.columns) // 2)
    some = ListEntropy.of(matrix)
    assert len(some.counts) < 40
    assert some(0.4) == pytest.approx(of_all, abs=0.1)


def test_taken_lists_are_rows_of_the_matrix(matrix):
    rows = np.array([5, 2, 2, 79])
    np.testing.assert_array_equal(dense(matrix.taken(rows)), dense(matrix)[rows])
