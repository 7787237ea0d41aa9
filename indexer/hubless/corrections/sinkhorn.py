"""`sn` and `dbsn`: Sinkhorn normalisation, over the targets, or over the targets and a target bank."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.corrections.base import Rows, check_banks, check_target_bank
from hubless.corrections.softmax import FittedSoftmax
from hubless.corrections.temperature import check_temperature, resolve_temperature
from hubless.kernels.reductions import log_sum_exp
from hubless.kernels.similarities import rows_kept, similarities
from hubless.vectors.arrays import F64, check_at_least, check_between
from hubless.vectors.sources import StackedVectors, VectorSource, sample

PUBLISHED_ITERATIONS = 10
FIT_SAMPLE = 4096


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
        a = -np.log(some.shape[0]) - plan.over_targets(c)
        change = -np.log(len(c)) - plan.over_bank(a) - c
        c += change
        steps += 1
        if temperature * np.abs(change - change.mean()).max() < tolerance:
            break
    last = plan.over_targets(c) if some is bank else log_sum_exp(targets, bank, temperature, c)
    return -np.log(bank.shape[0]) - last, steps


@dataclass(frozen=True)
class SinkhornNormalisation:
    """Sinkhorn normalisation: h(t) = −τ·log β, with β the targets' scaling in Sinkhorn between query bank and targets.

    Parameters
    ----------
    temperature : τ in units of similarity, or "auto" for the one of the given perplexity (published: 0.01)
    perplexity : effective bank queries per target, for "auto"; None is clip(0.1·b, 20, 100)
    iterations : Sinkhorn steps; 10 are not converged, and are the published setting
    fit_sample : how many targets the potentials are fitted on, with at most as many bank queries as can be held in
        memory; None for all of both. Offsets are computed for all targets in any case, from all bank queries
    tolerance : stop once a step changes no offset by as much, in units of similarity. 0 never does: the published
        number of steps is a setting, not a limit, as it is far from converged

    Source: Pan et al., "Dual Bank Sinkhorn Normalization", ACM MM 2025 (sign of its algorithm, not of its equations).
    """

    temperature: float | Literal["auto"] = "auto"
    perplexity: float | None = None
    iterations: int = PUBLISHED_ITERATIONS
    fit_sample: int | None = FIT_SAMPLE
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        check_temperature(self.temperature, self.perplexity)
        check_at_least("iterations", self.iterations, 1)
        if self.fit_sample is not None:
            check_at_least("fit_sample", self.fit_sample, 2)
        check_between("tolerance", self.tolerance, 0, float("inf"))

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedSoftmax:
        bank, all_targets, _ = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        return self._fit(bank, all_targets, all_targets)

    def _fit(self, bank: VectorSource, targets: VectorSource, columns: VectorSource) -> FittedSoftmax:
        temperature = resolve_temperature(self.temperature, self.perplexity, bank, targets)
        fitted_on, bank_sample = columns, bank
        if self.fit_sample is not None:
            fitted_on = sample(columns, self.fit_sample)
            bank_sample = sample(bank, rows_kept(fitted_on.shape[0]))
        a, steps = bank_potentials(bank, fitted_on, temperature.value, self.iterations, self.tolerance, bank_sample)
        extra = {
            "perplexity": temperature.perplexity,
            "iterations": steps,
            "fitted_on": fitted_on.shape[0],
            "fitted_on_queries": bank_sample.shape[0],
        }
        return FittedSoftmax(bank, a, temperature.value, extra=extra)


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
