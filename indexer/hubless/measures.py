"""Measures of ranking quality and of hubness. A metric lives here.

Legend: m queries, n targets, k neighbours. Ranks start at 1 and are averaged over ties, so that a tie is never lucky.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F64, I64


def ranks(scores: NDArray[np.floating], relevant: Sequence[Sequence[int] | I64]) -> F64:
    """Rank of the best relevant target of each query; tied targets share their average rank.

    Parameters
    ----------
    scores : (m, n), higher is better
    relevant : for each query the rows of the targets that are right, at least one

    Returns
    -------
    (m,) float64, 1 is the first place
    """
    result = np.empty(len(scores))
    for row, (line, right) in enumerate(zip(scores, relevant, strict=True)):
        best = line[np.asarray(right)].max()
        above = np.count_nonzero(line > best)
        tied = np.count_nonzero(line == best)
        result[row] = above + (tied + 1) / 2
    return result


def recall_at(rank: F64, k: int) -> float:
    """R@k: share of the queries with a relevant target among the first k, from their ranks (m,)."""
    return float(np.mean(rank <= k))


def median_rank(rank: F64) -> float:
    """MdR: median of the ranks (m,)."""
    return float(np.median(rank))


def mean_rank(rank: F64) -> float:
    """MnR: mean of the ranks (m,)."""
    return float(np.mean(rank))


def k_occurrence(rows: I64, targets: int) -> I64:
    """N_k: how often each target is among the first k of a query.

    Parameters
    ----------
    rows : (m, k) rows of the targets found
    targets : n, so that targets never found count as well

    Returns
    -------
    (n,) int64, summing to m·k

    Source: Radovanović et al., JMLR 2010, section 2.
    """
    return np.bincount(rows.ravel(), minlength=targets).astype(np.int64)


def skewness(occurrence: NDArray[np.integer]) -> float:
    """Skewness of the k-occurrence over all targets, E[(N−μ)³]/σ³, biased as scipy.stats.skew; 0 if all are equal.

    Source: Radovanović et al., JMLR 2010, equation 1.
    """
    deviations = occurrence - occurrence.mean()
    spread = np.sqrt(np.mean(deviations**2))
    return float(np.mean((deviations / spread) ** 3)) if spread > 0 else 0.0


def antihub_occurrence(occurrence: NDArray[np.integer]) -> float:
    """Share of the targets that no query finds."""
    return float(np.mean(occurrence == 0))
