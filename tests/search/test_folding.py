"""Offsets folded into vectors: what a query finds is what the formula says, q·t − λ·h, on every kind of index."""

import faiss
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import naive
from support.problems import with_hubs

import hubless
from hubless.errors import NotFinite
from hubless.knn.augment import augmented_dim, centre, folded_queries, folded_targets
from hubless.vectors.arrays import unit_rows

PROBLEM = with_hubs(targets=300, bank=200, queries=40, dim=12)
K = 10
EVERYTHING = {"flat": {}, "hnsw": {"ef": 300}}
"""Search parameters with which the index looks at all of 300 targets."""


@pytest.fixture(scope="module", params=["cosine", "dot"])
def metric(request):
    return request.param


@pytest.fixture(scope="module", params=["flat", "hnsw"])
def collection(request, metric, tmp_path_factory):
    catalog = tmp_path_factory.mktemp("catalog")
    inputs = PROBLEM.targets, PROBLEM.bank
    hubless.build(catalog, "c", *inputs, target_bank=PROBLEM.target_bank, metric=metric, index=request.param)
    return hubless.open(catalog, "c")


@pytest.fixture(scope="module")
def compared(metric):
    """Queries and targets as they are compared."""
    both = PROBLEM.queries, PROBLEM.targets
    return [unit_rows(rows, "rows") for rows in both] if metric == "cosine" else both


def ask(collection, strength, limit=K, queries=PROBLEM.queries):
    return collection.query(queries, limit, strength, EVERYTHING[collection.manifest.index.type])


def test_strength_0_is_plain_faiss_over_the_targets(collection, compared):
    queries, targets = compared
    plain = faiss.IndexFlatIP(targets.shape[1])
    plain.add(targets)
    scores, rows = plain.search(queries, K)
    found = ask(collection, 0)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.scores, scores, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.similarities, scores, rtol=0, atol=1e-6)


@pytest.mark.parametrize("strength", [0.25, 1, 2])
def test_strength_is_how_much_of_the_offset_is_taken_off(collection, compared, strength):
    queries, targets = compared
    similarities = naive.similarities(queries, targets)
    scores, rows = naive.top_k(similarities - strength * collection.offsets, K)
    found = ask(collection, strength)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.scores, scores, rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.similarities, np.take_along_axis(similarities, rows, axis=1), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found.offsets, collection.offsets[rows])
    np.testing.assert_allclose(found.scores, found.similarities - strength * found.offsets, rtol=0, atol=1e-6)


@pytest.mark.parametrize("ef", [2**31, 10**30])
def test_graph_search_wider_than_the_graph_looks_at_all_of_it(collection, ef):
    if collection.manifest.index.type == "hnsw":
        found = collection.query(PROBLEM.queries, parameters={"ef": ef})
        np.testing.assert_array_equal(found.rows, ask(collection, found.strength).rows)


@settings(max_examples=30, deadline=None)
@given(dim=st.integers(1, 40), strength=st.floats(0, 2), seed=st.integers(0, 2**32 - 1))
def test_inner_product_of_augmented_vectors_is_the_corrected_score(dim, strength, seed):
    problem = with_hubs(targets=5, bank=2, target_bank=2, queries=3, dim=dim, seed=seed)
    offsets = np.random.default_rng(seed).normal(size=5).astype(np.float32)
    targets, queries = folded_targets(problem.targets, offsets), folded_queries(problem.queries, strength)
    assert targets.shape == (5, augmented_dim(dim))
    assert queries.shape == (3, augmented_dim(dim))
    expected = naive.similarities(problem.queries, problem.targets) - strength * offsets
    np.testing.assert_allclose(queries @ targets.T, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("dim", "augmented"), [(1, 16), (14, 16), (15, 32), (16, 32), (31, 48), (512, 528)])
def test_augmented_dimension_is_the_next_multiple_of_16_with_room_for_the_offset_and_its_rest(dim, augmented):
    assert augmented_dim(dim) == augmented


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_offset_that_is_not_finite_is_refused_naming_its_target(number):
    with pytest.raises(NotFinite, match=rf"^offset of target 2: expected a finite number, .* got {number}"):
        centre(np.array([0, 1, number, 2], np.float32))
