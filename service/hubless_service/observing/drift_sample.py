"""A bounded sample of live queries, in memory only, to compare with the query bank."""

import threading
from random import Random
from typing import NamedTuple

import numpy as np

import hubless
from hubless import measures
from hubless.vectors.arrays import F32

FEWEST = 50
"""Fewest different queries for which a drift is given."""
_random = Random()  # noqa: S311  # draws, no secrets; its own, so that no other code seeds it
_RENEWED = 0.05  # share of the sample that must be new before the drift is measured anew
_LOOKED_AT = 0.5  # and before it is measured though nobody asks


class QueryDrift(NamedTuple):
    """How far queries are from the query bank, and how many queries were compared."""

    drift: float
    queries: int

    @property
    def advice(self) -> str | None:
        """What to do; None if the queries are still those of the bank."""
        return measures.drift_advice(self.drift)


class DriftSample:
    """Live queries of one version: at first all; once there are `size`, a new one replaces another now and then.

    Parameters
    ----------
    size : most vectors that are held
    window : mean age of a vector that is held, in queries
    """

    def __init__(self, size: int, window: float) -> None:
        self._size = size
        self._probability = min(1.0, size / window)
        self._lock = threading.Lock()
        self._vectors: list[F32] = []
        self._renewed = 0
        self._known: QueryDrift | None = None

    def observe(self, vectors: F32) -> None:
        """Take in some of the queries (m, d)."""
        for vector in vectors:
            full = len(self._vectors) >= self._size
            if full and _random.random() >= self._probability:
                continue
            with self._lock:
                if len(self._vectors) < self._size:
                    self._vectors.append(vector.copy())
                else:
                    self._vectors[_random.randrange(self._size)] = vector.copy()
                self._renewed += 1

    def vectors(self) -> F32:
        """The queries that are held (size, d), in no order; (0, 0) if there are none."""
        with self._lock:
            return np.stack(self._vectors) if self._vectors else np.zeros((0, 0), np.float32)

    @property
    def is_due(self) -> bool:
        """Whether so much is new that the drift ought to be looked at, though nobody asks."""
        with self._lock:
            return len(self._vectors) >= FEWEST and self._renewed >= _LOOKED_AT * len(self._vectors)

    def drift(self, collection: hubless.Collection) -> QueryDrift | None:
        """Compare with the query bank; None if there are too few queries, or if the version has no bank sample."""
        bank = collection.bank_sample
        with self._lock:
            if bank is None or len(self._vectors) < FEWEST:
                return None
            if self._known and self._renewed < _RENEWED * len(self._vectors):
                return self._known
            vectors, self._renewed = np.stack(self._vectors), 0
        live = np.unique(collection.prepare(vectors), axis=0)
        self._known = QueryDrift(measures.energy_drift(live, bank), len(live)) if len(live) >= FEWEST else None
        return self._known
