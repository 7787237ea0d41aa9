"""Half of a query bank is held out from a fit, which it then measures.

If each part were held out in turn, the parts together would be the very queries of the fits, and hubness would look too
small: lab/docs/measures.md, "Held-out queries".
"""

from dataclasses import dataclass

import numpy as np

from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import SelectedVectors, VectorSource

FEWEST = 10
"""A bank of fewer queries is not divided: all of it is fitted on, and measures that fit."""
MOST_QUERIES, MOST_FITTED = 1000, 2000
"""So many measure well enough, and a fit on 2,000 is hardly worse than one on more."""


@dataclass(frozen=True)
class BankSplit:
    """Rows (m,) of a bank (b, d) that are held out, their vectors (m, d), and others, which the measured fit sees.

    In a small bank nothing is `held_out`: these are all of it, and those too.
    """

    rows: I64
    queries: F32
    others: VectorSource
    held_out: bool = True


def split_bank(bank: VectorSource, seed: int) -> BankSplit:
    """Hold out half of a bank (b, d), at most 1,000 queries drawn at random, if it has 10 or more."""
    count = bank.shape[0]
    if count < FEWEST:
        rows = np.arange(count)
        return BankSplit(rows, bank.take(rows), bank, held_out=False)
    drawn = np.random.default_rng(seed).permutation(count)
    held = min(MOST_QUERIES, count // 2)
    rows = np.sort(drawn[:held])
    others = np.sort(drawn[held : held + MOST_FITTED])
    return BankSplit(rows, bank.take(rows), SelectedVectors(bank, others, bank.name))
