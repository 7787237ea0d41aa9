import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hubless.measures.chance import antihubs_by_chance, binomial_tail, most_by_chance, skewness_by_chance


@given(st.integers(1, 400), st.floats(1e-6, 0.999))
def test_binomial_tail_is_scipys(trials, probability):
    counts = np.arange(trials + 1)
    expected, tails = stats.binom.logsf(counts - 1, trials, probability), binomial_tail(counts, trials, probability)
    held = expected > -600  # further out scipy's loses digits, and then is −∞
    np.testing.assert_allclose(tails[held], expected[held], rtol=1e-6, atol=1e-9)
    assert np.isfinite(tails).all()


def test_binomial_tail_of_a_hub_is_finite_where_most_targets_are_never_found():
    counts = np.zeros(1000, np.int64)
    counts[0] = 5000
    tails = binomial_tail(counts, 5000, 1 / 1000)
    assert np.isfinite(tails).all()
    assert tails[0] < -30_000
    np.testing.assert_allclose(tails[1:], 0, atol=1e-9)


def test_binomial_tail_is_certain_where_every_target_is_always_found():
    assert binomial_tail(np.array([0, 7]), 7, 1.0).tolist() == [0, 0]


@pytest.mark.parametrize(("queries", "targets", "k"), [(50, 400, 10), (3000, 100, 1), (500, 500, 20)])
def test_chance_is_what_random_finds_give(queries, targets, k):
    rng = np.random.default_rng(0)
    occurrence = rng.binomial(queries, k / targets, size=(300, targets))
    skewness = stats.skew(occurrence, axis=None)
    assert skewness_by_chance(queries, targets, k) == pytest.approx(skewness, rel=0.1)
    assert antihubs_by_chance(queries, targets, k) == pytest.approx(np.mean(occurrence == 0), abs=0.01)
    assert most_by_chance(queries, targets, k) == pytest.approx(np.median(occurrence.max(axis=1)), abs=1)
