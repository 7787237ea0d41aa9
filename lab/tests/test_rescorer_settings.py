"""Each rescorer beside its formula over a range of settings: small temperatures, k of 1, 4 and 10, cosine and dot."""

from dataclasses import replace

import numpy as np
import pytest
from support import rescored
from support.rankings import dense, longer, ranks_by, similarities

DEPTHS = (1, 4, 10)


@pytest.fixture(params=["cosine", "dot"])
def given(request, problem):
    return problem if request.param == "cosine" else longer(problem)


@pytest.mark.parametrize("temperature", [0.01, 0.05, 1])
def test_dual_softmax(given, temperature):
    def logarithm(s, b, v):
        """With its sign: the product itself is below any float at a small temperature."""
        own = s / temperature
        size = np.log(np.abs(s)) + own - np.logaddexp(np.logaddexp.reduce(b / temperature, axis=0), own)
        return np.where(s > 0, 1e4 + size, -1e4 - size)

    ranks_by(given, logarithm, "dsl", tolerance=1e-3, temperature=temperature)


@pytest.mark.parametrize("k", DEPTHS)
class TestScaledDistances:
    def test_local_scaling(self, problem, k):
        """The exponential rounds to 0 for far targets: its argument, which ranks alike."""

        def argument(s, b, v):
            return -((1 - s) ** 2) / np.sort(1 - b, axis=0)[k - 1]

        ranks_by(problem, argument, "ls", tolerance=1e-5, k=k)

    def test_contextual_dissimilarity(self, problem, k):
        ranks_by(problem, lambda s, b, v: rescored.nicdm(s, b, k), "nicdm", tolerance=1e-5, k=k)


@pytest.mark.parametrize("k", [4, 10, None])
def test_mutual_proximity(given, k):
    def best(s, b, v):
        expected = rescored.mp(s, b, k)
        return np.where(expected > np.sort(expected, axis=1)[:, [-100]], expected, -np.inf)

    expected = best(*similarities(given))
    order = np.argsort(-dense(given, "mp", candidates=None, k=k), axis=1, kind="stable")[:, :60]
    assert (np.diff(np.take_along_axis(expected, order, axis=1), axis=1) <= 1e-4).all()


def test_mutual_proximity_by_counting_among_items_of_the_targets_kind(given):
    """Where as many rows are further, the similarity decides."""
    problem = replace(given, bank=given.target_bank)
    among = problem.queries.astype(np.float64) @ problem.bank.T.astype(np.float64)

    def formula(s, b, v):
        return rescored.mp_empiric(s, b, among) + 1e-6 * s

    ranks_by(problem, formula, "mp_empiric", tolerance=1e-7)
