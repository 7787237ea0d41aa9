"""The share of the targets that a query bank covers: its queries find all kinds of targets, or only some."""

import numpy as np

from hubless.kernels.reductions import largest_in_rows
from hubless.vectors.arrays import F32, F64, I64, directions
from hubless.vectors.comparing import COSINE, comparison

CLUSTERS, ROUNDS = 20, 15
_DRAWS = 3
"""Clusterings, each from another start, whose coverages are averaged."""
FEWEST_QUERIES, FEWEST_TARGETS = 20, 200
_FOUND = 10


def coverage(bank: F32, targets: F32, seed: int = 0, metric: str = COSINE) -> float | None:
    """Return the share of the targets (n, d) that a bank (b, d) covers; None for fewer than 200 or 20 rows.

    With p_c the share of the targets in each of 20 clusters, and q_c the share of the bank's first ten finds by `csls`,
    the overlap is Σ_c min(p_c, q_c). Coverage is relative to that of random targets in place of the bank. All are as
    they are compared under the metric.
    """
    if len(bank) < FEWEST_QUERIES or len(targets) < FEWEST_TARGETS:
        return None
    rng = np.random.default_rng(seed)
    stand_in = np.sort(rng.choice(len(targets), min(len(bank), len(targets)), replace=False))
    own = comparison(metric).turned(targets[stand_in]) @ targets.T
    own[np.arange(len(stand_in)), stand_in] = -np.inf
    finds = [_finds(similarities) for similarities in (bank @ targets.T, own)]
    shares = []
    plain = comparison(metric).plain(targets)
    for _ in range(_DRAWS):
        cluster = _clusters(plain, rng)
        found, right = (_overlap(cluster, rows) for rows in finds)
        shares.append(found / right)
    return min(1.0, float(np.mean(shares)))


def _finds(similarities: F32) -> I64:
    k = min(_FOUND, len(similarities))
    nearest = np.partition(similarities, len(similarities) - k, axis=0)[-k:]
    offsets = np.where(np.isfinite(nearest), nearest, 0).mean(axis=0) / 2
    return largest_in_rows(similarities - offsets, _FOUND)


def _overlap(cluster: I64, finds: I64) -> float:
    shares: list[F64] = [np.bincount(of, minlength=CLUSTERS) / len(of) for of in (cluster, cluster[finds.ravel()])]
    return float(np.minimum(*shares).sum())


def _clusters(rows: F32, rng: np.random.Generator) -> I64:
    around = directions(rows - rows.mean(axis=0))
    centres = around[rng.choice(len(rows), CLUSTERS, replace=False)]
    for _ in range(ROUNDS):
        nearest = (around @ centres.T).argmax(axis=1)
        for cluster in np.unique(nearest):
            total = around[nearest == cluster].sum(axis=0)
            centres[cluster] = total / max(float(np.linalg.norm(total)), 1e-12)
    found: I64 = (around @ centres.T).argmax(axis=1)
    return found
