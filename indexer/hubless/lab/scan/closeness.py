"""Targets that lie where targets do not by nature: nearly on one another, or at the centre of all."""

import numpy as np
from numpy.typing import NDArray

from hubless.vectors.arrays import F32, F64, I64, unit_rows
from hubless.vectors.sources import VectorSource

ROWS = 2048
"""Of a block of targets."""
NEAR_DUPLICATE = 0.98
"""From this cosine on."""


def near_duplicates(targets: VectorSource, leaders: list[int]) -> I64:
    """The group of each target, (n,), by the row of its leader: around each leader the targets that no earlier one has.

    Parameters
    ----------
    leaders : distinct rows; a target that is near none of them is a group of its own
    """
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
    group, taken = np.arange(count), np.zeros(count, bool)
    around = np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, len(leaders))))
    for leader, members in zip(leaders, around, strict=True):
        if not taken[leader]:
            free = np.append(members[~taken[members]], leader)
            group[free], taken[free] = leader, True
    return group


def alike(targets: VectorSource, vector: F32) -> list[int]:
    """The rows of the targets that are near-duplicates of a vector (d,)."""
    unit = vector / np.linalg.norm(vector)
    cosines = np.concatenate([unit_rows(block, targets.name) @ unit for block in targets.blocks(ROWS)])
    return np.flatnonzero(cosines >= NEAR_DUPLICATE).tolist()


class Centrality:
    """How much nearer to the centroid than targets are: (cosine − median)/(1.48·MAD)."""

    def __init__(self, targets: VectorSource) -> None:
        total = np.zeros(targets.shape[1])
        for block in targets.blocks(ROWS):
            total += unit_rows(block, targets.name).sum(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(total))
        self._centre = (total / (length or 1.0)).astype(np.float32)
        cosines = np.concatenate([unit_rows(block, targets.name) @ self._centre for block in targets.blocks(ROWS)])
        self._median = float(np.median(cosines))
        self._deviation = float(1.4826 * np.median(np.abs(cosines - self._median)))
        self.of_targets: F64 = self._standardised(cosines)

    def of(self, vectors: F32) -> F64:
        """Of new items, (a,)."""
        return self._standardised(unit_rows(vectors, "new items") @ self._centre)

    def _standardised(self, cosines: F32) -> F64:
        if self._deviation == 0:
            return np.zeros(len(cosines))
        return (cosines.astype(np.float64) - self._median) / self._deviation
