"""`sn` and `dbsn`: Sinkhorn normalisation, over the targets, or over the targets and a target bank."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.arrays import F64, check_at_least
from hubless.corrections.base import Vectors, check_banks, check_target_bank
from hubless.corrections.softmax import FittedSoftmax
from hubless.corrections.temperature import check_temperature, resolve_temperature
from hubless.kernels import Similarities
from hubless.sources import StackedVectors, VectorSource, sample

PUBLISHED_ITERATIONS = 10
FIT_SAMPLE = 8192


def bank_potentials(bank: VectorSource, targets: VectorSource, temperature: float, iterations: int) -> F64:
    """Log-potentials a (b,) of Sinkhorn between bank and targets, both with uniform weights, in the log domain.

    From c = 0, `iterations` times: a_i = −log b − LSE_j(S_ij/τ + c_j), then c_j = −log n − LSE_i(S_ij/τ + a_i). The
    last half step, c, is left to whoever wants it for some targets: h = −τ·c.
    """
    similarities = Similarities(bank, targets)
    b, n = bank.shape[0], targets.shape[0]
    a: F64 = -np.log(b) - similarities.over_targets(temperature, np.zeros(n))
    for _ in range(iterations - 1):
        c = -np.log(n) - similarities.over_bank(temperature, a)
        a = -np.log(b) - similarities.over_targets(temperature, c)
    return a


@dataclass(frozen=True)
class SinkhornNormalisation:
    """Sinkhorn normalisation: h(t) = −τ·log β, with β the targets' scaling in Sinkhorn between query bank and targets.

    Parameters
    ----------
    temperature : τ in units of similarity, or "auto" for the one of the given perplexity (published: 0.01)
    perplexity : effective bank queries per target, for "auto"; None is clip(0.1·b, 20, 100)
    iterations : Sinkhorn steps; 10 are not converged, and are the published setting
    fit_sample : how many targets the potentials are fitted on, None for all; offsets are computed for all targets
        in any case

    Source: Pan et al., "Dual Bank Sinkhorn Normalization", ACM MM 2025, section 3 (sign of its algorithm, not of
    its equations).
    """

    temperature: float | Literal["auto"] = "auto"
    perplexity: float | None = None
    iterations: int = PUBLISHED_ITERATIONS
    fit_sample: int | None = FIT_SAMPLE

    def __post_init__(self) -> None:
        check_temperature(self.temperature, self.perplexity)
        check_at_least("iterations", self.iterations, 1)
        if self.fit_sample is not None:
            check_at_least("fit_sample", self.fit_sample, 2)

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedSoftmax:
        bank, all_targets, _ = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        return self._fit(bank, all_targets, all_targets)

    def _fit(self, bank: VectorSource, targets: VectorSource, columns: VectorSource) -> FittedSoftmax:
        temperature = resolve_temperature(self.temperature, self.perplexity, bank, targets)
        fitted_on = columns if self.fit_sample is None else sample(columns, self.fit_sample)
        a = bank_potentials(bank, fitted_on, temperature.value, self.iterations)
        extra = {
            "perplexity": temperature.perplexity,
            "iterations": int(self.iterations),
            "fitted_on": fitted_on.shape[0],
        }
        return FittedSoftmax(bank, a, temperature.value, extra=extra)


@dataclass(frozen=True)
class DualBankSinkhorn(SinkhornNormalisation):
    """Dual bank Sinkhorn normalisation: as `sn`, with the targets widened by a target bank.

    Raises
    ------
    InputError
        from `fit`, if there is no target bank.

    Source: Pan et al., "Dual Bank Sinkhorn Normalization", ACM MM 2025, algorithm 1.
    """

    def fit(self, query_bank: Vectors, targets: Vectors, target_bank: Vectors | None = None) -> FittedSoftmax:
        bank, all_targets, extra = check_banks(query_bank, targets, target_bank, 2, "for a softmax over them")
        columns = StackedVectors([all_targets, check_target_bank(extra, "dbsn", "sn")], "targets and target bank")
        return self._fit(bank, all_targets, columns)
