"""Hubness by chance: the k-occurrence if each query found k random targets."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from hubless.vectors.arrays import F64

_FAR = 50
"""Standard deviations above which no count is looked at, and counts where the deviation is less than one."""


def skewness_by_chance(queries: int, targets: int, k: float) -> float:
    """Return the skewness of N_k if all targets are equally likely: (1 − 2p)/√(m·p·(1 − p)) with p = k/n."""
    p = k / targets
    return float((1 - 2 * p) / np.sqrt(queries * p * (1 - p))) if p < 1 else 0.0


def antihubs_by_chance(queries: int, targets: int, k: float) -> float:
    """Return the share of targets never found if all are equally likely: (1 − k/n)^m."""
    return float((1 - min(k / targets, 1)) ** queries)


def most_by_chance(queries: int, targets: int, k: int) -> int:
    """Return the largest N_k that at least one of n targets reaches with a probability of about ½."""
    share = k / targets
    if share >= 1:
        return queries
    usual = queries * share
    chances = binomial(min(queries, int(usual + _FAR * np.sqrt(usual) + _FAR)), queries, share)
    more = chances[:0:-1].cumsum()[::-1]  # P(N > found)
    return int(np.count_nonzero(more > 0.5 / targets))


def binomial(most: int, count: int, share: float) -> F64:
    """Return P(N = 0), …, P(N = most) of `count` draws, each of which succeeds with a probability of `share`."""
    found = np.arange(most)
    more = np.log((count - found) / (found + 1)) + np.log(share / (1 - share))
    chances: F64 = np.exp(np.cumsum([count * np.log1p(-share), *more]))
    return chances


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
