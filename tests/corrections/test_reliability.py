import numpy as np
import pytest
from support.problems import normal, with_hubs

from hubless import CORRECTIONS
from hubless.corrections import FITTED
from hubless.corrections.folded.reliability import MOST_TRUSTED, trusted_share
from hubless.vectors.sources import ArrayVectors


def share(bank, targets, temperature=0.05):
    return trusted_share(ArrayVectors(bank, "bank"), ArrayVectors(targets, "targets"), temperature)


HUBS = np.repeat(np.eye(20, dtype=np.float32), 15, axis=1)
"""Similarities (20, 300): query i is near to fifteen targets of its own."""


def test_halves_that_agree_give_the_largest_share_and_no_more():
    rng = np.random.default_rng(1)
    hubness = rng.normal(size=300).astype(np.float32)
    bank = hubness + 3 * rng.normal(size=(40, 300)).astype(np.float32)
    assert share(bank, np.eye(300, dtype=np.float32), 5.0) == pytest.approx(MOST_TRUSTED)


def test_halves_that_do_not_agree_give_nothing():
    assert share(HUBS, np.eye(300, dtype=np.float32), 0.1) == 0
    assert share(normal(20, 64, 1), normal(300, 64, 2), 1.0) < 0.1


def test_queries_of_one_topic_give_nothing_though_they_agree():
    problem = with_hubs(targets=400, bank=30, dim=64)
    assert share(problem.bank, problem.targets) == 0


@pytest.mark.parametrize("bank", [normal(3, 8, 1), np.full((20, 8), 3e38, np.float32), np.zeros((20, 8), np.float32)])
def test_bank_that_tells_nothing_gives_nothing(bank):
    assert share(bank, normal(50, 8, 2)) == 0


def test_auto_trusts_few_queries_that_agree_more_than_their_number_says_and_stores_it():
    rng = np.random.default_rng(2)
    hubness = 0.1 * rng.normal(size=300)
    bank, targets = (hubness + 0.2 * rng.normal(size=(20, 300))).astype(np.float32), np.eye(300, dtype=np.float32)
    fitted = CORRECTIONS["auto"]().fit(bank, targets)
    assert fitted.details["shrinkage"] > 20 / 120
    assert "as halves of the bank agree" in fitted.details["why"]
    restored = FITTED["auto"].from_state(fitted.state(), fitted.details)
    np.testing.assert_array_equal(restored.offsets(targets), fitted.offsets(targets))


def test_auto_goes_by_the_number_of_queries_where_there_are_enough():
    fitted = CORRECTIONS["auto"]().fit(normal(100, 16, 1), normal(300, 16, 2))
    assert fitted.details["shrinkage"] == pytest.approx(0.5)
