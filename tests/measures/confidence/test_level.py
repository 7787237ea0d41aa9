import numpy as np
import pytest

from hubless.measures.confidence.level import PENALTIES, Level


def ridge(rows, values, penalty):
    """Weights and constant of a ridge regression, whose constant costs nothing."""
    centred = rows - rows.mean(axis=0)
    weights = np.linalg.solve(centred.T @ centred + penalty * np.eye(rows.shape[1]), centred.T @ values)
    return weights, values.mean() - rows.mean(axis=0) @ weights


@pytest.mark.parametrize("seed", range(8))
def test_level_is_that_of_the_ridge_which_predicts_queries_that_are_left_out_best(seed):
    rng = np.random.default_rng(seed)
    queries, scores = (rng.normal(size=(8, width)).astype(np.float32) for width in (6, 15))
    scores = -np.sort(-scores, axis=1)
    rows, second = queries.astype(np.float64), scores[:, 1].astype(np.float64)
    unit = np.square(rows - rows.mean(axis=0)).sum() / 6

    def error(penalty):
        total = 0.0
        for left_out in range(8):
            weights, constant = ridge(*(np.delete(each, left_out, axis=0) for each in (rows, second)), penalty * unit)
            total += (second[left_out] - rows[left_out] @ weights - constant) ** 2
        return total

    found = Level.fit(queries, scores, scores)
    np.testing.assert_allclose(found.weights, ridge(rows, second, min(PENALTIES, key=error) * unit)[0], atol=1e-6)
    assert found.temperature == pytest.approx(np.median(scores[:, 1:11].std(axis=1)), rel=1e-5)
