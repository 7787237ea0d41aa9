"""How far queries have moved away from the query bank of a collection."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hubless.errors import InputError
from hubless.measures.drift import drift_advice, energy_drift
from hubless.search.collection import Collection
from hubless.vectors.files import as_items
from hubless.vectors.sources import in_memory

MOST, FEWEST = 512, 50
"""Queries that are compared, as many as a service compares."""


class BankDrift(NamedTuple):
    """The drift of some queries, their number, and what to do; None if there is nothing to do."""

    drift: float
    queries: int
    advice: str | None


def bank_drift(collection: Collection, queries: Path | ArrayLike, seed: int = 0) -> BankDrift:
    """Return how far queries are from the bank of a collection: 0 is no further, 1 the border of chance.

    Parameters
    ----------
    queries : (r, d), or their file. At most `MOST` of them are compared, drawn at random

    Raises
    ------
    InputError
        if there are fewer than `FEWEST` different queries, or the version was built without a sample of its bank.
    """
    if collection.bank_sample is None:
        raise InputError("collection", "a version that was built with a query bank", "one without")
    different = np.unique(in_memory(as_items(queries, "queries").vectors), axis=0)
    if len(different) < FEWEST:
        raise InputError("queries", f"at least {FEWEST} different ones", str(len(different)))
    drawn = np.random.default_rng(seed).permutation(len(different))[:MOST]
    found = energy_drift(collection.prepare(different[np.sort(drawn)], "queries"), collection.bank_sample, seed)
    return BankDrift(found, len(drawn), drift_advice(found))
