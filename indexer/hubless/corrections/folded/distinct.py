"""The number of distinct bank queries: near-duplicates, such as captions of one image, count as one (docs/auto.md)."""

import numpy as np

from hubless.kernels.reductions import top_k
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource, in_memory, sample

FOUND, IN_COMMON = 10, 5
"""Queries with this many of their first ten targets in common are near-duplicates."""
FEWEST_TARGETS = 500
"""Of fewer targets, queries have many of their first ten in common anyway."""
COMPARED = 4096
"""So many bank queries are compared with each other."""


def distinct_queries(bank: VectorSource, targets: VectorSource, offsets: F32) -> float:
    """Σ_i 1/d_i over the bank queries (b, d), with d_i how many near-duplicates a query has, itself among them.

    They share many of the first targets by offsets (n,), so that a hub that all find does not count. Of a large bank a
    sample is compared. With fewer than 500 targets it is b.
    """
    count = bank.shape[0]
    if targets.shape[0] < FEWEST_TARGETS or not np.isfinite(offsets).all():
        return float(count)
    from scipy.sparse import csr_array  # here, as it takes long to import

    some = in_memory(sample(bank, COMPARED))
    _, finds = top_k(some, targets, FOUND, offsets)
    starts = np.arange(0, finds.size + 1, FOUND)
    incidence = csr_array((np.ones(finds.size, np.int32), finds.ravel(), starts), (len(some), targets.shape[0]))
    common = incidence @ incidence.T
    common.data = (common.data >= IN_COMMON).astype(np.int32)
    others = common.sum(axis=1) - 1
    scale = (count - 1) / max(len(some) - 1, 1)
    return float(count * np.mean(1 / (1 + scale * others)))
