import numpy as np
import pytest
from scipy.special import logsumexp
from support.figures import DSL_FIRST_ROW, RAW, SINKHORN
from support.rankings import best

from hubless.errors import InputError
from hubless_lab import plans


@pytest.fixture(scope="module")
def matrix(golden):
    return golden["Q"] @ golden["T"].T


def test_exact_transport_is_the_published_codes(golden, matrix):
    plan = plans.otn(matrix)
    np.testing.assert_allclose(plan.sum(axis=1), 1 / 200, atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), 1 / 150, atol=1e-12)
    np.testing.assert_allclose(plan, golden["otn_plan"], rtol=0, atol=1e-8)
    np.testing.assert_array_equal(plan.argmax(axis=1), golden["otn_plan"].argmax(axis=1))


def test_hungarian_assignment_is_the_published_codes(golden, matrix):
    np.testing.assert_array_equal(plans.hn(matrix), golden["hn_plan"])


@pytest.fixture(scope="module")
def plan(matrix):
    return plans.l2n(matrix)


@pytest.mark.slow
class TestSquaredPenalty:
    """The published run stopped at 500 iterations, short of convergence: its row sums are off by up to 70 %."""

    def test_rows_and_columns_share_evenly(self, golden, plan):
        np.testing.assert_allclose(plan.sum(axis=1), 1 / 200, rtol=0.01)
        np.testing.assert_allclose(plan.sum(axis=0), 1 / 150, rtol=0.01)
        published = golden["l2n_plan"].sum(axis=1)
        assert np.abs(200 * published - 1).max() > 0.5

    def test_best_target_is_the_published_codes_where_that_is_clear(self, golden, plan):
        published = golden["l2n_plan"]
        first, second = -np.sort(-published, axis=1)[:, :2].T
        clear = first - second > 1e-3
        same = plan.argmax(axis=1) == published.argmax(axis=1)
        assert clear.sum() > 150
        assert same[clear].mean() > 0.95


def dual_softmax(s, temperature):
    """The published product, one column at a time."""
    softmax = np.stack([np.exp(column - column.max()) for column in s.T / temperature], axis=1)
    return s * softmax / softmax.sum(axis=0)


def columns_first(s, temperature, steps):
    """The two equations of the SIGIR paper."""
    a = s / temperature
    for _ in range(steps):
        a = a - logsumexp(a, axis=0, keepdims=True)
        a = a - logsumexp(a, axis=1, keepdims=True)
    return a


class TestDualSoftmaxAndSinkhorn:
    """Beside plain references, at temperatures where the order of the steps and their number show."""

    @pytest.mark.parametrize("temperature", [0.01, 0.05, 1])
    def test_dsl_ranks_all_targets_as_the_published_product(self, matrix, temperature):
        matrix = matrix.astype(np.float64)
        assert (matrix < 0).any(axis=1).all()
        expected = dual_softmax(matrix, temperature)
        found = plans.dsl(matrix, temperature=temperature)
        np.testing.assert_array_equal(best(found, 150), best(expected, 150))
        positive = matrix > 0
        np.testing.assert_allclose(found[positive], temperature * np.log(expected[positive]), atol=1e-9)

    @pytest.mark.parametrize("steps", [1, 4, 10])
    @pytest.mark.parametrize("temperature", [0.01, 0.05, 1])
    def test_sinkhorn_is_the_papers_two_equations(self, matrix, temperature, steps):
        expected = columns_first(matrix.astype(np.float64), temperature, steps)
        found = plans.sinkhorn(matrix, temperature=temperature, iterations=steps)
        np.testing.assert_allclose(found / temperature, expected, atol=1e-9)

    def test_figure_1_of_the_sigir_paper(self):
        weights = np.exp(np.exp(plans.dsl(RAW, temperature=1.0)))
        shown = weights / weights.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shown[0], DSL_FIRST_ROW, rtol=0, atol=1e-4)
        assert shown.argmax(axis=1).tolist() == [0, 1, 1, 0]
        plan = np.exp(plans.sinkhorn(RAW, temperature=1.0, iterations=4))
        np.testing.assert_allclose(plan, SINKHORN, rtol=0, atol=1e-4)
        assert plan.argmax(axis=1).tolist() == [0, 1, 2, 3]

    def test_low_temperature_under_metric_dot_leaves_no_ties(self):
        """exp(-30/0.003) is 0 in 64 bits: a product of exponentials would rank nothing."""
        made = 10 * np.random.default_rng(3).normal(size=(9, 8))
        for scores in (plans.dsl(made, 0.003), plans.sinkhorn(made, 0.003)):
            assert all(len(np.unique(row)) == 8 for row in scores)


@pytest.mark.parametrize("name", plans.WHOLE_MATRIX)
class TestEveryPlan:
    def test_permuting_queries_and_targets_permutes_scores(self, name):
        rng = np.random.default_rng(1)
        made, rows, columns = rng.normal(size=(6, 6)), rng.permutation(6), rng.permutation(6)
        found = plans.WHOLE_MATRIX[name](made[rows][:, columns])
        np.testing.assert_allclose(found, plans.WHOLE_MATRIX[name](made)[rows][:, columns], atol=1e-3)

    def test_hub_is_shared_out(self, name):
        """All queries are nearest to target 0, and each to its own next."""
        made = 0.5 * np.eye(4) + np.outer(np.ones(4), [1, 0, 0, 0])
        assert made.argmax(axis=1).tolist() == [0, 0, 0, 0]
        assert plans.WHOLE_MATRIX[name](made).argmax(axis=1).tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize(
        ("wrong", "received"),
        [
            (np.ones(4), r"shape \(4,\)"),
            (np.ones((2, 2), int), "int64"),
            (np.empty((0, 3)), r"shape \(0, 3\)"),
            (np.array([[0.1, np.nan]]), "NaN"),
        ],
    )
    def test_what_is_no_matrix_of_finite_numbers_is_refused(self, name, wrong, received):
        with pytest.raises(InputError, match=f"similarities: expected .*{received}"):
            plans.WHOLE_MATRIX[name](wrong)
