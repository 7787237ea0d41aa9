"""Each method beside its formula over a range of settings: small temperatures, k of 1, 4 and 10, cosine and dot.

At one setting two methods can rank alike. So the last test checks that these tell the methods apart.
"""

from dataclasses import replace

import numpy as np
import pytest
from support import formulas
from support.rankings import dense, similarities

TEMPERATURES = (0.01, 0.05, 1)
DEPTHS = (1, 4, 10)


@pytest.fixture(params=["cosine", "dot"])
def given(request, problem):
    """Under metric dot, lengths are from 0.5 to 3, and with them the similarities."""
    if request.param == "cosine":
        return problem
    rng = np.random.default_rng(2)
    longer = {
        name: rows * rng.uniform(0.5, 3, size=(len(rows), 1)).astype(np.float32) for name, rows in vars(problem).items()
    }
    return replace(problem, **longer)


def check(problem, formula, name, tolerance=2e-5, **parameters):
    """The scores are those of the formula but for a constant a query, over all targets."""
    expected = formula(*similarities(problem))
    found = dense(problem, name, **parameters)
    difference = found - expected
    np.testing.assert_allclose(difference, np.broadcast_to(difference[:, :1], found.shape), atol=tolerance)


def ranks(problem, formula, name, tolerance=1e-6, **parameters):
    """All targets stand in the order of the formula, but for ties."""
    expected = formula(*similarities(problem))
    order = np.argsort(-dense(problem, name, candidates=None, **parameters), axis=1, kind="stable")
    in_order = np.take_along_axis(expected, order, axis=1)
    assert (np.diff(in_order, axis=1) <= tolerance).all()
    assert (np.diff(expected, axis=1) > tolerance).any()


@pytest.mark.parametrize("k", [*DEPTHS, 90])
def test_neighbour_methods(given, k):
    """k of 90 is all of the bank."""
    check(given, lambda s, b, v: formulas.neighbours(s, b, k, 0.75), "nnn", k=k, weight=0.75)
    check(given, lambda s, b, v: formulas.neighbours(s, b, k, 0.5), "csls", k=k)


@pytest.mark.parametrize("k", [*DEPTHS, 90])
def test_local_centres_by_squared_distances(given, k):
    vectors = [rows.astype(np.float64) for rows in (given.queries, given.targets, given.bank)]
    check(given, lambda s, b, v: formulas.dissimlocal(*vectors, k), "dissimlocal", k=k)


@pytest.mark.parametrize("temperature", TEMPERATURES)
class TestSoftmaxes:
    def test_inverted_softmax(self, given, temperature):
        check(given, lambda s, b, v: formulas.inverted_softmax(s, b, temperature), "is", temperature=temperature)

    def test_dual_inverted_softmax(self, given, temperature):
        for taus in ((temperature, 0.05), (0.05, temperature)):
            named = {"query_temperature": taus[0], "target_temperature": taus[1]}
            check(given, lambda s, b, v, taus=taus: formulas.dual_is(s, b, v, taus), "dual_is", **named)

    @pytest.mark.parametrize("steps", DEPTHS)
    def test_sinkhorn_normalisation_over_one_bank_and_two(self, given, temperature, steps):
        named = {"temperature": temperature, "iterations": steps}
        check(given, lambda s, b, v: formulas.sinkhorn_normalisation(s, b, temperature, steps), "sn", **named)

        def with_target_bank(s, b, v):
            columns = np.hstack([b, given.bank.astype(np.float64) @ given.target_bank.astype(np.float64).T])
            return formulas.sinkhorn_normalisation(s, columns, temperature, steps)

        check(given, with_target_bank, "dbsn", **named)

    @pytest.mark.parametrize("k", DEPTHS)
    def test_dynamic_inverted_softmax_with_either_gate(self, given, temperature, k):
        named = {"temperature": temperature, "k": k}
        ranks(given, lambda s, b, v: formulas.dis(s, b, temperature, k), "dis", **named)
        ranks(given, lambda s, b, v: formulas.dis_of_targets(s, b, temperature, k), "dis", gate="target", **named)

    def test_dual_softmax(self, given, temperature):
        def logarithm(s, b, v):
            """With its sign: the product itself is below any float at a small temperature."""
            own = s / temperature
            size = np.log(np.abs(s)) + own - np.logaddexp(np.logaddexp.reduce(b / temperature, axis=0), own)
            return np.where(s > 0, 1e4 + size, -1e4 - size)

        ranks(given, logarithm, "dsl", tolerance=1e-3, temperature=temperature)

    @pytest.mark.parametrize("steps", DEPTHS)
    def test_single_query_sinkhorn_under_either_metric(self, given, temperature, steps):
        formula = lambda s, b, v: formulas.sinkhorn(s, b, temperature, steps)  # noqa: E731
        ranks(given, formula, "sinkhorn", tolerance=2e-5, temperature=temperature, iterations=steps)


@pytest.mark.parametrize("k", DEPTHS)
class TestScaledDistances:
    def test_local_scaling(self, problem, k):
        """The exponential rounds to 0 for far targets: its argument, which ranks alike."""

        def argument(s, b, v):
            return -((1 - s) ** 2) / np.sort(1 - b, axis=0)[k - 1]

        ranks(problem, argument, "ls", tolerance=1e-5, k=k)

    def test_contextual_dissimilarity(self, problem, k):
        ranks(problem, lambda s, b, v: formulas.nicdm(s, b, k), "nicdm", tolerance=1e-5, k=k)


@pytest.mark.parametrize("k", [4, 10, None])
def test_mutual_proximity(given, k):
    def best(s, b, v):
        expected = formulas.mp(s, b, k)
        return np.where(expected > np.sort(expected, axis=1)[:, [-100]], expected, -np.inf)

    expected = best(*similarities(given))
    order = np.argsort(-dense(given, "mp", candidates=None, k=k), axis=1, kind="stable")[:, :60]
    assert (np.diff(np.take_along_axis(expected, order, axis=1), axis=1) <= 1e-4).all()


def test_mutual_proximity_by_counting_among_items_of_the_targets_kind(given):
    """Where as many rows are further, the similarity decides."""
    problem = replace(given, bank=given.target_bank)
    among = problem.queries.astype(np.float64) @ problem.bank.T.astype(np.float64)

    def formula(s, b, v):
        return formulas.mp_empiric(s, b, among) + 1e-6 * s

    ranks(problem, formula, "mp_empiric", tolerance=1e-7)
