"""What every correction has to hold, whatever its formula: also the ones to come."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support import naive
from support.problems import centred, normal, with_hubs

from hubless import CORRECTIONS, measures
from hubless.corrections import registered
from hubless.corrections.testing import CorrectionChecks
from hubless.errors import DimensionMismatch

METHODS = sorted(CORRECTIONS)
CLOSE = {"rtol": 0, "atol": 1e-6}
PROBLEM = with_hubs()


def fit(method, problem=PROBLEM, **parameters):
    return CORRECTIONS[method](**parameters).fit(problem.bank, problem.targets, problem.target_bank)


def offsets(method, problem=PROBLEM, **parameters):
    return fit(method, problem, **parameters).offsets(problem.targets)


class TestEveryCorrection(CorrectionChecks):
    """As authors of other packages test theirs."""

    @pytest.fixture(autouse=True, params=METHODS)
    def _of_each(self, request, monkeypatch):
        monkeypatch.setattr(CorrectionChecks, "kind", registered(request.param))


@pytest.mark.parametrize("method", ["auto", "nnn", "csls", "is", "sn", "dbsn"])
def test_fitted_correction_refuses_targets_of_another_dimension_naming_both(method):
    with pytest.raises(DimensionMismatch, match="targets: expected 12 dimensions, as query bank has, got 11"):
        fit(method).offsets(PROBLEM.targets[:, :11])


@pytest.mark.parametrize(
    ("method", "parameters"), [("nnn", {"k": 16}), ("csls", {}), ("is", {}), ("sn", {}), ("dbsn", {})]
)
def test_correction_halves_the_skewness_of_k_occurrence(method, parameters):
    problem = with_hubs(targets=150, bank=1000, target_bank=300, queries=300, seed=4)
    raw = naive.similarities(problem.queries, problem.targets)
    corrected = raw - offsets(method, problem, **parameters)
    before, after = (measures.skewness(naive.occurrence(scores, 10)) for scores in (raw, corrected))
    assert before > 3
    assert after < before / 2


@pytest.mark.parametrize("method", ["is", "dbsn", "auto"])
@pytest.mark.parametrize("factor", [0.01, 0.5, 30])
def test_scaling_all_vectors_by_c_scales_offsets_by_c_squared(method, factor):
    """Where the temperature is found. The perplexity is met to 1e-4 only, so it is the same only nearly."""
    scaled = replace(
        PROBLEM, **{name: np.float32(factor) * getattr(PROBLEM, name) for name in ("targets", "bank", "target_bank")}
    )
    np.testing.assert_allclose(offsets(method, scaled) / factor**2, offsets(method), rtol=0, atol=1e-4)


@pytest.mark.parametrize("method", ["is", "sn", "dbsn", "auto"])
@settings(max_examples=8, deadline=None)
@given(constant=st.floats(-1000, 1000))
def test_constant_added_to_the_potentials_changes_no_ranking(method, constant):
    fitted = fit(method)
    potentials = np.zeros(150) if fitted.potentials is None else fitted.potentials
    moved = replace(fitted, potentials=potentials + constant).offsets(PROBLEM.targets)
    # offsets near 1000·τ have the resolution of float32 there
    np.testing.assert_allclose(centred(moved), centred(fitted.offsets(PROBLEM.targets)), rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", ["sn", "dbsn"])
def test_offsets_of_targets_that_were_not_fitted_are_the_last_half_step_of_sinkhorn(method):
    new = normal(30, 12, seed=9, scale=0.3)
    columns = PROBLEM.targets if method == "sn" else np.vstack([PROBLEM.targets, PROBLEM.target_bank])
    expected = naive.sinkhorn_offsets(PROBLEM.bank, new, columns, 0.05, iterations=10)
    np.testing.assert_allclose(fit(method, temperature=0.05).offsets(new), expected, **CLOSE)
