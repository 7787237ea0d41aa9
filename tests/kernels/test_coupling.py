"""Both sums of a Sinkhorn step from one product."""

import numpy as np
import pytest
from support import naive
from support.problems import normal, with_hubs

from hubless import CORRECTIONS
from hubless.errors import InputError
from hubless.kernels import coupling
from hubless.vectors.sources import ArrayVectors, sample

PROBLEM = with_hubs(targets=310, bank=220)


def expected(bank, targets, temperature, potentials):
    logits = naive.similarities(bank, targets) / temperature
    over_bank = naive.log_sum_exp((logits + potentials[:, np.newaxis]).T)
    return over_bank, naive.log_sum_exp(logits - over_bank)


def coupled(bank, targets, temperature, potentials):
    return coupling.coupled_sums(ArrayVectors(bank, "b"), ArrayVectors(targets, "t"), temperature, potentials)


@pytest.mark.parametrize("block_size", [2**23, 1000, 1])
@pytest.mark.parametrize("temperature", [0.02, 0.3])
def test_sums_are_the_naive_ones_in_blocks_of_any_size(monkeypatch, block_size, temperature):
    monkeypatch.setattr(coupling, "BLOCK_SIZE", block_size)
    potentials = np.linspace(-3, 2, len(PROBLEM.bank))
    found = coupled(PROBLEM.bank, PROBLEM.targets, temperature, potentials)
    for ours, theirs in zip(found, expected(PROBLEM.bank, PROBLEM.targets, temperature, potentials), strict=True):
        np.testing.assert_allclose(temperature * ours, temperature * theirs, rtol=0, atol=2e-6)


def test_bank_query_whose_share_float32_does_not_hold_is_summed_exactly():
    bank, targets = normal(5, 4, seed=1, scale=0.5), normal(7, 4, seed=2, scale=0.5)
    potentials = np.array([0.0, -200.0, 0.0, 0.0, 0.0])
    found = coupled(bank, targets, 0.1, potentials)
    for ours, theirs in zip(found, expected(bank, targets, 0.1, potentials), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)


class TestLastStep:
    def fit(self, problem, **parameters):
        return CORRECTIONS["sn"](**{"temperature": 0.1} | parameters).fit(problem.bank, problem.targets)

    def test_it_is_one_over_all_targets_from_the_potentials_of_the_sample(self):
        fitted = self.fit(PROBLEM, fit_sample=120, iterations=5)
        some = sample(ArrayVectors(PROBLEM.targets, "targets"), 120).take(np.arange(120))
        logits = naive.similarities(PROBLEM.bank, some) / 0.1
        c = np.zeros(120)
        for _ in range(4):
            a = -np.log(220) - naive.log_sum_exp(logits + c)
            c = -np.log(120) - naive.log_sum_exp((logits + a[:, np.newaxis]).T)
        over_all = naive.similarities(PROBLEM.bank, PROBLEM.targets) / 0.1
        c = -np.log(310) - naive.log_sum_exp((over_all + a[:, np.newaxis]).T)
        np.testing.assert_allclose(fitted.potentials, -np.log(220) - naive.log_sum_exp(over_all + c), atol=1e-4)
        assert fitted.details["iterations"] == 5
        assert (fitted.details["fitted_on"], fitted.details["last_step_on"]) == (120, 310)

    def test_it_stays_on_a_sample_that_is_most_of_the_targets(self):
        fitted = self.fit(PROBLEM, fit_sample=200)
        assert (fitted.details["fitted_on"], fitted.details["last_step_on"]) == (200, 200)

    def test_it_brings_offsets_nearer_to_the_exact_ones(self, monkeypatch):
        problem = with_hubs(targets=900, bank=300, seed=3)
        exact = self.fit(problem, temperature=0.3, fit_sample="all").offsets(problem.targets)
        ended = self.fit(problem, temperature=0.3, fit_sample=150).offsets(problem.targets)
        monkeypatch.setattr("hubless.corrections.sinkhorn.LAST_STEP_FROM", np.inf)
        stayed = self.fit(problem, temperature=0.3, fit_sample=150).offsets(problem.targets)
        errors = [np.std(offsets - exact) for offsets in (ended, stayed)]
        assert errors[0] < 0.7 * errors[1]


class TestAll:
    @pytest.mark.parametrize("name", ["sn", "dbsn"])
    def test_all_is_the_fit_on_all_targets(self, name):
        fits = [
            CORRECTIONS[name](temperature=0.1, fit_sample=size).fit(PROBLEM.bank, PROBLEM.targets, PROBLEM.target_bank)
            for size in ("all", None, 10_000)
        ]
        for fitted in fits[1:]:
            np.testing.assert_array_equal(fitted.potentials, fits[0].potentials)

    def test_another_word_is_refused(self):
        with pytest.raises(InputError, match='fit_sample: expected a whole number of at least 2, or "all", got'):
            CORRECTIONS["sn"](fit_sample="most")
