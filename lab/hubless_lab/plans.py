"""Methods that know all test queries at once: similarities (m, n) in, scores (m, n) out.

Temperatures τ are in units of similarity; "auto" is by perplexity over the queries. In a transport plan queries share
one mass of 1 evenly, and so do targets, which supposes that each is the answer of about equally many queries.
"""

import warnings
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hubless.corrections.folded.sinkhorn import PUBLISHED_ITERATIONS
from hubless.corrections.query_time import signed_scores
from hubless.corrections.temperature import check_temperature, default_perplexity, temperature_of
from hubless.errors import InputError, how_to_install
from hubless.vectors.arrays import F64, check_at_least, check_between
from hubless.vectors.comparing import SMALLEST

try:
    import ot
    from scipy.optimize import linear_sum_assignment
    from scipy.special import logsumexp
except ModuleNotFoundError as error:
    missing = "POT" if error.name == "ot" else error.name
    raise InputError("lab", f"the extra lab: {how_to_install('lab')}", f"no {missing}") from error

Matrix = NDArray[np.floating]
MOST_PIVOTS = 100_000_000
"""Network simplex ends by itself; POT's own limit is too low for a few thousand queries."""
CONVERGED = 1e-12
"""Relative change of the objective at which L-BFGS stops; at POT's own 1e-9 rows were off by up to 5 %."""


def otn(similarities: Matrix) -> F64:
    """Exact optimal transport: the plan P that maximises Σ P_ij·s_ij; rows sum to 1/m, columns to 1/n (POT's `emd`)."""
    checked = _checked(similarities)
    plan: F64 = ot.emd(*_even(checked), 1 - checked, numItermax=MOST_PIVOTS)
    return plan


def l2n(similarities: Matrix, temperature: float = 0.05, iterations: int = 10_000) -> F64:
    """Transport with a squared penalty: the plan P that maximises Σ P_ij·s_ij − τ/2·Σ P_ij².

    At the 500 iterations of the published code its sums can be off by a tenth. Source: Blondel et al., AISTATS 2018.
    """
    check_between("temperature", temperature, 0, float("inf"), open_low=True)
    check_at_least("iterations", iterations, 1)
    checked = _checked(similarities)
    with warnings.catch_warnings():
        # POT 0.9 hands scipy an option that scipy 1.17 no longer wants, and says so on each call
        warnings.simplefilter("ignore", DeprecationWarning)
        plan: F64 = ot.smooth.smooth_ot_dual(
            *_even(checked), 1 - checked, temperature, reg_type="l2", stopThr=CONVERGED, numItermax=iterations
        )
    return plan


def hn(similarities: Matrix) -> F64:
    """Hungarian assignment: 1 where a query is matched with a target, and else 0, so that the sum of s is largest."""
    checked = _checked(similarities)
    matched = np.zeros_like(checked)
    matched[linear_sum_assignment(checked, maximize=True)] = 1
    return matched


def dsl(similarities: Matrix, temperature: float | Literal["auto"] = "auto") -> F64:
    """Dual softmax: τ·log of s·exp(s/τ)/Z, with Z the sum of exp(s/τ) over all queries, for each target.

    Targets of negative s come last, in the published order. Source: Cheng et al., 2021; SIGIR paper, figure 1 at τ = 1.
    """
    checked, temperature = _with_temperature(similarities, temperature)
    exponents = checked / temperature
    logarithms = np.log(np.maximum(np.abs(checked), SMALLEST)) + exponents - logsumexp(exponents, axis=0)
    return np.array([signed_scores(*row, temperature) for row in zip(checked, logarithms, strict=True)])


def sinkhorn(
    similarities: Matrix,
    temperature: float | Literal["auto"] = "auto",
    iterations: int = PUBLISHED_ITERATIONS,
) -> F64:
    """Sinkhorn with all test queries as rows: each step subtracts the log-sum-exp over columns, then over rows, of s/τ.

    Source: Yakovlev et al., "Sinkhorn Transformations for Single-Query Postprocessing", SIGIR 2023.
    """
    checked, temperature = _with_temperature(similarities, temperature)
    check_at_least("iterations", iterations, 1)
    exponents = checked / temperature
    for _ in range(iterations):
        exponents = exponents - logsumexp(exponents, axis=0)
        exponents = exponents - logsumexp(exponents, axis=1, keepdims=True)
    scores: F64 = temperature * exponents
    return scores


WHOLE_MATRIX: dict[str, Callable[[Matrix], F64]] = {
    "otn": otn,
    "l2n": l2n,
    "hn": hn,
    "dsl_whole": dsl,
    "sinkhorn_whole": sinkhorn,
}
"""By name. `dsl` and `sinkhorn` are corrections, whose bank is not the test queries."""


def _with_temperature(similarities: Matrix, temperature: float | Literal["auto"]) -> tuple[F64, float]:
    check_temperature(temperature)
    checked = _checked(similarities)
    if temperature == "auto":
        of_targets = np.ascontiguousarray(checked.T, np.float32)
        return checked, temperature_of(of_targets, default_perplexity(len(checked))).value
    return checked, float(temperature)


def _checked(similarities: Matrix) -> F64:
    if similarities.ndim != 2 or not similarities.size or similarities.dtype.kind != "f":
        received = f"an array of {similarities.dtype}, shape {similarities.shape}"
        raise InputError("similarities", "a matrix of numbers, queries × targets", received)
    if not np.isfinite(similarities).all():
        raise InputError("similarities", "finite numbers", "NaN or infinity")
    return np.ascontiguousarray(similarities, np.float64)


def _even(similarities: F64) -> tuple[F64, F64]:
    m, n = similarities.shape
    return np.full(m, 1 / m), np.full(n, 1 / n)
