"""Measures of hubness, from the k-occurrence of *all* targets, also of those that no query finds.

N (n,) counts how often each target is among the first k of m queries. Its sum is m·k, its mean μ = m·k/n.
"""

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import I64

Occurrence = NDArray[np.integer] | NDArray[np.floating]


def k_occurrence(rows: I64, targets: int) -> I64:
    """Return N_k (n,): how often each of n targets is among the first k of a query, by rows found (m, k)."""
    return np.bincount(rows.ravel(), minlength=targets).astype(np.int64)


def unexplained_variation(occurrence: Occurrence) -> float:
    """Return (variance − mean)/mean² of N, squared variation that chance does not explain; 0 if nothing is found."""
    mean = float(occurrence.mean())
    return (float(occurrence.var()) - mean) / mean**2 if mean else 0.0


def most_found(occurrence: Occurrence, count: int) -> I64:
    """Return the rows of the `count` targets that are found most, (count,), the most found first."""
    return np.argsort(-occurrence, kind="stable")[:count]


def skewness(occurrence: Occurrence) -> float:
    """Return the skewness over all targets, E[(N−μ)³]/σ³, biased; 0 if all are equal (Radovanović, JMLR 2010)."""
    return standardised_moment(occurrence, 3)


def standardised_moment(occurrence: Occurrence, power: int) -> float:
    """Return E[(N−μ)^p]/σ^p; 0 if all are equal."""
    deviations = occurrence - occurrence.mean()
    spread = np.sqrt(np.mean(deviations**2))
    return float(np.mean((deviations / spread) ** power)) if np.ptp(occurrence) > 0 else 0.0


def mean_deviation(occurrence: Occurrence) -> float:
    """Return the mean absolute error to the uniform distribution, E|N − μ|: "MAE" of NNN, EMNLP 2024."""
    return float(np.mean(np.abs(occurrence - occurrence.mean())))


def entropy(occurrence: Occurrence) -> float:
    """Return the entropy of the finds in nats, −Σ p·log p with p = N/ΣN: the more even, the higher, at most log n."""
    finds = occurrence[occurrence > 0]
    shares = finds / finds.sum() if len(finds) else finds
    return abs(float((shares * np.log(shares)).sum()))


def robin_hood(occurrence: Occurrence) -> float:
    """Return the Robin Hood (Hoover) index, ½ Σ|N − μ| / Σ N: the share of finds to move for an even distribution."""
    total = float(occurrence.sum())
    return len(occurrence) * mean_deviation(occurrence) / (2 * total) if total else 0.0


def antihub_occurrence(occurrence: Occurrence) -> float:
    """Return the share of the n targets that no query finds."""
    return float(np.mean(occurrence == 0))
