"""The number of distinct bank queries: near-duplicates, such as captions of one image, count as one (docs/auto.md)."""

import numpy as np

from hubless.corrections.folded.outlying import rise
from hubless.kernels.reductions import top_k
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory, sample

FOUND, IN_COMMON = 10, 5
"""Queries with this many of their first ten targets in common are near-duplicates."""
MORE_FOUND, MORE_IN_COMMON = 20, 6
"""Likewise, in a bank where queries that are alike want the same target."""
NEIGHBOURS = 4
"""A query's crowding is seen on so many bank queries that are most like it."""
HALF = 0.5
"""Strength at which these find their first target. Raw hubs look wanted; at full strength what is wanted is lost."""
EVEN, CROWDED = 0.25, 0.4
"""Between these two values of crowding, the second rule takes the place of the first. Measured: up to .28 with one
query a target, .43 to .93 with five captions an image."""
FEWEST_TARGETS = 500
"""Of fewer targets, queries have many of their first ten in common anyway."""
COMPARED = 4096
"""So many bank queries are compared with each other."""


def crowding(bank: VectorSource, targets: VectorSource, offsets: F32) -> float:
    """Return how many of the 4 queries most like a query find the same target first, beyond what chance explains.

    Alike queries of a clumpy but fair bank find as many targets as they are. Captions of one image all find it. Chance
    is (b − 1)/n: as many as if the bank were spread evenly over the targets.

    It is the mean over the bank (b, d), up to 4, by targets (n, d) with the target bank and offsets (n,) that are not
    shrunk; 0 for a bank of more than 4,096, where shrinkage means little.
    """
    count = bank.shape[0]
    if not 1 < count <= COMPARED or not np.isfinite(offsets).all():
        return 0.0
    queries = in_memory(bank)
    first = top_k(queries, targets, 1, HALF * offsets)[1][:, 0]
    lengths = np.linalg.norm(queries, axis=1, keepdims=True)
    alike = (queries / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    nearest = top_k(alike, ArrayVectors(alike, "query bank"), min(NEIGHBOURS + 1, count))[1]
    others = nearest != np.arange(count)[:, np.newaxis]
    shared = np.sum((first[nearest] == first[:, np.newaxis]) & others, axis=1)
    return float(np.minimum(shared, NEIGHBOURS).mean()) - (count - 1) / targets.shape[0]


def crowdedness(crowded: float) -> float:
    """Return 0 for the crowding of a fair bank, rising to 1."""
    return float(rise(crowded, EVEN, CROWDED))


def distinct_queries(bank: VectorSource, targets: VectorSource, offsets: F32, crowded: float = 0.0) -> float:
    """Σ_i 1/d_i over the bank queries (b, d), with d_i how many near-duplicates a query has, itself among them.

    They share many of the first targets by offsets (n,), so that a hub that all find does not count. In a crowded bank
    up to 4 others that share fewer are near-duplicates, too. Of a large bank a sample is compared. With fewer than 500
    targets it is b.
    """
    count = bank.shape[0]
    if targets.shape[0] < FEWEST_TARGETS or not np.isfinite(offsets).all():
        return float(count)
    weight, some = crowdedness(crowded), in_memory(sample(bank, COMPARED))
    _, finds = top_k(some, targets, MORE_FOUND, offsets)
    others = _near_duplicates(finds[:, :FOUND], IN_COMMON)
    more = np.minimum(_near_duplicates(finds, MORE_IN_COMMON), NEIGHBOURS) if weight else others
    scale = (count - 1) / max(len(some) - 1, 1)
    shares = [1 / (1 + scale * each) for each in (others, np.maximum(others, more))]
    return float(count * ((1 - weight) * shares[0].mean() + weight * shares[1].mean()))


def _near_duplicates(finds: I64, shared: int) -> I64:
    """Return how many other queries share so many of their finds (b, k) with each: (b,)."""
    from scipy.sparse import csr_array  # here, as it takes long to import

    starts = np.arange(0, finds.size + 1, finds.shape[1])
    incidence = csr_array((np.ones(finds.size, np.int32), finds.ravel(), starts), (len(finds), finds.max() + 1))
    common = incidence @ incidence.T
    common.data = (common.data >= shared).astype(np.int32)
    others: I64 = common.sum(axis=1) - 1
    return others
