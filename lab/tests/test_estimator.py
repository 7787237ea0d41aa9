"""The estimator of scikit-learn (`make extras`)."""

import numpy as np
import pytest
from support.labelled import pairs

pytest.importorskip("sklearn")

from sklearn.utils.estimator_checks import check_estimator

import hubless
from hubless_lab.estimator import CorrectedNeighbors


def test_estimator_passes_the_checks_of_scikit_learn():
    check_estimator(CorrectedNeighbors(), on_skip=None)


def test_neighbours_are_those_of_the_corrected_ranking():
    given, bank = pairs(120), pairs(150, seed=1).queries
    fitted = CorrectedNeighbors(3, metric="cosine", query_bank=bank).fit(given.targets)
    scores = given.queries @ given.targets.T - hubless.offsets(given.targets, bank, metric="cosine")
    np.testing.assert_array_equal(fitted.kneighbors(given.queries)[1], np.argsort(-scores, axis=1)[:, :3])
