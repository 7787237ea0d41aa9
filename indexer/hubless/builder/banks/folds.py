"""Bank queries that are held out in turn. Each is ranked for by a fit on others."""

from dataclasses import dataclass

import numpy as np

from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import SelectedVectors, VectorSource

FOLDS = 5
FEWEST = 2 * FOLDS
"""A bank of fewer queries is not divided: all of it is fitted on, and measures that fit."""
_MOST_QUERIES = 1000
"""So many measure well enough, and a fit on 800 is hardly worse than one on more. With 5 fits on most of a bank of
4,000, a build would take 1.4 times as long."""


@dataclass(frozen=True)
class Fold:
    """Rows (m,) of a bank (b, d) that are held out, their vectors (m, d), and the others."""

    rows: I64
    queries: F32
    rest: VectorSource


def folds_of(bank: VectorSource, seed: int) -> list[Fold]:
    """Hold out at most 1,000 queries of a bank (b, d), drawn at random, in five folds. A small bank is one fold."""
    count = bank.shape[0]
    if count < FEWEST:
        rows = np.arange(count)
        return [Fold(rows, bank.take(rows), bank)]
    drawn = np.random.default_rng(seed).permutation(count)[:_MOST_QUERIES]
    folds = []
    for part in np.array_split(drawn, FOLDS):
        rows = np.sort(part)
        rest = SelectedVectors(bank, np.setdiff1d(drawn, rows), bank.name)
        folds.append(Fold(rows, bank.take(rows), rest))
    return folds
