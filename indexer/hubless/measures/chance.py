"""Hubness by chance: the k-occurrence if each query found k random targets."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Self

import numpy as np


def skewness_by_chance(queries: int, targets: int, k: float) -> float:
    """Return the skewness of N_k if all targets are equally likely: (1 − 2p)/√(m·p·(1 − p)) with p = k/n."""
    p = k / targets
    return float((1 - 2 * p) / np.sqrt(queries * p * (1 - p))) if p < 1 else 0.0


def antihubs_by_chance(queries: int, targets: int, k: float) -> float:
    """Return the share of targets never found if all are equally likely: (1 − k/n)^m."""
    return float((1 - min(k / targets, 1)) ** queries)


def most_by_chance(queries: int, targets: int, k: int) -> int:
    """Return the largest N_k that at least one of n targets reaches with a probability of about ½."""
    from scipy.special import bdtrc  # scipy.stats takes four times as long to import

    share, rare = min(k / targets, 1), 0.5 / targets
    return bisect_left(range(queries + 1), True, key=lambda found: bdtrc(found, queries, share) <= rare)


@dataclass(frozen=True)
class Chance:
    """Skewness, maximum and share of zeros of N_k if every query found k random targets."""

    skewness: float
    most: int
    antihubs: float

    @classmethod
    def of(cls, queries: int, targets: int, k: int) -> Self:
        """Return them for m queries and n targets. Of fewer than k targets each query finds all."""
        k = min(k, targets)
        return cls(
            skewness_by_chance(queries, targets, k),
            most_by_chance(queries, targets, k),
            antihubs_by_chance(queries, targets, k),
        )
