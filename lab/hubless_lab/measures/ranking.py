"""Measures of ranking quality: where the relevant targets of a query stand. Tied targets share their average rank."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError
from hubless.vectors.arrays import F64, I64


def ranks(scores: NDArray[np.floating], relevant: Sequence[Sequence[int] | I64]) -> F64:
    """Return the rank of the best relevant target of each query (m,), from scores (m, n); 1 is the first place."""
    counts = [len(rows) for rows in relevant]
    if len(counts) != len(scores):
        raise InputError("relevant", f"{len(scores)} entries, one for each query with scores", len(counts))
    if not counts:
        return np.empty(0)
    of_query = np.repeat(np.arange(len(counts)), counts)
    right = scores[of_query, np.concatenate([np.asarray(rows, np.int64) for rows in relevant])]
    best = np.maximum.reduceat(right, np.cumsum([0, *counts[:-1]]))[:, np.newaxis]
    above = np.count_nonzero(scores > best, axis=1)
    tied = np.count_nonzero(scores == best, axis=1)
    result: F64 = above + (tied + 1) / 2
    return result


def relevant_ranks(scores: NDArray[np.floating], relevant: Sequence[Sequence[int] | I64]) -> list[F64]:
    """Return the ranks of all relevant targets of each query, ascending, from scores (m, n)."""
    if all(len(rows) == 1 for rows in relevant):
        return list(ranks(scores, relevant)[:, np.newaxis])
    found = []
    for line, right in zip(scores, relevant, strict=True):
        ascending = np.sort(line)
        values = line[np.asarray(right)]
        not_above = np.searchsorted(ascending, values, side="right")
        below = np.searchsorted(ascending, values, side="left")
        found.append(np.sort(len(line) - not_above + (not_above - below + 1) / 2))
    return found


def recall_at(rank: F64, k: int) -> float:
    """Return R@k: the share of the queries with a relevant target among the first k, from their best ranks (m,)."""
    return float(np.mean(rank <= k))


def geometric_mean_recall(rank: F64, ks: Sequence[int] = (1, 5, 10)) -> float:
    """Return the geometric mean of R@1, R@5 and R@10, from the best ranks (m,): "Geom" of QB-Norm, CVPR 2022."""
    return float(np.prod([recall_at(rank, k) for k in ks]) ** (1 / len(ks)))


def precision_at(found: Sequence[F64], k: int) -> F64:
    """Return P@k of each query (m,): the share of its first k targets that are relevant, from `relevant_ranks`."""
    rank, of_query, _ = _flat(found)
    precision: F64 = np.minimum(np.bincount(of_query, rank <= k, minlength=len(found)) / k, 1.0)
    return precision


def median_rank(rank: F64) -> float:
    """Return MdR: the median of the ranks (m,)."""
    return float(np.median(rank))


def average_precision_at(found: Sequence[F64], k: int) -> F64:
    """Return AP@k of each query (m,): the sum of the precisions at its relevant targets within k, over min(k, all).

    The number of relevant targets up to one is averaged over those that tie. `found` is from `relevant_ranks`.
    """
    rank, of_query, counts = _flat(found)
    places = np.arange(1, len(rank) + 1) - (np.cumsum(counts) - counts)[of_query]
    starts_group = np.ones(len(rank), bool)
    starts_group[1:] = (rank[1:] != rank[:-1]) | (of_query[1:] != of_query[:-1])
    group = np.cumsum(starts_group) - 1
    up_to = (np.bincount(group, places) / np.bincount(group))[group]
    summed = np.bincount(of_query, np.where(rank <= k, up_to / rank, 0), minlength=len(found))
    # more tied targets than places may stand at an average rank within k
    precision: F64 = np.minimum(summed / np.minimum(k, counts), 1.0)
    return precision


def ndcg_at(found: Sequence[F64], k: int) -> F64:
    """Return nDCG@k of each query (m,): Σ 1/log2(1 + rank) of its relevant targets within k, over the best such sum."""
    rank, of_query, counts = _flat(found)
    best = np.cumsum(1 / np.log2(1 + np.arange(1, k + 1)))[np.minimum(k, counts) - 1]
    gained = np.bincount(of_query, np.where(rank <= k, 1 / np.log2(1 + rank), 0), minlength=len(found))
    ndcg: F64 = np.minimum(gained / best, 1.0)
    return ndcg


def _flat(found: Sequence[F64]) -> tuple[F64, I64, I64]:
    counts = np.array([len(rank) for rank in found])
    return np.concatenate(found), np.repeat(np.arange(len(found)), counts), counts
