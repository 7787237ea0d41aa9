import json
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import naive
from support.problems import centred, normal, source, with_hubs

from hubless import CORRECTIONS
from hubless.corrections import registered
from hubless.corrections.banks.click_prior import click_prior
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.fits import TAKES_PRIOR, fit_each
from hubless.corrections.folded import auto
from hubless.corrections.folded.topic import find_topic
from hubless.corrections.roles import PRIOR
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn
from hubless.errors import InputError, StorageError
from hubless.kernels import similarities, streaming
from hubless.vectors.sources import sampled_rows

PROBLEM = with_hubs()
UNEVEN = np.random.default_rng(7).lognormal(size=80)
CLOSE = {"rtol": 0, "atol": 2e-6}


def fit(method, values=UNEVEN, problem=PROBLEM, **parameters):
    made = CORRECTIONS[method](**parameters)
    columns = NO_COLUMNS if values is None else with_prior(values)
    return fit_each(made, [problem.bank], problem.targets, problem.target_bank, columns)[0]


def with_prior(values):
    return NO_COLUMNS.beside(PRIOR, TargetColumn(np.asarray(values, np.float64)))


def offsets(method, values=UNEVEN, problem=PROBLEM, **parameters):
    fitted = fit(method, values, problem, **parameters)
    found = fitted.offsets(problem.targets).astype(np.float64)
    return found if values is None else found + fitted.of_number(np.asarray(values, np.float64))


def raw_shares(problem, temperature):
    """How often each target is found, by the softmax of each bank query over the targets."""
    logits = naive.similarities(problem.bank, problem.targets) / temperature
    return np.exp(logits - naive.log_sum_exp(logits)[:, np.newaxis]).sum(axis=0)


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.tuples(*[st.integers(2, 12)] * 3),
    temperature=st.floats(0.003, 5),
    iterations=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    kept=st.booleans(),
    even=st.booleans(),
)
def test_sinkhorn_is_the_naive_one(sizes, temperature, iterations, seed, kept, even):
    """With the matrix kept, and computed anew at each pass.

    The prior is the targets' marginal, of which a row of the target bank has the mean.
    """
    bank, targets, more = (normal(rows, 4, seed + part, 0.5) for part, rows in enumerate(sizes))
    values = np.ones(len(targets)) if even else np.random.default_rng(seed).uniform(0.1, 5, len(targets))
    method = CORRECTIONS["dbsn"](temperature=temperature, iterations=iterations, fit_sample="all")
    keep_bytes = similarities.KEEP_BYTES if kept else 0
    with mock.patch.object(similarities, "KEEP_BYTES", keep_bytes), mock.patch.object(streaming, "BANK_ROWS", 5):
        columns = NO_COLUMNS if even else with_prior(values)
        found = fit_each(method, [bank], targets, more, columns)[0].offsets(targets)
    marginal = np.concatenate([values / values.mean(), np.ones(len(more))])
    columns = np.vstack([targets, more])
    marginal /= marginal.sum()
    expected = naive.sinkhorn_offsets(bank, targets, columns, temperature, iterations, marginal)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=5e-6)


@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_prior_that_the_raw_ranking_meets_leaves_it_alone(iterations):
    """Then Sinkhorn begins where it ends: with c = 0."""
    found = offsets("sn", raw_shares(PROBLEM, 0.1), temperature=0.1, iterations=iterations)
    assert offsets("sn", None, temperature=0.1, iterations=iterations).std() > 0.05
    np.testing.assert_allclose(centred(found), 0, **CLOSE)


@pytest.mark.parametrize("method", TAKES_PRIOR)
def test_prior_of_what_raw_ranking_finds_keeps_more_of_its_first_targets(method):
    problem = with_hubs(targets=150, bank=1000, target_bank=300, queries=300, seed=4)
    raw = naive.similarities(problem.queries, problem.targets)
    counts = naive.occurrence(naive.similarities(problem.bank, problem.targets), 1) + 1
    same = [
        np.mean((raw - offsets(method, values, problem)).argmax(axis=1) == raw.argmax(axis=1))
        for values in (None, counts)
    ]
    assert same[1] > same[0] + 0.1


