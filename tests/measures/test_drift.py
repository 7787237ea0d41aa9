import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from hubless import measures
from hubless.measures import drift

DIM = 16


def queries(count, seed, shift=0.0):
    rows = np.random.default_rng(seed).normal(size=(count, DIM))
    rows[:, 0] += shift
    return rows.astype(np.float32)


def energy(x, y):
    def mean(a, b):
        return np.mean([np.linalg.norm(p - q) for p in a for q in b])

    return 2 * mean(x, y) - mean(x, x) - mean(y, y)


def test_queries_like_those_of_the_bank_stay_below_one():
    found = [measures.energy_drift(queries(200, seed), queries(200, seed + 1000)) for seed in range(30)]
    assert sum(value > 1 for value in found) <= 2
    assert max(found) < 2
    assert np.median(found) < 0.5


@pytest.mark.parametrize("count", [60, 200])
def test_queries_that_have_shifted_are_above_one_and_more_so_the_further(count):
    found = [measures.energy_drift(queries(count, 1, shift), queries(200, 2)) for shift in (1, 2, 4)]
    assert found[0] > 2
    assert found == sorted(found)


def test_repeated_queries_count_once():
    live = queries(100, 1)
    repeated = np.concatenate([live, np.repeat(live[:1], 400, axis=0)])
    assert measures.energy_drift(repeated, queries(100, 2)) == measures.energy_drift(live, queries(100, 2))


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([-3.0, 0.5]), st.sampled_from([0.1, 7.0]))
def test_moving_and_scaling_both_sides_changes_nothing(seed, step, scale):
    live, bank = queries(40, seed, 0.7), queries(30, seed + 1)
    moved = measures.energy_drift(scale * (live + np.float32(step)), scale * (bank + np.float32(step)))
    assert moved == pytest.approx(measures.energy_drift(live, bank), rel=1e-3, abs=1e-3)


def test_distance_within_is_the_energy_distance(monkeypatch):
    """Where chance is a single deal, of which the distance is known, what is left is the distance itself."""
    live, bank = queries(7, 1, 1.0), queries(5, 2)
    x, y = np.unique(live, axis=0), np.unique(bank, axis=0)
    together = np.concatenate([x, y])
    monkeypatch.setattr(drift, "PERMUTATIONS", 2)
    rng = np.random.default_rng(0)
    dealt = [rng.permutation(12), rng.permutation(12)]
    by_chance = [energy(together[order < 7], together[order >= 7]) for order in dealt]
    border = np.quantile(by_chance, drift.CHANCE_QUANTILE) - np.mean(by_chance)
    expected = (energy(x, y) - np.mean(by_chance)) / border
    assert measures.energy_drift(live, bank) == pytest.approx(max(0, expected), rel=1e-6)
