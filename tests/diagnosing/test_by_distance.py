"""Diagnosis under metric euclidean: what it measures is that of distances themselves."""

import numpy as np
from support.by_distance import away_from_origin, similarities

import hubless

PROBLEM = away_from_origin(seed=2, targets=240, bank=200, dim=16)


def test_diagnosis_is_of_the_metric():
    found = hubless.diagnose(PROBLEM.targets, PROBLEM.bank, metric="euclidean")
    assert (found.dim, found.metric, found.bank.among_targets) == (16, "euclidean", 0)


def test_targets_alone_find_each_other_by_distance():
    found = hubless.diagnose(PROBLEM.targets, metric="euclidean")
    near = similarities(PROBLEM.targets, PROBLEM.targets)
    np.fill_diagonal(near, -np.inf)
    counts = np.bincount(np.argsort(-near, axis=1)[:, :10].ravel(), minlength=240)
    np.testing.assert_array_equal(found.occurrences, counts)
    assert found.repeated == 0


def test_copies_among_targets_are_told_by_distance():
    targets = np.concatenate([PROBLEM.targets, PROBLEM.targets[:5] + np.float32(1e-3)])
    found = hubless.diagnose(targets, metric="euclidean")
    assert found.repeated == 10
    assert sorted(len(group) for group in found.near_duplicates) == [2] * 5
