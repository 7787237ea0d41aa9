"""Further measures of hubness that papers use, from the k-occurrence N (n,): see `hubless.measures.occurrence`."""

import math

import numpy as np
from numpy.typing import NDArray

from hubless.measures.occurrence import Occurrence, standardised_moment
from hubless.vectors.arrays import F64

HUB_SIZE = 2.0
"""A hub is a target found at least this many times as often as the mean."""


def k_occurrence_of_scores(scores: NDArray[np.floating], k: int) -> F64:
    """Return N_k (n,) from scores (m, n). Targets tied at the last place share the places left, so ties make no hub."""
    n = scores.shape[1]
    k = min(k, n)
    last = np.partition(scores, n - k, axis=1)[:, n - k, np.newaxis]
    above, tied = scores > last, scores == last
    share = (k - np.count_nonzero(above, axis=1)) / np.count_nonzero(tied, axis=1)
    occurrence: F64 = np.count_nonzero(above, axis=0) + share @ tied
    return occurrence


def kurtosis(occurrence: Occurrence) -> float:
    """Return the excess kurtosis, E[(N−μ)⁴]/σ⁴ − 3, biased; 0 if all are equal (NNN, EMNLP 2024)."""
    return standardised_moment(occurrence, 4) - 3 if np.ptp(occurrence) > 0 else 0.0


def truncated_skewness(occurrence: Occurrence) -> float:
    """Return the skewness of a normal distribution with the mean and spread of the occurrence, cut at 0 as counts are.

    Source: Feldbauer et al., "scikit-hubness", JOSS 2020.
    """
    spread = float(np.std(occurrence, ddof=1)) if len(occurrence) > 1 else 0.0
    if spread == 0:
        return 0.0
    cut = float(occurrence.mean()) / spread
    return (cut**2 + 2) * math.exp(-(cut**2) / 2) * math.sqrt(2 / math.pi) / math.erfc(-cut / math.sqrt(2))


def gini(occurrence: Occurrence) -> float:
    """Return the Gini index, Σ_ij |N_i − N_j| / (2 n Σ N): 0 is even, 1 is one target found always."""
    total = float(occurrence.sum())
    n = len(occurrence)
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float(weights @ np.sort(occurrence)) / (n * total) if total else 0.0


def atkinson(occurrence: Occurrence) -> float:
    """Return the Atkinson index with aversion ½, 1 − (E√N)²/μ: 0 is even. Rare targets weigh more than in Gini's."""
    mean = float(occurrence.mean())
    return 1 - float(np.mean(np.sqrt(occurrence))) ** 2 / mean if mean else 0.0


def hub_occurrence(occurrence: Occurrence, size: float = HUB_SIZE) -> float:
    """Return the share of the m·k places that hubs take: targets found `size` times as often as the mean, or more."""
    total = float(occurrence.sum())
    return float(occurrence[occurrence >= size * occurrence.mean()].sum()) / total if total else 0.0


def groupie_ratio(occurrence: Occurrence) -> float:
    """Return the share of the m·k places that the largest hub takes, max N / (m·k) (scikit-hubness)."""
    total = float(occurrence.sum())
    return float(occurrence.max()) / total if total else 0.0
