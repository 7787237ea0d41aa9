"""`mp`: the probability that query and target are nearer to each other than to others, both taken as normal."""

import math
from dataclasses import dataclass, field

import numpy as np

from hubless.corrections.base import BankKept, Rows, SeesVectors, check_banks, targets_beside
from hubless.corrections.query_time import Candidates, StoredFields
from hubless.kernels.reductions import moments, top_k_similarities
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, check_at_least
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import VectorSource, block_rows, in_memory, sample
from hubless_lab.rescorers.distances import distances_of, similarities_of

SMALLEST_SPREAD = 1e-6
SMALLEST_PROBABILITY = 1e-300
SAMPLED = 1024
"""So many targets tell how far a query is from all, under metric euclidean."""


@dataclass(frozen=True)
class MutualProximities(StoredFields):
    """μ + σ·Φ⁻¹(p), with p = Φ((s−μ)/σ)·Φ((s−μ(t))/σ(t)): it ranks as p does, in units of similarity.

    A target that no bank query is as near to keeps its s. μ and σ come from mean (d,) and covariance (d, d) of the
    targets. Under metric euclidean −|q − t| takes the place of s, and μ and σ come from a sample (r, d) of the targets.
    """

    target_mean: F32
    target_spread: F32
    mean: F32
    covariance: F32
    sample: F32 = field(default_factory=lambda: np.empty((0, 0), np.float32))
    metric: str = COSINE

    def scores(self, query: F32, candidates: Candidates) -> F64:
        from scipy.special import ndtr, ndtri

        s = _nearness(self.metric, candidates.similarities)
        rows = candidates.rows
        mean, spread = self._of_query(query)
        spread = max(SMALLEST_SPREAD, spread)
        near = (s - mean) / spread, (s - self.target_mean[rows]) / self.target_spread[rows]
        # 1 − p is what is precise near 1, p what is precise near 0
        above = [ndtr(-z) for z in near]
        below = [ndtr(z) for z in near]
        other = above[0] + above[1] - above[0] * above[1]
        p = below[0] * below[1]
        smaller = np.clip(np.minimum(p, other), SMALLEST_PROBABILITY, 0.5)
        quantile = np.where(p < other, 1, -1) * ndtri(smaller)
        scores: F64 = mean + spread * quantile
        return scores if not len(self.sample) else similarities_of(-scores, self.metric)

    def _of_query(self, query: F32) -> tuple[float, float]:
        """Return mean and spread of how near the targets are to a query (d,)."""
        if not len(self.sample):
            variance = float(query @ self.covariance @ query)
            return float(query @ self.mean), math.sqrt(max(0.0, variance))
        seen = _nearness(self.metric, self.sample @ query)
        return float(seen.mean()), float(seen.std())


def _nearness(metric: str, similarities: F32) -> F64:
    """Return similarities, or under metric euclidean negative distances."""
    exact = similarities.astype(np.float64)
    return -distances_of(exact, metric) if comparison(metric).squared else exact


@dataclass(frozen=True, repr=False)
class FittedMutualProximity(BankKept):
    """The bank, of which the k nearest to a target, or all, give its mean and spread."""

    k: int | None
    metric: str = COSINE

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> MutualProximities:
        """Return mean and spread (n,) of how near each target is to the bank, and what tells those of live queries."""
        source = targets_beside(self.bank, targets)
        squared = comparison(self.metric).squared
        if self.k is not None:
            nearest = _nearness(self.metric, top_k_similarities(self.bank, source, self.k))
            mean, spread = nearest.mean(axis=1), nearest.std(axis=1)
        else:
            mean, spread = self._over_bank(source)
        of_targets = mean.astype(np.float32), np.maximum(spread, SMALLEST_SPREAD).astype(np.float32)
        seen = np.empty((0, source.shape[1]), np.float32)
        of_all = (np.empty(0), np.empty((0, 0)))
        if squared:
            seen = in_memory(sample(source, SAMPLED))
            advance(source.shape[0])
        else:
            of_all = moments(source, advance)
        means, covariance = (part.astype(np.float32) for part in of_all)
        return MutualProximities(*of_targets, means, covariance, seen, self.metric)

    def _over_bank(self, targets: VectorSource) -> tuple[F64, F64]:
        """Mean and spread (n,) of how near each target is to the queries of the bank."""
        bank = in_memory(self.bank)
        found = []
        for block in targets.blocks(block_rows(len(bank))):
            near = _nearness(self.metric, block @ bank.T)
            found.append((near.mean(axis=1), near.std(axis=1)))
        mean, spread = (np.concatenate(each) for each in zip(*found, strict=True))
        return mean, spread


@dataclass(frozen=True)
class MutualProximity(SeesVectors):
    """Mutual proximity with normal distributions: ranks by Φ((s−μ(q))/σ(q)) · Φ((s−μ(t))/σ(t)).

    μ(q) and σ(q) are mean and spread of the query's similarities to all targets, μ(t) and σ(t) of the target's to the k
    nearest of the bank, None for all, as in the paper. Under metric euclidean −|q − t| takes the place of s, and 1,024
    targets that of all. Source: Schnitzer et al., "Local and Global Scaling Reduce Hubs in Space", JMLR 2012;
    scikit-hubness, `MutualProximity(method="normal")`.
    """

    k: int | None = None
    fitted = FittedMutualProximity
    live = MutualProximities

    def __post_init__(self) -> None:
        if self.k is not None:
            check_at_least("k", self.k, 2)

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedMutualProximity:
        least = 2 if self.k is None else self.k
        bank, _, _ = check_banks(query_bank, targets, target_bank, least, "to take their mean and spread")
        return FittedMutualProximity(bank, None if self.k is None else int(self.k), self.metric)
