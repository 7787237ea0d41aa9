from dataclasses import replace

import numpy as np
import pytest
from support.executing import InShards
from support.problems import normal, with_hubs

from hubless import CORRECTIONS
from hubless.corrections.fits import fit_each
from hubless.corrections.roles import PRIOR
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, offsets_each
from hubless.kernels import sharding, streaming, together
from hubless.kernels.coupling import Pass, coupled
from hubless.kernels.reductions import Softmax, log_sum_exp, log_sum_exp_each, top_k_mean_each
from hubless.kernels.together import in_step
from hubless.vectors.sources import ArrayVectors, HeldVectors, SelectedVectors, SharedVectors

PROBLEM = with_hubs(targets=310, bank=220)
TARGETS, BANK = ArrayVectors(PROBLEM.targets, "targets"), HeldVectors(PROBLEM.bank, "query bank")
KEPT = np.delete(np.arange(220), slice(5, 200, 7))
PART = SelectedVectors(BANK, KEPT, "query bank")
OTHER = HeldVectors(normal(30, BANK.shape[1], seed=5), "other")
BANKS = [PART, BANK, OTHER]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that the part has columns in several blocks of the bank."""
    monkeypatch.setattr(streaming, "BANK_ROWS", 64)
    monkeypatch.setattr(streaming, "TARGET_ROWS", 100)


@pytest.fixture
def multiplied(monkeypatch):
    """The numbers of queries of the banks that products were made with, once for each pass."""
    widths, stream = [], streaming.stream

    def counted(bank, *given, **named):
        widths.append(bank.shape[0])
        return stream(bank, *given, **named)

    monkeypatch.setattr(streaming, "stream", counted)
    return widths


@pytest.mark.parametrize("spread", [0, 3, 200])
@pytest.mark.parametrize("temperature", [0.01, 0.3])
def test_sums_over_parts_of_a_bank_come_from_products_with_the_whole(multiplied, temperature, spread):
    softmaxes = [
        Softmax(bank, temperature, spread * normal(1, bank.shape[0], seed=8)[0].astype(float)) for bank in BANKS
    ]
    softmaxes.append(Softmax(PART, 0.5, None))
    found = log_sum_exp_each(softmaxes, TARGETS)
    assert multiplied == [220, 30]
    for ours, each in zip(found, softmaxes, strict=True):
        τ = each.temperature
        alone = log_sum_exp(each.bank, each.potentials, TARGETS, τ)
        np.testing.assert_allclose(τ * ours, τ * alone, rtol=0, atol=2e-6)


def test_means_over_parts_of_a_bank_come_from_products_with_the_whole(multiplied):
    found = top_k_mean_each(BANKS, TARGETS, [20] * len(BANKS))
    assert multiplied == [220, 30]
    for ours, bank in zip(found, BANKS, strict=True):
        (alone,) = top_k_mean_each([bank], TARGETS, [20])
        np.testing.assert_allclose(ours, alone, rtol=0, atol=1e-6)


def check(ours, alone):
    np.testing.assert_allclose(ours.over_bank, alone.over_bank, rtol=0, atol=1e-5)
    np.testing.assert_allclose(ours.shares, alone.shares, rtol=1e-4)
    np.testing.assert_array_equal(ours.entries.columns, alone.entries.columns)
    np.testing.assert_allclose(ours.entries.values, alone.entries.values, rtol=1e-4)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 310)])
def test_passes_together_leave_what_each_leaves_alone(weights):
    passes = [
        Pass(bank, TARGETS, temperature, normal(1, bank.shape[0], seed=8)[0].astype(float), weights, 0.01, 10_000)
        for bank, temperature in zip(BANKS, (0.1, 0.2, 0.3), strict=True)
    ]
    for ours, each in zip(coupled(passes), passes, strict=True):
        (alone,) = coupled([each])
        check(ours, alone)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 310)])
def test_pass_over_shards_leaves_what_one_in_this_process_leaves(weights, monkeypatch, tmp_path):
    monkeypatch.setattr(sharding, "SHARD_ROWS", 100)
    PROBLEM.targets.tofile(tmp_path / "rows")
    shards = SharedVectors(tmp_path / "rows", TARGETS.shape[1], 0, 310, "targets")
    given = 0.1, normal(1, 220, seed=8)[0].astype(float), weights, 0.01, 10_000
    (alone,) = coupled([Pass(BANK, TARGETS, *given)])
    with sharding.on_executor(InShards()):
        (ours,) = coupled([Pass(BANK, shards, *given)])
    check(ours, alone)


def test_fit_that_needs_more_passes_than_another_gets_them():
    def fit(count):
        found = []
        for _ in range(count):
            left = yield Pass(BANK, TARGETS, 0.1, np.zeros(220))
            found.append(left.over_bank[0])
        return found

    (none, one, three), _ = in_step([fit(0), fit(1), fit(3)])
    assert (none, len(one), len(three)) == ([], 1, 3)
    assert set(three) == set(one)


@pytest.mark.parametrize("name", ["auto", "sn", "dbsn", "csls", "is", "dn"])
def test_fits_on_a_bank_and_a_part_of_it_are_those_one_by_one(name):
    method, extra = CORRECTIONS[name](), OTHER if name in ("auto", "dbsn") else None
    fits = fit_each(method, [PART, BANK], TARGETS, extra, NO_COLUMNS)
    for ours, fitted, bank in zip(offsets_each(fits, TARGETS, NO_COLUMNS), fits, (PART, BANK), strict=True):
        alone = method.fit(bank, TARGETS, extra)
        np.testing.assert_allclose(ours, alone.offsets(TARGETS), rtol=0, atol=2e-5)
        assert fitted.details.keys() == alone.details.keys()


def test_fits_in_step_take_a_prior_read_targets_once_a_pass_and_know_their_offsets(monkeypatch, multiplied):
    """With a sample for the first steps, each fit asks for passes over all targets."""
    passes, at_once = [], together.coupled
    monkeypatch.setattr(together, "coupled", lambda some: passes.append(len(some)) or at_once(some))
    method = CORRECTIONS["sn"](fit_sample=31, temperature=0.3)
    prior = TargetColumn(np.linspace(1, 5, 310))
    fits = fit_each(method, [PART, BANK], TARGETS, None, NO_COLUMNS.beside(PRIOR, prior))
    assert passes[0] == 2
    changed = np.append(PROBLEM.targets[:1] * 1.001, PROBLEM.targets[1:], axis=0)
    for targets, products in ((PROBLEM.targets[::-1], []), (changed, [220])):
        multiplied.clear()
        found = offsets_each(fits, targets)
        assert multiplied == products
        for ours, fitted, bank in zip(found, fits, (PART, BANK), strict=True):
            np.testing.assert_allclose(ours, replace(fitted).offsets(targets), rtol=0, atol=2e-6)
            alone = method.fit(bank, TARGETS, None, prior)
            np.testing.assert_allclose(fitted.potentials, alone.potentials, rtol=0, atol=1e-4)
