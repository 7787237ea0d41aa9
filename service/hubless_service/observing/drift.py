"""A bounded sample of live queries, in memory only, to compare with the query bank."""

import threading
from random import Random
from typing import NamedTuple

import numpy as np

import hubless
from hubless import measures
from hubless.arrays import F32

FEWEST = 50
"""So many different queries it takes to say anything."""
_random = Random()  # noqa: S311  # draws, no secrets; nor those of whoever shares the process
_RENEWED = 0.05  # share of the sample that must be new before it is compared anew


class Drift(NamedTuple):
    """How far queries are from the query bank, and of how many queries that is known."""

    drift: float
    queries: int


class QuerySample:
    """Live queries of one version: the first `size`; then each replaces another now and then, so that old ones fade.

    Parameters
    ----------
    size : most vectors that are held
    window : how many queries old one is that is held, on average
    """

    def __init__(self, size: int, window: float) -> None:
        self._size = size
        self._probability = min(1.0, size / window)
        self._lock = threading.Lock()
        self._vectors: list[F32] = []
        self._renewed = 0
        self._known: Drift | None = None

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

    def drift(self, collection: hubless.Collection) -> Drift | None:
        """Compare with the bank; None as long as there are too few queries, or if the version has no bank sample."""
        bank = collection.bank_sample
        with self._lock:
            if bank is None or len(self._vectors) < FEWEST:
                return None
            if self._known and self._renewed < _RENEWED * len(self._vectors):
                return self._known
            vectors, self._renewed = np.stack(self._vectors), 0
        live = np.unique(collection.prepare(vectors), axis=0)
        self._known = Drift(measures.energy_drift(live, bank), len(live)) if len(live) >= FEWEST else None
        return self._known
