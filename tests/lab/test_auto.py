"""`auto` does no harm where there are no hubs, as two halves of its bank then agree on nothing."""

import numpy as np
import pytest
from support import naive
from support.labelled import pairs
from support.problems import with_hubs

from hubless.corrections import CORRECTIONS
from hubless.corrections import reliability as module
from hubless.corrections.reliability import reliability
from hubless.sources import ArrayVectors, in_memory

TARGETS = 3000
TRUTH = np.random.default_rng(0).normal(size=TARGETS)


def noisy(size, noise, seed=1):
    """A bank of which each query tells the truth about all targets with noise of its own."""
    rows = TRUTH + noise * np.random.default_rng(seed).normal(size=(size, TARGETS))
    return ArrayVectors(rows.astype(np.float32), "bank")


def mean_of(part):
    return in_memory(part).mean(axis=0)


@pytest.mark.parametrize(("size", "noise"), [(10, 1), (40, 5), (40, 10), (200, 10), (201, 10)])
def test_reliability_is_the_share_of_variance_that_is_true(size, noise):
    assert reliability(noisy(size, noise), mean_of) == pytest.approx(1 / (1 + noise**2 / size), abs=0.06)


def test_reliability_of_a_sample_is_that_of_the_whole_bank(monkeypatch):
    monkeypatch.setattr(module, "MOST_QUERIES", 60)
    assert reliability(noisy(400, 20), mean_of) == pytest.approx(1 / (1 + 400 / 400), abs=0.12)


def test_offsets_that_are_all_noise_or_do_not_vary_have_no_reliability():
    noise = np.random.default_rng(2).normal(size=(50, TARGETS)).astype(np.float32)
    assert reliability(ArrayVectors(noise, "bank"), mean_of) < 0.1
    assert reliability(ArrayVectors(noise, "bank"), lambda part: np.ones(TARGETS, np.float32)) == 0


def test_order_of_the_bank_decides_nothing():
    bank = noisy(30, 5)
    other = ArrayVectors(bank.array[np.random.default_rng(3).permutation(30)], "bank")
    assert reliability(other, mean_of) == pytest.approx(reliability(bank, mean_of))


def test_bank_of_3_cannot_be_halved():
    assert reliability(noisy(3, 1), mean_of) is None
    problem = with_hubs()
    fitted = CORRECTIONS["auto"]().fit(problem.bank[:3], problem.targets)
    assert fitted.details["reliability"] is None
    assert fitted.details["shrinkage"] == pytest.approx(3 / 103)


@pytest.mark.parametrize("with_target_bank", [True, False])
def test_hubs_on_which_halves_agree_are_corrected_in_full(with_target_bank):
    problem = with_hubs()
    fitted = CORRECTIONS["auto"]().fit(problem.bank, problem.targets, problem.target_bank if with_target_bank else None)
    assert fitted.details["reliability"] > 0.8
    assert fitted.details["shrinkage"] == pytest.approx(150 / 250)
    assert "hardly agree" not in fitted.details["why"]


@pytest.mark.parametrize("size", [20, 100, 400])
def test_without_hubs_hardly_anything_is_corrected(size):
    given = pairs(800, dim=64, lean=0, noise=1.4)
    bank = pairs(size, dim=64, lean=0, seed=1).queries
    fitted = CORRECTIONS["auto"]().fit(bank, given.targets)
    assert fitted.details["shrinkage"] < 0.5 * size / (size + 100)
    assert "two halves of them hardly agree on the hubs" in fitted.details["why"]
    raw = given.queries @ given.targets.T
    before, after = (naive.ranks(scores, given.relevant) <= 1 for scores in (raw, raw - fitted.offsets(given.targets)))
    full = CORRECTIONS["sn"]().fit(bank, given.targets).offsets(given.targets)
    harmed = naive.ranks(raw - full, given.relevant) <= 1
    assert after.mean() >= before.mean() - 0.005
    assert after.mean() > harmed.mean()
