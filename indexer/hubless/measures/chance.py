"""What chance alone would do: k-occurrence if each query found its k targets at random."""

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F64, I64


def binomial_tail(counts: NDArray[np.integer], trials: int, probability: float) -> F64:
    """Logarithm of P(X ≥ N) for X ~ Binomial(trials, probability), so that no tail is ever 0.

    Unlike a z-score by median and MAD it needs no spread: where most targets are never found, the MAD of N_1 is 0.

    Parameters
    ----------
    counts : (n,) N, from 0 to `trials`
    """
    if probability >= 1:
        return np.zeros(len(counts))
    successes = np.arange(trials + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
    ways = log_factorial[trials] - log_factorial - log_factorial[::-1]
    log_mass = ways + successes * np.log(probability) + (trials - successes) * np.log1p(-probability)
    tail: F64 = np.logaddexp.accumulate(log_mass[::-1])[::-1]
    found: F64 = np.minimum(tail, 0.0)[counts]
    return found


def skewness_by_chance(queries: int, targets: int, k: int) -> float:
    """Skewness of N_k if all targets were found equally often: (1 − 2p)/√(m·p·(1 − p)) with p = k/n."""
    p = k / targets
    return float((1 - 2 * p) / np.sqrt(queries * p * (1 - p))) if p < 1 else 0.0


def antihubs_by_chance(queries: int, targets: int, k: int) -> float:
    """Share of the targets never found if all were found equally often: (1 − k/n)^m."""
    return float((1 - min(k / targets, 1)) ** queries)


def most_by_chance(queries: int, targets: int, k: int) -> int:
    """The largest N_k that at least one of n targets would have with a probability of about ½."""
    all_counts: I64 = np.arange(queries + 1)
    reached = np.log(targets) + binomial_tail(all_counts, queries, min(k / targets, 1)) >= np.log(0.5)
    return int(all_counts[reached][-1])
