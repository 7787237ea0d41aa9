"""Keeps the first answers of what is asked most.

One query can be a third of a log. Nobody knows without labels whether its answer is right, and there are not enough
such queries for gains and losses to even out: one wrong change is the worst that a correction did to a log. And what
many people ask may be short and general, so that hubs are its right answers. Then the most asked queries find hubs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hubless.corrections.folded.rising import rise
from hubless.kernels.reductions import rankings, top_k
from hubless.kernels.sharding import is_sharded, over_shards
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import TakenVectors, VectorSource, block_rows, in_memory, sampled_rows

SHARE, LEAST_COPIES = 0.05, 10
"""An answer to so large a share of a log is kept, as are those of so large a share of the queries, the most asked. Each
of them was asked so often. Measured: with 0.02 and 0.1 a real log is worse."""
CHANCE, SURE = 1.5, 3.0
"""Between these two standard errors of `asked_at_hubs` that share of the queries rises from nothing. Measured: up to
2.1 where chance says what is asked often, 4.3 in a real log."""
MOST_HEADS = 1000
"""So many queries of each kind are looked at."""
NEAREST, SEEN = 100, 2**14
"""So many targets that are nearest to a head may come before its first answer; more, while all heads see so few."""
APART = 2e-6
"""A kept answer is first by this much, relative to its similarity."""


@dataclass(frozen=True)
class Heads:
    """Queries (m, d) that keep their first answer, one for each of these answers.

    A target whose similarity to head i is at least `reached` (m,) has an offset of `most` (m,) at most.
    """

    queries: F32
    reached: F64
    most: F64

    def limits(self, targets: VectorSource) -> F64:
        """Return the largest offset that each of the targets (n, d) may have, (n,): ∞ for what no head finds."""
        if is_sharded(targets):
            return np.concatenate(over_shards(targets, self.limits))
        heads = self.queries.T.astype(np.float64)
        found = []
        for block in targets.blocks(block_rows(sum(heads.shape))):
            first = block.astype(np.float64) @ heads >= self.reached
            found.append(np.where(first, self.most, np.inf).min(axis=1))
        return np.concatenate(found)


def asked_at_hubs(bank: VectorSource, asked: F64, targets: VectorSource, offsets: F32) -> float:
    """Return whether what is asked often lies at hubs, in standard errors: 0 by chance.

    It is √b times Spearman's correlation of how often queries (b, d) were asked, (b,), with the offsets (n,) of their
    first answers, raw and corrected, together. Ranks, as one query that is asked very often says little.
    """
    raw, corrected = (rows[:, 0] for _, rows in rankings(in_memory(bank), targets, 1, None, offsets))
    ranks = _ranks(asked), _ranks(offsets[raw] + offsets[corrected])
    if not all(map(np.ptp, ranks)):
        return 0.0
    return float(np.sqrt(len(asked)) * np.corrcoef(*ranks)[0, 1])


def _ranks(values: F64 | F32) -> F64:
    """Return the place of each of some values (b,) in their order; equal ones share the mean of their places."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends: I64 = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[places]


def find_heads(
    bank: VectorSource,
    asked: F64,
    alike: F64,
    at_hubs: float,
    targets: VectorSource,
    offsets: Callable[[VectorSource], F32],
) -> Heads | None:
    """Return the heads of a bank (b, d) that would lose their answer; None if there are none.

    Its queries were asked so often (b,), and count as `alike` (b,). Targets (n, d) get these `offsets` else. An answer
    is kept that a twentieth of the log finds, in queries that are as large a part of it with those that are alike; and
    those of a twentieth of the queries, the most asked, or fewer where it is less sure that these lie `at_hubs`.
    """
    least = max(SHARE * asked.sum(), LEAST_COPIES)
    large = np.flatnonzero(asked * alike >= least)
    share = SHARE * float(rise(at_hubs, CHANCE, SURE))
    often = np.argsort(-asked, kind="stable")[: min(round(share * len(asked)), MOST_HEADS)]
    often = often[asked[often] >= LEAST_COPIES]
    tried = large[sampled_rows(len(large), MOST_HEADS)]
    rows = np.union1d(tried, often)
    if not len(rows) or targets.shape[0] < 2:
        return None
    queries = bank.take(rows)
    near = max(NEAREST, SEEN // len(rows))
    scores, nearest = top_k(queries, targets, min(near, targets.shape[0]))
    first = nearest[:, 0]
    is_large = np.isin(rows, tried)
    found = np.zeros(targets.shape[0])
    np.add.at(found, first[is_large], asked[rows[is_large]] * len(large) / len(tried))
    kept = (found[first] >= least) & is_large | np.isin(rows, often)
    return _limited(queries[kept], scores[kept], nearest[kept], targets, offsets) if kept.any() else None


def _limited(
    queries: F32, scores: F32, nearest: I64, targets: VectorSource, offsets: Callable[[VectorSource], F32]
) -> Heads | None:
    """Return queries (m, d) with the largest offsets by which each keeps the first of its `nearest` targets (m, k)."""
    seen, places = np.unique(nearest, return_inverse=True)
    places = places.reshape(nearest.shape)
    some = TakenVectors(targets, seen, targets.name)
    before: F64 = offsets(some).astype(np.float64)
    if not np.isfinite(before).all():
        return None
    first = places[:, 0]
    reached = np.einsum("ij,ij->i", queries.astype(np.float64), targets.take(nearest[:, 0]))
    reached -= APART * np.maximum(np.abs(reached), 1)
    after = before
    # what keeps one head's answer may overtake another's: shortest paths, by Bellman and Ford
    for _ in range(len(queries)):
        most = after.copy()
        np.minimum.at(most, first, reached - (scores[:, 1:] - after[places[:, 1:]]).max(axis=1))
        if (most == after).all():
            break
        after = most
    answers, heads = np.unique(first, return_index=True)
    lowered = after[answers] < before[answers]
    if not lowered.any():
        return None
    heads = heads[lowered]
    return Heads(queries[heads], reached[heads], after[first[heads]])
