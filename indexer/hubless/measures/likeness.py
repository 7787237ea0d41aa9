"""Relations of two sets of vectors: shared rows, the same cloud, or none at all."""

import numpy as np
from numpy.typing import NDArray

from hubless.kernels.threads import one_blas_thread
from hubless.vectors.arrays import F32, F64, directions
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import VectorSource, block_rows, plain_vectors

_SAME = 1e-5
"""Two rows are the same from this squared distance down, relative to their squared length. Float16 copies are nearer;
the nearest query and target of real sets are a thousand times further apart."""
HELD = 2**24
_ROUNDING = np.float32(1e-5)
"""Similarities that differ by less, relative to them, tie."""
CROWDED = 0.8
"""Similarity of strangers from which on nearness does not tell who is related."""


def share_among(rows: F32, others: VectorSource, metric: str = COSINE) -> float:
    """Return the share of rows (m, d) that stand among others (n, d). A copy in float16 counts as the same row.

    Both are as they are compared under the metric.
    """
    rows, others = comparison(metric).plain(rows), plain_vectors(others, metric)
    lengths = np.einsum("ij,ij->i", rows, rows)
    nearest = np.full(len(rows), np.inf, np.float32)
    for block in others.blocks(block_rows(others.shape[1])):
        squared = np.einsum("ij,ij->i", block, block)
        np.minimum(nearest, (squared - 2 * (rows @ block.T)).min(axis=1), out=nearest)
    return float(np.mean(nearest + lengths <= _SAME * lengths))


def told_apart(first: F32, second: F32) -> float:
    """Return how well a linear classifier tells two clouds (m, d), (n, d) apart, as AUC: near 0.5 it can only guess."""
    found = []
    for train in (0, 1):
        one, other = first[train::2], second[train::2]
        direction = _discriminant(one, other)
        found.append(_auc(first[1 - train :: 2] @ direction, second[1 - train :: 2] @ direction))
    return float(np.mean(found))


def related(queries: F32, targets: F32, seed: int = 0) -> float | None:
    """Return how much nearer queries (m, d) are to a target (n, d) than strangers are, as AUC: 0.5 is no nearer.

    A stranger is a centred query with its dimensions shuffled, and their signs drawn anew. None where strangers are
    near as well: with few dimensions, or many targets.
    """
    rng = np.random.default_rng(seed)
    dim = queries.shape[1]
    centred, others = (directions(rows - rows.mean(axis=0)) for rows in (queries, targets))
    strangers = (centred * rng.choice(np.array([-1, 1], np.float32), dim))[:, rng.permutation(dim)]
    real, chance = ((each @ others.T).max(axis=1) for each in (centred, strangers))
    return None if float(np.median(chance)) > CROWDED else _auc(real, chance)


def reciprocity(queries: F32, firsts: F32) -> float:
    """Return the share of queries (m, d) that are the nearest query of their first target (m, d).

    A query that ties with the nearest counts. Source: "Hubness, Not Anisotropy", arXiv 2605.26575, 2026.
    """
    own = np.einsum("ij,ij->i", queries, firsts)
    step = max(1, HELD // len(queries))
    nearest = np.concatenate(
        [(firsts[start : start + step] @ queries.T).max(axis=1) for start in range(0, len(queries), step)]
    )
    return float(np.mean(own >= nearest - _ROUNDING * np.abs(nearest)))


def _discriminant(one: F32, other: F32) -> F64:
    """Return the direction that tells two clouds apart; the ridge is the mean variance."""
    means = one.mean(axis=0, dtype=np.float64) - other.mean(axis=0, dtype=np.float64)
    covariance = np.atleast_2d((np.cov(one, rowvar=False) + np.cov(other, rowvar=False)) / 2)
    ridge = np.trace(covariance) / len(covariance)
    if ridge == 0:
        return np.asarray(means)
    with one_blas_thread:  # several would wait for each other
        direction: F64 = np.linalg.solve(covariance + ridge * np.eye(len(covariance)), means)
    return direction


def _auc(high: NDArray[np.floating], low: NDArray[np.floating]) -> float:
    ordered = np.sort(low)
    below, up_to = (np.searchsorted(ordered, high, side) for side in ("left", "right"))
    return float(np.mean(below + up_to) / (2 * len(low)))
