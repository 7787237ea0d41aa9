"""How stable it is that queries see a target: whether they still do if they are changed a little."""

import numpy as np

from hubless.kernels.reductions import top_k
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import VectorSource

DEPTH = 10
NOISE = 0.25
"""Length of the noise, relative to the query. HubScan adds 0.01 to each coordinate: as much in 625 dimensions."""
DRAWS = 3
MOST_QUERIES = 1000


class Stability:
    """Of the queries that have a target among their first 10, the share that still has it with noise on the query.

    Parameters
    ----------
    queries : (m, d); at most 1,000 of them, at random, are changed
    targets : (n, d)
    similarities, rows : (m, k) of the first targets of each query, best first, k ≥ 10 unless n is smaller
    seed : of the noise, a Gaussian direction of a quarter of the query's length, 3 times a query

    Source: the idea is HubScan's (arXiv 2602.22427), which counts how often changed queries find a target. Here it is
    relative to how often the queries themselves do.
    """

    def __init__(self, queries: F32, targets: VectorSource, similarities: F32, rows: I64, seed: int) -> None:
        rng = np.random.default_rng(seed)
        some = np.sort(rng.permutation(len(queries))[:MOST_QUERIES])
        self._queries = queries[some]
        self._rows = rows[some, :DEPTH]
        self._last = similarities[some, :DEPTH][:, -1:]
        self._noisy = []
        for _ in range(DRAWS):
            changed = _with_noise(self._queries, rng)
            self._noisy.append((changed, *top_k(changed, targets, DEPTH)))

    def of_targets(self, group: I64) -> F64:
        """Of each target (n,), not a number where none of these queries sees it. A group (n,) of targets is one."""
        seen = group[self._rows]
        count = len(group)
        total = np.bincount(seen.ravel(), minlength=count)
        kept = np.zeros(count)
        for _, _, rows in self._noisy:
            still = (seen[:, :, np.newaxis] == group[rows][:, np.newaxis]).any(axis=2)
            kept += np.bincount(seen[still], minlength=count)
        return _share(kept, total)[group]

    def of_new(self, vectors: F32) -> F64:
        """Of new items (a, d), each as if it alone were added: (a,), not a number where no query would see it."""
        seen = self._queries @ vectors.T >= self._last
        kept = np.zeros(len(vectors))
        for changed, similarities, _ in self._noisy:
            kept += (seen & (changed @ vectors.T >= similarities[:, -1:])).sum(axis=0)
        return _share(kept, seen.sum(axis=0))


def _with_noise(queries: F32, rng: np.random.Generator) -> F32:
    noise = rng.standard_normal(queries.shape, np.float32)
    lengths = np.linalg.norm(queries, axis=1, keepdims=True) / np.linalg.norm(noise, axis=1, keepdims=True)
    changed: F32 = queries + np.float32(NOISE) * lengths * noise
    return changed


def _share(kept: F64, total: I64) -> F64:
    shares: F64 = np.where(total > 0, kept / np.maximum(DRAWS * total, 1), np.nan)
    return shares
