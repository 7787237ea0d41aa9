import numpy as np
import pytest
from scipy import stats

from hubless.measures.chance import antihubs_by_chance, binomial, most_by_chance, skewness_by_chance


@pytest.mark.parametrize(("queries", "targets", "k"), [(50, 400, 10), (3000, 100, 1), (500, 500, 20)])
def test_chance_is_what_random_finds_give(queries, targets, k):
    rng = np.random.default_rng(0)
    occurrence = rng.binomial(queries, k / targets, size=(300, targets))
    skewness = stats.skew(occurrence, axis=None)
    assert skewness_by_chance(queries, targets, k) == pytest.approx(skewness, rel=0.1)
    assert antihubs_by_chance(queries, targets, k) == pytest.approx(np.mean(occurrence == 0), abs=0.01)
    assert most_by_chance(queries, targets, k) == pytest.approx(np.median(occurrence.max(axis=1)), abs=1)


@pytest.mark.parametrize(("most", "count", "share"), [(0, 5, 0.3), (5, 5, 0.3), (40, 900, 0.05), (9000, 100_000, 0.1)])
def test_binomial_probabilities_are_scipys(most, count, share):
    expected = stats.binom.pmf(np.arange(most + 1), count, share)
    np.testing.assert_allclose(binomial(most, count, share), expected, rtol=1e-9, atol=1e-300)
