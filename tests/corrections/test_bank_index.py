"""Offsets by way of an approximate bank index, and what is said about them."""

import numpy as np
import pytest
from support.problems import with_hubs

from hubless import CORRECTIONS
from hubless.corrections import FITTED
from hubless.corrections.folded import neighbours
from hubless.corrections.folded.bank_index import CANDIDATES_EACH, LEAST, BankIndex
from hubless.errors import InputError

PROBLEM = with_hubs(targets=200, bank=3000)
METHODS = [("nnn", 128), ("csls", 10)]


def fit(method, bank=PROBLEM.bank, **parameters):
    return CORRECTIONS[method](**parameters).fit(bank, PROBLEM.targets)


@pytest.mark.parametrize(("method", "k"), METHODS)
def test_offsets_are_never_too_large_and_as_far_off_as_the_details_say(method, k):
    exact = fit(method, k=k).offsets(PROBLEM.targets)
    found = fit(method, k=k, bank_index="fastscan")
    error = exact - found.offsets(PROBLEM.targets)
    details = found.details
    assert details["bank_index"] == "fastscan"
    assert error.min() > -1e-6
    assert 0 < error.max() < 0.1 * exact.std()
    assert details["offset_error"] == pytest.approx(error.mean(), rel=0.5)
    assert details["largest_offset_error"] <= error.max() + 1e-6
    assert details["offset_spread"] == pytest.approx(exact.std(), rel=0.2)


def test_offsets_are_the_same_bytes_each_time_one_by_one_and_from_the_stored_state():
    found = fit("nnn", k=16, bank_index="fastscan")
    offsets = found.offsets(PROBLEM.targets)
    np.testing.assert_array_equal(fit("nnn", k=16, bank_index="fastscan").offsets(PROBLEM.targets), offsets)
    restored = FITTED["nnn"].from_state(found.state(), found.details)
    assert restored.details == found.details
    np.testing.assert_array_equal(restored.offsets(PROBLEM.targets), offsets)
    alone = [found.offsets(PROBLEM.targets[row : row + 1])[0] for row in range(5)]
    np.testing.assert_allclose(alone, offsets[:5], atol=1e-6)


def test_codes_of_a_restored_fit_are_made_once(monkeypatch):
    """A build asks it for the offsets of one part of the targets after the other."""
    found = fit("nnn", k=16, bank_index="fastscan")
    made = []
    monkeypatch.setattr(neighbours, "BankIndex", lambda bank: made.append(bank) or BankIndex(bank))
    restored = FITTED["nnn"].from_state(found.state(), found.details)
    for start in range(0, 200, 50):
        restored.offsets(PROBLEM.targets[start : start + 50])
    assert len(made) == 1


@pytest.mark.parametrize(("bank", "k"), [(LEAST - 1, 16), (LEAST, LEAST // CANDIDATES_EACH + 1)])
def test_bank_too_small_for_an_index_is_compared_with_exactly_and_the_details_say_so(bank, k):
    found = fit("nnn", PROBLEM.bank[:bank], k=k, bank_index="fastscan")
    assert found.details["bank_index"] == "exact"
    assert "offset_error" not in found.details
    exact = fit("nnn", PROBLEM.bank[:bank], k=k)
    np.testing.assert_array_equal(found.offsets(PROBLEM.targets), exact.offsets(PROBLEM.targets))


def test_dimensions_that_the_codes_do_not_divide_are_padded():
    bank, targets = (np.ascontiguousarray(rows[:, :-1]) for rows in (PROBLEM.bank, PROBLEM.targets))
    exact = CORRECTIONS["csls"]().fit(bank, targets).offsets(targets)
    found = CORRECTIONS["csls"](bank_index="fastscan").fit(bank, targets).offsets(targets)
    assert np.abs(exact - found).max() < 0.1 * exact.std()


@pytest.mark.parametrize("method", ["nnn", "csls"])
def test_unknown_bank_index_is_refused_naming_the_known_ones(method):
    with pytest.raises(InputError, match="bank_index: expected one of exact, fastscan, got ivf"):
        CORRECTIONS[method](bank_index="ivf")
