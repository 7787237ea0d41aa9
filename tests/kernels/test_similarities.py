import numpy as np
import pytest
from support import naive
from support.problems import with_hubs

from hubless import CORRECTIONS
from hubless.kernels import similarities
from hubless.kernels.similarities import Factors, Recomputed
from hubless.vectors.sources import ArrayVectors

PROBLEM = with_hubs(targets=300, bank=400)


def fit(**parameters):
    return CORRECTIONS["sn"](**{"temperature": 0.1} | parameters).fit(PROBLEM.bank, PROBLEM.targets)


def between(temperature):
    return similarities.similarities(
        ArrayVectors(PROBLEM.bank, "bank"), ArrayVectors(PROBLEM.targets, "targets"), temperature
    )


def smallest_temperature_of_factors():
    """Below it the best of some targets lie further below the best of their bank queries than float32 reaches."""
    products = PROBLEM.bank @ PROBLEM.targets.T
    below = (products - products.max(axis=1, keepdims=True)).max(axis=0)
    return float(np.ptp(below)) / similarities.MOST_SPREAD


def test_factors_are_kept_only_where_float32_holds_them():
    limit = smallest_temperature_of_factors()
    assert isinstance(between(limit * 1.01), Factors)
    assert isinstance(between(limit * 0.99), Recomputed)


@pytest.mark.parametrize("spread", [0, 40, 60, 200, 1000])
def test_factors_are_exact_with_potentials_of_any_spread(spread):
    temperature = 1.01 * smallest_temperature_of_factors()
    factors = between(temperature)
    of_targets = spread * np.linspace(-0.5, 0.5, 300)[::-1]
    expected = naive.softmax_offsets(PROBLEM.targets, PROBLEM.bank, temperature, of_targets)
    weights = np.linspace(0.5, 2, 400)
    over_targets, over_bank = factors.step(of_targets, weights)
    np.testing.assert_allclose(temperature * over_targets, expected, atol=2e-6)
    expected = naive.softmax_offsets(PROBLEM.bank, PROBLEM.targets, temperature, np.log(weights) - over_targets)
    np.testing.assert_allclose(temperature * over_bank, expected, atol=2e-6)


def test_bank_is_sampled_only_where_the_matrix_would_not_be_kept(monkeypatch):
    assert fit().details["fitted_on_queries"] == 400
    monkeypatch.setattr(similarities, "KEEP_BYTES", 4 * 200 * 300)
    sampled = fit()
    assert sampled.details["fitted_on_queries"] == 200
    assert len(sampled.potentials) == 400
    assert fit(fit_sample="all").details["fitted_on_queries"] == 400
