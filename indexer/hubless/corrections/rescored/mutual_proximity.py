"""`mp`: the probability that query and target are nearer to each other than to others, both taken as normal."""

import math
from dataclasses import dataclass

import numpy as np

from hubless.corrections.base import BankKept, Rows, check_banks, targets_beside
from hubless.corrections.query_time import Candidates, StoredFields
from hubless.kernels.reductions import moments, top_k_similarities
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, check_at_least
from hubless.vectors.sources import VectorSource, block_rows

SMALLEST_SPREAD = 1e-6
SMALLEST_PROBABILITY = 1e-300


@dataclass(frozen=True)
class MutualProximities(StoredFields):
    """μ + σ·Φ⁻¹(p), with p = Φ((s−μ)/σ)·Φ((s−μ(t))/σ(t)): it ranks as p does, in units of similarity.

    A target that no bank query is as near to keeps its s. μ and σ come from mean (d,) and covariance (d, d) of the
    targets.
    """

    target_mean: F32
    target_spread: F32
    mean: F32
    covariance: F32

    def scores(self, query: F32, candidates: Candidates) -> F64:
        from scipy.special import ndtr, ndtri

        s = candidates.similarities.astype(np.float64)
        rows = candidates.rows
        mean = float(query @ self.mean)
        spread = max(SMALLEST_SPREAD, math.sqrt(max(0.0, float(query @ self.covariance @ query))))
        near = (s - mean) / spread, (s - self.target_mean[rows]) / self.target_spread[rows]
        # 1 − p is what is precise near 1, p what is precise near 0
        above = [ndtr(-z) for z in near]
        below = [ndtr(z) for z in near]
        other, p = above[0] + above[1] - above[0] * above[1], below[0] * below[1]
        smaller = np.clip(np.minimum(p, other), SMALLEST_PROBABILITY, 0.5)
        quantile = np.where(p < other, 1, -1) * ndtri(smaller)
        scores: F64 = mean + spread * quantile
        return scores


@dataclass(frozen=True, repr=False)
class FittedMutualProximity(BankKept):
    """The bank, of which the k nearest to a target, or all, give its mean and spread."""

    k: int | None

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> MutualProximities:
        source = targets_beside(self.bank, targets)
        if self.k is None:
            mean, spread = _projections(source, *moments(self.bank))
        else:
            nearest = top_k_similarities(self.bank, source, self.k)
            mean, spread = nearest.mean(axis=1, dtype=np.float64), nearest.std(axis=1, dtype=np.float64)
        parts = (mean, np.maximum(spread, SMALLEST_SPREAD), *moments(source, advance))
        return MutualProximities(*(part.astype(np.float32) for part in parts))


def _projections(targets: VectorSource, mean: F64, covariance: F64) -> tuple[F64, F64]:
    """Mean and spread (n,) of the similarities of each target to rows of this mean and covariance."""
    means, variances = [], []
    for block in targets.blocks(block_rows(targets.shape[1])):
        means.append(block @ mean)
        variances.append(np.einsum("ij,ij->i", block @ covariance, block))
    return np.concatenate(means), np.sqrt(np.maximum(0, np.concatenate(variances)))


@dataclass(frozen=True)
class MutualProximity:
    """Mutual proximity with normal distributions: ranks by Φ((s−μ(q))/σ(q)) · Φ((s−μ(t))/σ(t)).

    μ(q) and σ(q) are mean and spread of the query's similarities to all targets, μ(t) and σ(t) of the target's to the k
    nearest of the bank, None for all, as in the paper. Source: Schnitzer et al., "Local and Global Scaling Reduce Hubs
    in Space", JMLR 2012; scikit-hubness, `MutualProximity(method="normal")`.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            check_at_least("k", self.k, 2)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedMutualProximity:
        least = 2 if self.k is None else self.k
        bank, _, _ = check_banks(query_bank, targets, target_bank, least, "to take their mean and spread")
        return FittedMutualProximity(bank, None if self.k is None else int(self.k))
