import numpy as np
import pytest
from support.hubs import unit

from hubless.measures.likeness import reciprocity, related, share_among, told_apart
from hubless.vectors.sources import ArrayVectors


def normal(rows, dim=32, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, dim)).astype(np.float32)


def test_rows_that_stand_among_others_are_counted_in_float16_too():
    others = normal(500)
    rows = np.concatenate([others[:30], others[30:60].astype(np.float16), normal(40, seed=1)]).astype(np.float32)
    assert share_among(rows, ArrayVectors(others, "others")) == pytest.approx(0.6)


def test_shifted_cloud_is_told_apart_as_well_as_the_best_classifier_does():
    """Two normal clouds at a distance δ: the best AUC is Φ(δ/√2)."""
    shifted = normal(2000, 4, seed=1)
    shifted[:, 0] += 1
    assert told_apart(normal(2000, 4), shifted) == pytest.approx(0.760, abs=0.03)


def test_clouds_without_any_spread_are_told_apart_by_their_place():
    here, there = np.zeros((10, 3), np.float32), np.ones((10, 3), np.float32)
    assert told_apart(here, there) == 1
    assert told_apart(here, here) == 0.5


def test_queries_near_their_targets_are_related_and_those_of_another_space_are_not():
    targets = unit(normal(400))
    queries = unit(targets[:200] + 0.1 * normal(200, seed=1))
    assert related(queries, targets) > 0.95
    assert related(queries @ np.linalg.qr(normal(32, 32, seed=2))[0], targets) == pytest.approx(0.5, abs=0.1)


def test_reciprocity_is_the_share_of_mutual_nearest_neighbours():
    """Three pairs on their own axes, and a fourth query that finds the first target: three of four are mutual."""
    targets = np.eye(4, dtype=np.float32)
    queries = np.vstack([np.eye(4)[:3], unit(np.array([[2, 0, 0, 1]]))]).astype(np.float32)
    assert reciprocity(queries, targets[[0, 1, 2, 0]]) == 0.75
    assert reciprocity(queries, targets) == 1, "a correction takes the first target from the fourth query"
    assert reciprocity(queries[[0, 0]], targets[[0, 0]]) == 1, "ties count"
