"""`sn` and `dbsn`: Sinkhorn normalisation, over the targets, or over the targets and a target bank."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.corrections.base import Rows, check_banks, check_target_bank
from hubless.corrections.folded.softmax import FittedSoftmax, fitted_in_step
from hubless.corrections.target_columns import TargetColumn
from hubless.corrections.temperature import AtTemperature, resolve_temperature
from hubless.errors import InputError
from hubless.kernels.reductions import log_sum_exp
from hubless.kernels.similarities import rows_kept, similarities
from hubless.kernels.together import Fitting
from hubless.kernels.truncated import steps_over_all
from hubless.vectors.arrays import F64, check_at_least
from hubless.vectors.sources import ArrayVectors, StackedVectors, VectorSource, sample, sampled_rows

PUBLISHED_ITERATIONS = 10
_FIT_SAMPLE = 10_000
MOST_OF_TARGETS = 0.1
"""The largest share of the targets that a sample is. The product with the sample, that of the steps over all targets
and that of the offsets are then 2.1 products of bank and targets at most."""
QUICK_EXACT = 500
"""Similarities for each target of the sample. Up to so many, 5 million by default, the exact fit takes no more time
than the steps over a sample and then over all: 1.0 of it at 5 million, 1.1 to 1.2 at 12, 1.2 to 1.5 at 24."""
FEW_QUERIES = 400
"""A smaller bank counts as this many queries, since an exact fit holds all targets in memory: at most 12,500."""
ALL = "all"


@dataclass(frozen=True)
class SinkhornNormalisation(AtTemperature):
    """Sinkhorn normalisation: h(t) = −τ·log β, with β the targets' scaling in Sinkhorn between query bank and targets.

    With a target prior p, which `hubless.corrections.fits` explains, targets are to be found p_j of the times each,
    and not all as often: h(t) = τ·LSE_i(q_i·t/τ + a_i) − τ·log p(t).

    `temperature`: τ in units of similarity, or "auto" for the one of the given perplexity (published: 0.01).
    `perplexity`: effective bank queries per target, for "auto"; None is clip(0.1·b, 20, 100). `iterations`: Sinkhorn
    steps; 10 are not converged, and are the published setting. `fit_sample`: up to this many targets, all steps are
    over all of them; also of more, while the exact fit is as quick (`QUICK_EXACT`). Else the first half of the steps is
    over a sample of this many, at most a tenth of them, with as many bank queries as can be held in memory; the others
    are over all targets (see `hubless.kernels.truncated`). "all" takes no sample.

    Source: Pan et al., "Dual Bank Sinkhorn Normalization", ACM MM 2025 (sign of its algorithm, not of its equations).
    """

    takes_prior = True
    iterations: int = PUBLISHED_ITERATIONS
    fit_sample: int | Literal["all"] = _FIT_SAMPLE

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("iterations", self.iterations, 1)
        if self.fit_sample != ALL:
            if isinstance(self.fit_sample, str):
                raise InputError("fit_sample", 'a whole number of at least 2, or "all"', repr(self.fit_sample))
            check_at_least("fit_sample", self.fit_sample, 2)

    def fit(
        self,
        query_bank: Rows,
        targets: Rows,
        target_bank: Rows | None = None,
        target_prior: TargetColumn | None = None,
    ) -> FittedSoftmax:
        return fitted_in_step([self.fitting(query_bank, targets, target_bank, target_prior)])[0]

    def sides(
        self, query_bank: Rows, targets: Rows, target_bank: Rows | None
    ) -> tuple[VectorSource, VectorSource, VectorSource]:
        """Return the query bank, the targets, and what Sinkhorn finds evenly: these, or more."""
        bank, all_targets, extra = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        return bank, all_targets, self._columns(all_targets, extra)

    def _columns(self, targets: VectorSource, target_bank: VectorSource | None) -> VectorSource:
        return targets

    def fitting(
        self,
        query_bank: Rows,
        targets: Rows,
        target_bank: Rows | None,
        target_prior: TargetColumn | None,
        query_weights: F64 | None = None,
    ) -> Fitting[FittedSoftmax]:
        """Return the fit. `query_weights`: how much each bank query counts (b,), relative to others; None for alike.

        From c = 0 its steps are a_i = log r_i − LSE_j(S_ij/τ + c_j), then c_j = log p_j − LSE_i(S_ij/τ + a_i). The last
        half step, c, is left to whoever wants it for some targets: h = −τ·c. With a `fit_sample` half of the iterations
        are over a sample of the targets, and the rest over all of them; with a sample of the bank, c comes from that,
        and the last a of all the bank from c.
        """
        bank, all_targets, columns = self.sides(query_bank, targets, target_bank)
        temperature = resolve_temperature(self.temperature, self.perplexity, bank, all_targets)
        weights = np.ones(columns.shape[0])
        if target_prior is not None:  # a target bank has none, so its rows count as the mean target
            weights[: all_targets.shape[0]] = target_prior.values / target_prior.values.mean()
        counted = np.ones(bank.shape[0]) if query_weights is None else query_weights / query_weights.mean()
        count = columns.shape[0]
        bank_sample, rows = bank, np.arange(count)
        if not isinstance(self.fit_sample, str) and self.iterations > 1:
            quick = count * max(bank.shape[0], FEW_QUERIES) <= QUICK_EXACT * min(self.fit_sample, _FIT_SAMPLE)
            if count > self.fit_sample and not quick:
                rows = sampled_rows(count, min(self.fit_sample, math.ceil(MOST_OF_TARGETS * count)))
            bank_sample = sample(bank, rows_kept(len(rows)))
        some = columns if len(rows) == count else ArrayVectors(columns.take(rows), f"sample of {columns.name}")
        steps = int(self.iterations) // (1 if some is columns else 2)
        plan = similarities(bank_sample, some, temperature.value)
        c = np.zeros(len(rows))
        of_sample = counted[sampled_rows(len(counted), bank_sample.shape[0])]
        for _ in range(steps - 1):
            _, over_bank = plan.step(c, of_sample)  # of a with +log b, which does not change it
            c = np.log(bank_sample.shape[0] / len(c) * weights[rows]) - over_bank
        last = plan.step(c)[0] if bank_sample is bank else log_sum_exp(some, c, bank, temperature.value)
        a: F64 = np.log(counted / bank.shape[0]) - last
        if some is not columns:
            a, more = yield from steps_over_all(
                bank, columns, temperature.value, a, weights, counted, int(self.iterations) - steps
            )
            steps += more
        extra = {
            "perplexity": temperature.perplexity,
            "iterations": steps,
            "fitted_on": some.shape[0],
            "fitted_on_queries": bank_sample.shape[0],
            "last_step_on": count,
        }
        median = None if target_prior is None else target_prior.median
        return FittedSoftmax(bank, a, temperature.value, prior_median=median, extra=extra)


@dataclass(frozen=True)
class DualBankSinkhorn(SinkhornNormalisation):
    """Dual bank Sinkhorn normalisation: as `sn`, with the targets widened by a target bank.

    Raises `InputError` from `fit`, if there is no target bank.

    Source: Pan et al., "Dual Bank Sinkhorn Normalization", ACM MM 2025, algorithm A2.
    """

    def _columns(self, targets: VectorSource, target_bank: VectorSource | None) -> VectorSource:
        return StackedVectors([targets, check_target_bank(target_bank, "dbsn", "sn")], "targets and target bank")
