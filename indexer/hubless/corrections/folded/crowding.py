"""The crowding of a bank: whether queries that are alike want the same target, as captions of one image do."""

import numpy as np

from hubless.corrections.folded.counted_once import likeness
from hubless.kernels.reductions import largest_in_rows
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import VectorSource, in_memory

NEIGHBOURS = 4
"""A query's crowding is seen on so many bank queries that are most like it."""
FEWEST_TARGETS = 500
"""Of fewer targets, queries find the same ones anyway."""
HALF = 0.5
"""Strength at which these find their first target. Raw hubs look wanted; at full strength what is wanted is lost."""


def crowding(bank: VectorSource, near: F32, offsets: F32, metric: str = COSINE) -> float:
    """Return how many of the 4 queries most like a query find the same target first, beyond what chance explains.

    Alike queries of a clumpy but fair bank find as many targets as they are. Captions of one image all find it. Chance
    is (b − 1)/n: as many as if the bank were spread evenly over the targets.

    It is the mean over the bank (b, d), up to 4, by how `near` (b, n) it is to targets with the target bank, and by
    offsets (n,) that are not shrunk; 0 for fewer than 500 targets.
    """
    count = bank.shape[0]
    if count < 2 or len(offsets) < FEWEST_TARGETS or not np.isfinite(offsets).all():
        return 0.0
    first = np.argmax(near - HALF * offsets, axis=1)
    queries = comparison(metric).plain(in_memory(bank))
    nearest = largest_in_rows(likeness(queries, queries, COSINE), min(NEIGHBOURS + 1, count))
    others = nearest != np.arange(count)[:, np.newaxis]
    shared = np.sum((first[nearest] == first[:, np.newaxis]) & others, axis=1)
    return float(np.minimum(shared, NEIGHBOURS).mean()) - (count - 1) / len(offsets)
