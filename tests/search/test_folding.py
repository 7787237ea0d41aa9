"""Offsets folded into vectors: an inner product of augmented vectors is what the formula says, q·t − λ·h."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import naive
from support.problems import with_hubs

import hubless
from hubless.errors import NotFinite
from hubless.knn.augment import augmented_dim, centre, folded_queries, folded_targets

PROBLEM = with_hubs(targets=300, bank=200, queries=40, dim=12)


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


@pytest.mark.parametrize("ef", [2**31, 10**30])
def test_graph_search_wider_than_the_graph_looks_at_all_of_it(ef):
    index = hubless.Index("csls", "cosine", index="hnsw").fit(PROBLEM.bank, PROBLEM.targets)
    whole = index.query(PROBLEM.queries, parameters={"exact": True})
    np.testing.assert_array_equal(index.query(PROBLEM.queries, parameters={"ef": ef}).rows, whole.rows)
