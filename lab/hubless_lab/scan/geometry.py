"""Places of targets: copies of each other, the centre of all, and finds that noise on the query changes."""

import numpy as np
from numpy.typing import NDArray

from hubless.diagnosing.near_duplicates import NEAR_DUPLICATE, ROWS
from hubless.kernels.reductions import top_k
from hubless.vectors.arrays import F32, F64, I64, unit_rows
from hubless.vectors.sources import VectorSource

_DEPTH = 10
NOISE = 0.25
"""Length of the noise, relative to the query. HubScan adds 0.01 to each coordinate: as much in 625 dimensions."""
_DRAWS = 3
_MOST_QUERIES = 1000


def near_duplicates(targets: VectorSource, leaders: list[int]) -> I64:
    """Return the group of each target, (n,), by the row of its leader: all near it that no earlier leader has."""
    count = targets.shape[0]
    vectors = unit_rows(targets.take(np.array(leaders)), targets.name)
    near: list[NDArray[np.int64]] = []
    start = 0
    for block in targets.blocks(ROWS):
        pair = np.argwhere(vectors @ unit_rows(block, targets.name).T >= NEAR_DUPLICATE)
        near.append(pair + np.array([0, start]))
        start += len(block)
    pairs = np.concatenate(near)
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    group = np.arange(count)
    taken = np.zeros(count, bool)
    around = np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, len(leaders))))
    for leader, members in zip(leaders, around, strict=True):
        if not taken[leader]:
            free = np.append(members[~taken[members]], leader)
            group[free], taken[free] = leader, True
    return group


def alike(targets: VectorSource, vector: F32) -> list[int]:
    """Return the rows of the targets that are near-duplicates of a vector (d,)."""
    cosines = _cosines(targets, vector / np.linalg.norm(vector))
    return np.flatnonzero(cosines >= NEAR_DUPLICATE).tolist()


class Centrality:
    """Nearness to the centroid of the targets, beside that of other targets: (cosine − median)/(1.48·MAD)."""

    def __init__(self, targets: VectorSource) -> None:
        total = np.zeros(targets.shape[1])
        for block in targets.blocks(ROWS):
            total += unit_rows(block, targets.name).sum(axis=0, dtype=np.float64)
        self._centre = (total / (float(np.linalg.norm(total)) or 1.0)).astype(np.float32)
        cosines = _cosines(targets, self._centre)
        self._median = float(np.median(cosines))
        self._deviation = float(1.4826 * np.median(np.abs(cosines - self._median)))
        self.of_targets: F64 = self._standardised(cosines)

    def of(self, vectors: F32) -> F64:
        return self._standardised(unit_rows(vectors, "new items") @ self._centre)

    def _standardised(self, cosines: F32) -> F64:
        if self._deviation == 0:
            return np.zeros(len(cosines))
        return (cosines.astype(np.float64) - self._median) / self._deviation


class Stability:
    """The share of the queries with a target among their first 10 that still have it with noise on the query.

    The idea is HubScan's (arXiv 2602.22427), which counts how often changed queries find a target.
    """

    def __init__(self, queries: F32, targets: VectorSource, similarities: F32, rows: I64, seed: int) -> None:
        rng = np.random.default_rng(seed)
        some = np.sort(rng.permutation(len(queries))[:_MOST_QUERIES])
        self._queries = queries[some]
        self._rows = rows[some, :_DEPTH]
        self._last = similarities[some, :_DEPTH][:, -1:]
        self._noisy = []
        for _ in range(_DRAWS):
            noise = rng.standard_normal(self._queries.shape, np.float32)
            lengths = (np.linalg.norm(each, axis=1, keepdims=True) for each in (self._queries, noise))
            changed: F32 = self._queries + np.float32(NOISE) * np.divide(*lengths) * noise
            self._noisy.append((changed, *top_k(changed, targets, _DEPTH)))

    def of_targets(self, group: I64) -> F64:
        """Return that of each target (n,), not a number where none of these queries sees it. A group (n,) is one."""
        seen = group[self._rows]
        count = len(group)
        kept = np.zeros(count)
        for _, _, rows in self._noisy:
            still = (seen[:, :, np.newaxis] == group[rows][:, np.newaxis]).any(axis=2)
            kept += np.bincount(seen[still], minlength=count)
        return _share(kept, np.bincount(seen.ravel(), minlength=count))[group]

    def of_new(self, vectors: F32) -> F64:
        """Return that of new items (a, d), each as if it alone were added; not a number where no query sees it."""
        seen = self._queries @ vectors.T >= self._last
        kept = np.zeros(len(vectors))
        for changed, similarities, _ in self._noisy:
            kept += (seen & (changed @ vectors.T >= similarities[:, -1:])).sum(axis=0)
        return _share(kept, seen.sum(axis=0))


def _cosines(targets: VectorSource, unit: F32) -> F32:
    return np.concatenate([unit_rows(block, targets.name) @ unit for block in targets.blocks(ROWS)])


def _share(kept: F64, total: I64) -> F64:
    shares: F64 = np.where(total > 0, kept / np.maximum(_DRAWS * total, 1), np.nan)
    return shares
