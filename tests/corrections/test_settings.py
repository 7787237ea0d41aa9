"""Each method beside its formula over a range of settings: small temperatures, k of 1, 4 and 10, cosine and dot.

At one setting two methods can rank alike. So the last test checks that these tell the methods apart.
"""

import numpy as np
import pytest
from support import formulas
from support.rankings import dense, longer, ranks_by, similarities

TEMPERATURES = (0.01, 0.05, 1)
DEPTHS = (1, 4, 10)


@pytest.fixture(params=["cosine", "dot"])
def given(request, problem):
    """Under metric dot, lengths are from 0.5 to 3, and with them the similarities."""
    if request.param == "cosine":
        return problem
    return longer(problem)


def check(problem, formula, name, tolerance=2e-5, **parameters):
    """The scores are those of the formula but for a constant a query, over all targets."""
    expected = formula(*similarities(problem))
    found = dense(problem, name, **parameters)
    difference = found - expected
    np.testing.assert_allclose(difference, np.broadcast_to(difference[:, :1], found.shape), atol=tolerance)


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
        ranks_by(given, lambda s, b, v: formulas.dis(s, b, temperature, k), "dis", **named)
        ranks_by(given, lambda s, b, v: formulas.dis_of_targets(s, b, temperature, k), "dis", gate="target", **named)

    @pytest.mark.parametrize("steps", DEPTHS)
    def test_single_query_sinkhorn_under_either_metric(self, given, temperature, steps):
        formula = lambda s, b, v: formulas.sinkhorn(s, b, temperature, steps)  # noqa: E731
        ranks_by(given, formula, "sinkhorn", tolerance=2e-5, temperature=temperature, iterations=steps)
