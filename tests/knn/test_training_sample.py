"""What indexes learn from a sample: directions, centroids and codes, once for all, and how the bank finds lists."""

import numpy as np
import pytest
from support.problems import normal

from hubless.builder.needed_lists import candidates_needed, lists_needed
from hubless.knn import INDEXES
from hubless.knn.augment import Columns, folded_queries, folded_targets
from hubless.knn.index_files import add_vectors
from hubless.knn.training_sample import RIDGE, TrainingSample
from hubless.vectors.sources import as_source

COUNT, DIM, LISTS = 3000, 32, 70


@pytest.fixture(scope="module")
def vectors():
    return folded_targets(normal(COUNT, DIM, 0), normal(1, COUNT, 1)[0])


def asked(count, seed):
    """Queries that lie elsewhere than the targets."""
    return folded_queries(normal(count, DIM, seed, 0.5) + 2 * normal(1, DIM, 7), 1.0)


def test_guides_are_those_of_a_regression_by_single_queries(vectors):
    sample = TrainingSample(vectors, Columns(DIM, DIM), 0, asked(200, 2))
    turned, queries = sample.turned.astype(np.float64), sample.directions[0].apply(sample.queries).astype(np.float64)
    centroids = sample.centroids(LISTS).astype(np.float64)
    of_rows = (turned @ centroids.T).argmax(axis=1)
    best = np.array(
        [
            [max(turned[of_rows == each] @ query, default=centroids[each] @ query) for each in range(LISTS)]
            for query in queries
        ]
    )
    ridge = RIDGE * (queries**2).sum() / queries.shape[1]
    change = np.zeros_like(centroids)
    for each in range(LISTS):
        rows = np.vstack([queries, np.sqrt(ridge) * np.eye(queries.shape[1])])
        wanted = np.concatenate([best[:, each] - queries @ centroids[each], np.zeros(queries.shape[1])])
        change[each] = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    np.testing.assert_allclose(sample.guides(LISTS), centroids + change, rtol=0, atol=2e-3)


def test_without_queries_or_with_one_list_centroids_guide(vectors):
    without = TrainingSample(vectors, Columns(DIM, DIM))
    np.testing.assert_array_equal(without.guides(LISTS), without.centroids(LISTS))
    one = TrainingSample(vectors, Columns(DIM, DIM), 0, asked(50, 2))
    np.testing.assert_array_equal(one.guides(1), one.centroids(1))


KIND = INDEXES["ivf_fastscan"]


def best_ten(vectors):
    queries = asked(300, 3)
    return queries, np.argsort(-(queries @ vectors.T), axis=1)[:, :10]


def share_found(vectors, index, **parameters):
    """Of the ten best targets of each query."""
    queries, exact = best_ten(vectors)
    _, rows = KIND.search(index, queries, 10, parameters)
    return np.mean([len(set(a) & set(b)) for a, b in zip(rows, exact, strict=True)]) / 10


def test_guided_queries_find_more_in_as_many_lists(vectors):
    found = []
    for bank in (None, asked(1000, 2)):
        sample = TrainingSample(vectors, Columns(DIM, DIM), 0, bank)
        index = KIND.new(COUNT, vectors.shape[1], sample)
        add_vectors(index, as_source(vectors, "targets"))
        sample.guide(index)
        found.append(share_found(vectors, index, nprobe=6, k_factor=64))
    assert found[1] > found[0] + 0.05


def test_fewest_lists_and_candidates_with_a_share_of_the_best_are_known_without_an_index(vectors):
    queries, exact = best_ten(vectors)
    sample = TrainingSample(vectors, Columns(DIM, DIM), 0, asked(1000, 2))
    needed = lists_needed(sample, KIND.lists(COUNT), queries, vectors[exact.ravel()], 0.9)
    index = KIND.new(COUNT, vectors.shape[1], sample)
    add_vectors(index, as_source(vectors, "targets"), sample=sample)
    found = [share_found(vectors, index, nprobe=lists, k_factor=COUNT // 10) for lists in (needed - 1, needed)]
    assert found[0] < 0.9 <= found[1]
    share = candidates_needed(False, sample, queries, vectors[exact.ravel()], 0.99)
    found = [share_found(vectors, index, nprobe=COUNT, k_factor=COUNT * share / each) for each in (14, 8)]
    assert found[0] < 0.99 <= found[1]


def test_fine_codes_are_halves_of_the_others_and_share_directions_and_lists():
    wide = folded_targets(normal(COUNT, 136, 0), np.zeros(COUNT, np.float32))
    sample = TrainingSample(wide, Columns(136, 136))
    assert sample.codebook(True).M == 2 * sample.codebook(False).M
    assert sample.codebook(True) is sample.codebook(True)
