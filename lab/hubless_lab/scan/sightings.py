"""Finds of items by queries, and the surprise at their number: over all queries, and within topics."""

from collections.abc import Sequence
from dataclasses import dataclass

import faiss
import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from hubless.vectors.arrays import F32, F64, I64

SCAN_DEPTHS = (1, 10, 20)
SCAN_DEPTH = max(SCAN_DEPTHS)
COARSE, FINEST = 8, 256
QUERIES_A_TOPIC = 10
"""A topic of fewer queries says nothing."""
ITERATIONS = 20
NORMAL_QUANTILE = 1.96


@dataclass(frozen=True)
class Sightings:
    """An entry for each time that a query has an item among its first 20: (s,) each, places from 0."""

    queries: I64
    items: I64
    places: I64

    @classmethod
    def of(cls, rows: I64) -> "Sightings":
        m, k = rows.shape
        return cls(np.repeat(np.arange(m), k), rows.ravel(), np.tile(np.arange(k), m))

    def together(self, group: I64) -> "Sightings":
        """Return the sightings of groups (n,) of items: a query sees a group once, where it sees the first of it."""
        group_of = group[self.items]
        order = np.lexsort((self.places, group_of, self.queries))
        first = np.ones(len(order), bool)
        seen = np.stack([self.queries[order], group_of[order]])
        first[1:] = (seen[:, 1:] != seen[:, :-1]).any(axis=0)
        kept = order[first]
        return Sightings(self.queries[kept], group_of[kept], self.places[kept])

    def within(self, k: int) -> "Sightings":
        chosen = self.places < k
        return Sightings(self.queries[chosen], self.items[chosen], self.places[chosen])


@dataclass(frozen=True, kw_only=True)
class Surprise:
    """The surprise at how often items are seen, each (n,), from 0 to about 1.

    `topical` is the highest over the clusters: `topic` (n, 3) says which clustering, cluster and k, or −1, and `rate`
    which share of its queries. `counts` (n, 3) is N_k for each of `SCAN_DEPTHS`.
    """

    overall: F64
    topical: F64
    topic: I64
    rate: F64
    counts: I64

    @property
    def score(self) -> F64:
        return np.maximum(self.overall, self.topical)


def cluster(queries: F32, seed: int = 0) -> list[I64]:
    """Return the topic of each query (m,) by k-means, twice: of a few large ones, and of many small ones.

    Nothing where there are too few queries.
    """
    count = len(queries)
    numbers = {min(COARSE, count // (2 * QUERIES_A_TOPIC)), min(int(np.sqrt(count / 2)), FINEST)}
    found = []
    for number in sorted(number for number in numbers if number >= 2):
        means = faiss.Kmeans(queries.shape[1], number, niter=ITERATIONS, seed=seed, min_points_per_centroid=1)
        means.train(queries)
        found.append(means.index.search(queries, 1)[1][:, 0].astype(np.int64))
    return found


def surprise(seen: Sightings, items: int, queries: int, targets: int, topics: Sequence[I64]) -> Surprise:
    """Return the information per query, in units of that of being the first for every query, log n.

    For a rate r of queries that have an item among their first k, it is D(r ‖ k/n): the logarithm of the binomial tail
    is −m times it. r is the lower end of its Wilson interval; the highest over k counts.
    """
    overall = np.zeros(items)
    counted = []
    topical = np.zeros(items)
    topic = np.full((items, 3), -1)
    rate = np.zeros(items)
    for k in SCAN_DEPTHS:
        near = seen.within(k)
        counted.append(np.bincount(near.items, minlength=items).astype(np.int64))
        expected = min(k / targets, 1.0)
        overall = np.maximum(overall, _information(counted[-1], np.full(items, queries), expected))
        for number, labels in enumerate(topics):
            sizes = np.bincount(labels)
            pairs, counts = np.unique(near.items * len(sizes) + labels[near.queries], return_counts=True)
            item, label = pairs // len(sizes), pairs % len(sizes)
            size = sizes[label]
            value = np.where(size < QUERIES_A_TOPIC, 0.0, _information(counts, size, expected))
            order = np.argsort(value, kind="stable")
            item, label, size, value, counts = (given[order] for given in (item, label, size, value, counts))
            best = np.full(items, -1)
            best[item] = np.arange(len(item))  # the last, which is the highest, stays
            better = np.flatnonzero(best >= 0)
            better = better[value[best[better]] > topical[better]]
            chosen = best[better]
            topical[better], rate[better] = value[chosen], counts[chosen] / size[chosen]
            topic[better] = np.stack([np.full(len(chosen), number), label[chosen], np.full(len(chosen), k)], axis=1)
    unit = np.log(targets) if targets > 1 else 1.0
    counts = np.stack(counted, axis=1)
    return Surprise(overall=overall / unit, topical=topical / unit, topic=topic, rate=rate, counts=counts)


def _information(counts: NDArray[np.integer], trials: I64, expected: float) -> F64:
    """D(r ‖ p), in nats, of the lower Wilson bound r; 0 where it is not above p."""
    if expected >= 1:
        return np.zeros(len(counts))
    z = NORMAL_QUANTILE
    share = counts / trials
    low = (share + z * z / (2 * trials) - z * np.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)) / (
        1 + z * z / trials
    )
    rate = np.clip(low, expected, 1.0)
    information: F64 = rel_entr(rate, expected) + rel_entr(1 - rate, 1 - expected)
    return information
