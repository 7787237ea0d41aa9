"""`dsl`: the dual softmax, with the live query among the bank."""

from dataclasses import dataclass

import numpy as np

from hubless.corrections.base import Rows, SeesVectors
from hubless.corrections.folded.softmax import FittedSoftmax, InvertedSoftmax
from hubless.corrections.query_time import Candidates, StoredFields, signed_scores
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64
from hubless.vectors.comparing import COSINE, comparison


@dataclass(frozen=True)
class SimilarityTimesSoftmax(StoredFields):
    """τ·log of s·exp(s/τ)/(Z + exp(s/τ)): it ranks alike, in units of similarity. `offsets` (n,) are τ·log Z.

    Where s is 0 the published score is, too, and where s < 0 it is negative: such targets come last, in the published
    order. Under metric euclidean, where s is never above 0, e^(s/τ) takes the place of the first s.
    """

    offsets: F32
    temperature: float
    metric: str = COSINE

    def scores(self, query: F32, candidates: Candidates) -> F64:
        s = candidates.similarities.astype(np.float64)
        offsets = self.offsets[candidates.rows].astype(np.float64)
        log_softmax = -np.logaddexp(0, (offsets - s) / self.temperature)
        signs, logarithms = comparison(self.metric).factors(s, self.temperature)
        return signed_scores(signs, logarithms + log_softmax, self.temperature)


@dataclass(frozen=True, repr=False)
class FittedDualSoftmaxLoss(FittedSoftmax):
    """The offsets of `is`: they find the candidates, and are all that the score needs of the bank."""

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> SimilarityTimesSoftmax:
        metric = self.extra.get("metric", COSINE)
        return SimilarityTimesSoftmax(self.offsets(targets, advance), self.temperature, metric)


@dataclass(frozen=True)
class DualSoftmaxLoss(InvertedSoftmax, SeesVectors):
    """Dual softmax: s·exp(s/τ)/(Z(t) + exp(s/τ)), Z(t) = Σ_{q∈Bq} exp(q·t/τ), the live query among the bank.

    Without the first s it would rank as `is` does. Source: Cheng et al., "Improving Video-Text Retrieval by
    Multi-Stream Corpus Alignment and Dual Softmax Loss", 2021; with a single query, Yakovlev et al., SIGIR 2023, whose
    figure 1 has τ = 1.
    """

    fitted = FittedDualSoftmaxLoss
    live = SimilarityTimesSoftmax

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedDualSoftmaxLoss:
        fitted = vars(super().fit(query_bank, targets, target_bank))
        return FittedDualSoftmaxLoss(**fitted | {"extra": fitted["extra"] | {"metric": self.metric}})
