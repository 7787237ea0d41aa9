"""Insights into a version, computed once when somebody asks, and kept as long as the version is served."""

import threading
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

import hubless
from hubless.measures import k_occurrence
from hubless.measures.projection import Projection
from hubless.search.parts import projection
from hubless.vectors.arrays import F32, I64

K = 10
_TOGETHER = 32
_insights: "WeakKeyDictionary[hubless.Collection, Insight]" = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True)
class Counts:
    """N_10 (2, n) of the targets, raw and corrected, and over how many queries.

    `stored`: whether it was measured by the build; otherwise it is counted here, over the sample of the bank.
    """

    occurrence: NDArray[np.integer]
    queries: int
    stored: bool


class Insight:
    """Of a version as it was built. Ask in a search thread: the first answer takes a while."""

    def __init__(self, version: hubless.Collection) -> None:
        # the version itself is not kept: this must not hold it open
        self._sample = version.parts.bank_sample
        self._count = version.count
        self._working = threading.Lock()
        self._finds: I64 | None = None
        self._projection: Projection | None = None

    def finds(self, version: hubless.Collection) -> I64 | None:
        """The first ten (2, s, k) of each query of the bank sample, raw and at full strength; None without a sample."""
        with self._working:
            if self._finds is None and self._sample is not None and self._count:
                sample = self._sample
                self._finds = np.stack([_ranked(version, sample, strength) for strength in (0.0, 1.0)])
            return self._finds

    def counts(self, version: hubless.Collection) -> Counts | None:
        """Return how often each target is found; None if that was not measured, and there is no sample of the bank."""
        stored, measured = version.parts.occurrence(), version.manifest.measured
        if stored is not None and measured is not None:
            return Counts(stored, measured.queries, stored=True)
        finds = self.finds(version)
        if finds is None:
            return None
        return Counts(np.stack([k_occurrence(rows, self._count) for rows in finds]), finds.shape[1], stored=False)

    def projection(self, version: hubless.Collection) -> Projection | None:
        """The places of targets and bank queries."""
        with self._working:
            if self._projection is None:
                self._projection = projection(version.parts)
            return self._projection


def _ranked(version: hubless.Collection, sample: F32, strength: float) -> I64:
    parts = [sample[start : start + _TOGETHER] for start in range(0, len(sample), _TOGETHER)]
    return np.concatenate([version.query(part, K, strength, prepared=True).rows for part in parts])


def insight_of(version: hubless.Collection) -> Insight:
    """The insight of a version."""
    with _lock:
        return _insights.setdefault(version, Insight(version))
