import numpy as np
import pytest
from support import naive
from support.problems import normal, with_hubs

from hubless import CORRECTIONS
from hubless.corrections.target_columns import TargetColumn
from hubless.kernels import coupling, truncated
from hubless.vectors.sources import ArrayVectors, sampled_rows

PROBLEM = with_hubs(targets=310, bank=220)


def expected(bank, targets, temperature, potentials, weights=1.0):
    logits = naive.similarities(bank, targets) / temperature
    over_bank = naive.log_sum_exp((logits + potentials[:, np.newaxis]).T)
    return over_bank, naive.log_sum_exp(logits - over_bank + np.log(weights))


def coupled(bank, targets, temperature, potentials, *weights):
    sides = ArrayVectors(bank, "b"), ArrayVectors(targets, "t")
    return coupling.coupled_sums(*sides, temperature, potentials, *weights)


@pytest.mark.parametrize("block_size", [2**23, 1000, 1])
@pytest.mark.parametrize("temperature", [0.02, 0.3])
def test_sums_are_the_naive_ones_in_blocks_of_any_size(monkeypatch, block_size, temperature):
    monkeypatch.setattr(coupling, "BLOCK_SIZE", block_size)
    potentials = np.linspace(-3, 2, len(PROBLEM.bank))
    found = coupled(PROBLEM.bank, PROBLEM.targets, temperature, potentials)
    for ours, theirs in zip(found, expected(PROBLEM.bank, PROBLEM.targets, temperature, potentials), strict=True):
        np.testing.assert_allclose(temperature * ours, temperature * theirs, rtol=0, atol=2e-6)


@pytest.mark.parametrize("potential", [-104.0, -200.0])
def test_bank_query_whose_share_float32_does_not_hold_is_summed_exactly(potential):
    bank, targets = normal(5, 4, seed=1, scale=0.5), normal(7, 4, seed=2, scale=0.5)
    potentials = np.array([0.0, potential, 0.0, 0.0, 0.0])
    given = bank, targets, 0.1, potentials, np.linspace(0.1, 3, 7)
    for ours, theirs in zip(coupled(*given), expected(*given), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)


def fit(problem, **parameters):
    return CORRECTIONS["sn"](**{"temperature": 0.1} | parameters).fit(problem.bank, problem.targets)


def potentials_after(bank, targets, temperature, steps, c, weights):
    """A after this many steps of Sinkhorn from c, and the c of the last."""
    logits = naive.similarities(bank, targets) / temperature
    for _ in range(steps):
        a = -np.log(len(bank)) - naive.log_sum_exp(logits + c)
        c = np.log(weights / len(targets)) - naive.log_sum_exp((logits + a[:, np.newaxis]).T)
    return a


class TestStepsOverAllTargets:
    @pytest.fixture(autouse=True)
    def any_number_of_entries(self, monkeypatch):
        monkeypatch.setattr(truncated, "MOST_A_TARGET", len(PROBLEM.bank))

    def expected(self, of_sample, over_all, temperature=0.1, weights=np.ones(310)):  # noqa: B008
        rows = sampled_rows(310, 31)
        a = potentials_after(PROBLEM.bank, PROBLEM.targets[rows], temperature, of_sample, np.zeros(31), weights[rows])
        logits = naive.similarities(PROBLEM.bank, PROBLEM.targets) / temperature
        c = np.log(weights / 310) - naive.log_sum_exp((logits + a[:, np.newaxis]).T)
        return potentials_after(PROBLEM.bank, PROBLEM.targets, temperature, over_all, c, weights)

    @pytest.mark.parametrize("prior", [np.ones(310), np.linspace(1, 5, 310)])
    def test_half_of_the_steps_are_over_a_sample_and_half_over_all_with_targets_as_their_weights(
        self, monkeypatch, prior
    ):
        monkeypatch.setattr(truncated, "LEAST_ENTRY", 0.0)
        method = CORRECTIONS["sn"](temperature=0.1, fit_sample=31, iterations=7)
        fitted = method.fit(PROBLEM.bank, PROBLEM.targets, None, TargetColumn(prior))
        expected = self.expected(of_sample=3, over_all=4, weights=prior / prior.mean())
        np.testing.assert_allclose(fitted.potentials, expected, rtol=0, atol=1e-4)
        assert fitted.details["iterations"] == 7
        assert (fitted.details["fitted_on"], fitted.details["last_step_on"]) == (31, 310)

    @pytest.mark.parametrize("block_size", [2**23, 1000])
    @pytest.mark.parametrize("temperature", [0.02, 0.1, 0.3])
    def test_small_entries_that_are_taken_as_constant_change_little(self, monkeypatch, temperature, block_size):
        """At τ = .02 the potentials move so far that a second pass keeps other entries."""
        monkeypatch.setattr(coupling, "BLOCK_SIZE", block_size)
        exact = self.expected(5, 5, temperature)
        left_out = np.std(fit(PROBLEM, fit_sample=31, temperature=temperature).potentials - exact)
        one_step = np.std(self.expected(5, 1, temperature) - exact)
        assert 0 < left_out < 0.1 * one_step

    def test_entries_that_hold_too_little_after_some_steps_are_kept_anew(self, monkeypatch):
        exact = self.expected(5, 5, 0.02)
        with_passes = fit(PROBLEM, fit_sample=31, temperature=0.02)
        monkeypatch.setattr(truncated, "MOST_PASSES", 1)
        with_one = fit(PROBLEM, fit_sample=31, temperature=0.02)
        assert (with_passes.details["iterations"], with_one.details["iterations"] < 10) == (10, True)
        assert np.std(with_passes.potentials - exact) < 0.2 * np.std(with_one.potentials - exact)

    @pytest.mark.parametrize(("limit", "most"), [("MOST_ENTRIES", 310), ("MOST_A_TARGET", 1), ("LEAST_SHARE", np.inf)])
    def test_too_many_entries_and_too_small_shares_leave_one_step_over_all(self, monkeypatch, limit, most):
        monkeypatch.setattr(truncated, limit, most)
        fitted = fit(PROBLEM, fit_sample=31)
        np.testing.assert_allclose(fitted.potentials, self.expected(of_sample=5, over_all=1), rtol=0, atol=1e-4)
        assert fitted.details["iterations"] == 6

    @pytest.mark.parametrize(("targets", "bank", "sampled"), [(12_000, 400, 12_000), (12_000, 900, 1_200)])
    def test_sample_is_taken_only_where_it_saves_time(self, targets, bank, sampled):
        fitted = CORRECTIONS["sn"](temperature=0.1).fit(normal(bank, 8, seed=1), normal(targets, 8, seed=2))
        assert fitted.details["fitted_on"] == sampled