@pytest.mark.parametrize("method", TAKES_PRIOR)
class TestEveryCorrectionThatTakesAPrior:
    def test_uniform_prior_is_none(self, method):
        np.testing.assert_allclose(offsets(method, np.full(80, 3.0)), offsets(method, None), **CLOSE)

    def test_only_ratios_count(self, method):
        scaled = offsets(method, 1000 * UNEVEN)
        np.testing.assert_allclose(centred(scaled), centred(offsets(method)), **CLOSE)

    def test_permuting_targets_with_their_prior_permutes_offsets(self, method):
        order = np.random.default_rng(0).permutation(80)
        permuted = type(PROBLEM)(PROBLEM.targets[order], PROBLEM.bank, PROBLEM.target_bank, PROBLEM.queries)
        np.testing.assert_allclose(offsets(method, UNEVEN[order], permuted), offsets(method)[order], **CLOSE)

    def test_popular_targets_are_found_more_often(self, method):
        """All else equal: the prior alone changes."""
        found = {}
        for popular in (1.0, 4.0):
            values = np.where(np.arange(80) < 40, popular, 1.0)
            scores = naive.similarities(PROBLEM.queries, PROBLEM.targets) - offsets(method, values)
            found[popular] = (scores.argmax(axis=1) < 40).mean()
        assert found[4.0] > found[1.0]

    def test_offset_of_a_later_target_is_that_of_the_same_target_in_the_fit(self, method):
        fitted = fit(method)
        later = CentredCorrection(fitted, 0.25).offsets(PROBLEM.targets[[3, 50]], columns=with_prior(UNEVEN[[3, 50]]))
        np.testing.assert_allclose(later, offsets(method)[[3, 50]] - 0.25, **CLOSE)

    def test_later_target_without_a_prior_counts_as_the_median(self, method):
        centred_fit = CentredCorrection(fit(method), 0.0)
        new = normal(3, 12, seed=5)
        unknown = centred_fit.offsets(new)
        for each in (np.median(UNEVEN), np.nan):
            np.testing.assert_array_equal(centred_fit.offsets(new, columns=with_prior([each] * 3)), unknown)

    def test_state_goes_through_arrays_and_json(self, method):
        fitted = fit(method)
        restored = registered(method).fitted.from_state(fitted.state(), json.loads(json.dumps(fitted.details)))
        assert restored.details == fitted.details
        np.testing.assert_array_equal(restored.of_number(UNEVEN), fitted.of_number(UNEVEN))


def test_prior_of_auto_is_shrunk_as_all_of_the_offset():
    fitted = fit("auto")
    assert fitted.shrinkage == pytest.approx(150 / 250)
    twice = fitted.of_number(2 * UNEVEN) - fitted.of_number(UNEVEN)
    np.testing.assert_allclose(twice, -fitted.shrinkage * fitted.temperature * np.log(2))


def test_topic_is_looked_for_in_a_sample_of_the_targets_with_their_own_prior(monkeypatch):
    monkeypatch.setattr(auto, "_SAMPLE", 50)
    rows = sampled_rows(80, 50)
    expected = find_topic(source(PROBLEM.bank), source(PROBLEM.targets[rows]), offsets("dbsn")[rows])
    assert fit("auto").details["linearity"] == pytest.approx(expected.linearity, abs=1e-4)


@pytest.mark.parametrize("power", [0.3, 1.0])
def test_target_that_comes_after_the_clicks_counts_as_one_without_any(power):
    found = click_prior(np.array([40.0, 0, 3, 9]), power)
    assert found.usual == pytest.approx(found.values[1])


@pytest.mark.parametrize("method", sorted(set(CORRECTIONS) - set(TAKES_PRIOR)))
def test_correction_that_takes_no_prior_refuses_one(method):
    with pytest.raises(InputError, match=r"target prior: expected none with this correction \(sn, dbsn, auto take one"):
        fit(method)


class TestChecks:
    def test_files_and_lists_and_arrays_are_the_same(self, tmp_path):
        np.save(tmp_path / "p.npy", np.array([1, 2, 5]))
        (tmp_path / "p.txt").write_text("1\n2\n5\n")
        for values in (tmp_path / "p.npy", str(tmp_path / "p.txt"), [1, 2, 5], np.array([1, 2, 5], np.float32)):
            np.testing.assert_array_equal(PRIOR.given(values, 3), [1.0, 2.0, 5.0])
        with pytest.raises(StorageError, match="target prior: there is no such file"):
            PRIOR.given(tmp_path / "nowhere.npy", 3)
