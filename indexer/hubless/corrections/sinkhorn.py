"""`sn` and `dbsn`: Sinkhorn normalisation, over the targets, or over the targets and a target bank."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.corrections.base import Rows, check_banks, check_target_bank
from hubless.corrections.softmax import FittedSoftmax
from hubless.corrections.temperature import check_temperature, resolve_temperature
from hubless.errors import InputError
from hubless.kernels.coupling import coupled_sums
from hubless.kernels.reductions import log_sum_exp
from hubless.kernels.similarities import rows_kept, similarities
from hubless.vectors.arrays import F64, check_at_least, check_between
from hubless.vectors.sources import StackedVectors, VectorSource, sample

PUBLISHED_ITERATIONS = 10
FIT_SAMPLE = 10_000
LAST_STEP_FROM = 2.5
"""From this many times as many targets as in the sample, the last step is one over all targets. It costs a product of
bank and targets. The fit on the sample costs twice its share of one, so both together stay within two."""
ALL = "all"


def bank_potentials(
    bank: VectorSource,
    targets: VectorSource,
    temperature: float,
    iterations: int,
    tolerance: float = 0.0,
    bank_sample: VectorSource | None = None,
) -> tuple[F64, int]:
    """Log-potentials a (b,) of Sinkhorn between bank and targets, both with uniform weights, in the log domain.

    From c = 0, `iterations` times: a_i = −log b − LSE_j(S_ij/τ + c_j), then c_j = −log n − LSE_i(S_ij/τ + a_i). The
    last half step, c, is left to whoever wants it for some targets: h = −τ·c. So the last a needs c of the targets
    only: with a sample of the bank, c comes from that, and a of all the bank from c.

    Returns
    -------
    a, and the number of steps: fewer than `iterations` if one changed no −τ·c by more than the tolerance, up to the
    constant that means nothing.
    """
    some = bank if bank_sample is None else bank_sample
    plan = similarities(some, targets, temperature)
    c = np.zeros(targets.shape[0])
    steps = 1
    while steps < iterations:
        _, over_bank = plan.step(c)  # of a with +log b, which does not change it
        change = np.log(some.shape[0] / len(c)) - over_bank - c
        c += change
        steps += 1
        if temperature * np.abs(change - change.mean()).max() < tolerance:
            break
    last = plan.over_targets(c) if some is bank else log_sum_exp(targets, bank, temperature, c)
    return -np.log(bank.shape[0]) - last, steps


def after_one_more_step(bank: VectorSource, targets: VectorSource, temperature: float, potentials: F64) -> F64:
    """A (b,) after one more step of Sinkhorn: c of all targets from a, and a from c. It costs one product."""
    _, over_targets = coupled_sums(bank, targets, temperature, potentials)
    a: F64 = np.log(targets.shape[0] / bank.shape[0]) - over_targets
    return a


@dataclass(frozen=True)
class SinkhornNormalisation:
    """Sinkhorn normalisation: h(t) = −τ·log β, with β the targets' scaling in Sinkhorn between query bank and targets.

    Parameters
    ----------
    temperature : τ in units of similarity, or "auto" for the one of the given perplexity (published: 0.01)
    perplexity : effective bank queries per target, for "auto"; None is clip(0.1·b, 20, 100)
    iterations : Sinkhorn steps; 10 are not converged, and are the published setting
    fit_sample : how many targets the potentials are fitted on, with at most as many bank queries as can be held in
        memory. The last step is one over all targets where there are 2.5 times as many or more. "all", or None, fits on
        all targets and bank queries. Offsets are computed for all targets in any case, from all bank queries
    tolerance : stop once a step changes no offset by as much, in units of similarity. 0 never does: the published
        number of steps is a setting, not a limit, as it is far from converged

    Source: Pan et al., "Dual Bank Sinkhorn Normalization", ACM MM 2025 (sign of its algorithm, not of its equations).
    """

    temperature: float | Literal["auto"] = "auto"
    perplexity: float | None = None
    iterations: int = PUBLISHED_ITERATIONS
    fit_sample: int | Literal["all"] | None = FIT_SAMPLE
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        check_temperature(self.temperature, self.perplexity)
        check_at_least("iterations", self.iterations, 1)
        if isinstance(self.fit_sample, str) and self.fit_sample != ALL:
            raise InputError("fit_sample", 'a whole number of at least 2, or "all"', repr(self.fit_sample))
        if self._sample is not None:
            check_at_least("fit_sample", self._sample, 2)
        check_between("tolerance", self.tolerance, 0, float("inf"))

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedSoftmax:
        bank, all_targets, _ = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        return self._fit(bank, all_targets, all_targets)

    def _fit(self, bank: VectorSource, targets: VectorSource, columns: VectorSource) -> FittedSoftmax:
        temperature = resolve_temperature(self.temperature, self.perplexity, bank, targets)
        fitted_on, bank_sample = columns, bank
        if self._sample is not None:
            fitted_on = sample(columns, self._sample)
            bank_sample = sample(bank, rows_kept(fitted_on.shape[0]))
        ends_on_all = self.iterations > 1 and columns.shape[0] >= LAST_STEP_FROM * fitted_on.shape[0]
        before = self.iterations - 1 if ends_on_all else self.iterations
        a, steps = bank_potentials(bank, fitted_on, temperature.value, before, self.tolerance, bank_sample)
        if ends_on_all:
            a, steps = after_one_more_step(bank, columns, temperature.value, a), steps + 1
        extra = {
            "perplexity": temperature.perplexity,
            "iterations": steps,
            "fitted_on": fitted_on.shape[0],
            "fitted_on_queries": bank_sample.shape[0],
            "last_step_on": columns.shape[0] if ends_on_all else fitted_on.shape[0],
        }
        return FittedSoftmax(bank, a, temperature.value, extra=extra)

    @property
    def _sample(self) -> int | None:
        return None if isinstance(self.fit_sample, str) else self.fit_sample


@dataclass(frozen=True)
class DualBankSinkhorn(SinkhornNormalisation):
    """Dual bank Sinkhorn normalisation: as `sn`, with the targets widened by a target bank.

    Raises
    ------
    InputError
        from `fit`, if there is no target bank.

    Source: Pan et al., "Dual Bank Sinkhorn Normalization", ACM MM 2025, algorithm A2.
    """

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedSoftmax:
        bank, all_targets, extra = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        columns = StackedVectors([all_targets, check_target_bank(extra, "dbsn", "sn")], "targets and target bank")
        return self._fit(bank, all_targets, columns)
