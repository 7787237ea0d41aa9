"""`gc`: how highly a target would rank the query among the bank queries."""

from dataclasses import dataclass

import numpy as np

from hubless.corrections.base import BankKept, Rows, check_banks, targets_beside
from hubless.corrections.query_time import Candidates, StoredFields
from hubless.kernels.threads import slices
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import VectorSource, in_memory

TIE = 1e-6
"""Similarities this near to each other are one: the same product is not always rounded alike."""
HELD_SIMILARITIES = 2**22
MOST_SORTED = 2**27
"""The most similarities that are kept sorted: 512 MiB. Else each query is compared with the whole bank."""


@dataclass(frozen=True)
class RankAmongBank(StoredFields):
    """s − rank: the rank of s among the bank's similarities to the target, 1 the first; ties share their average.

    With the `sorted_similarities` (n, b) the rank takes O(log b) a candidate. Else each query is compared with the
    bank.
    """

    bank: F32
    sorted_similarities: F32 | None = None

    def scores(self, query: F32, candidates: Candidates) -> F64:
        s = candidates.similarities
        tie = np.float32(TIE) * np.maximum(1, np.abs(s))
        if self.sorted_similarities is None:
            above, not_below = self._compared(candidates, s + tie, s - tie)
        else:
            # what is above x is not below the next number
            limits = np.stack([np.nextafter(s + tie, np.float32(np.inf)), s - tie])
            above, not_below = _not_below(self.sorted_similarities, candidates.rows, limits)
        ranked: F64 = s - (1 + (above + not_below) / 2)
        return ranked

    def _compared(self, candidates: Candidates, upper: F32, lower: F32) -> I64:
        """Count the similarities of the bank that are > upper and ≥ lower, (2, c)."""
        counts = np.empty((2, len(upper)), np.int64)
        vectors = candidates.vectors()
        for block in slices(len(upper), max(1, HELD_SIMILARITIES // len(self.bank))):
            of_bank = vectors[block] @ self.bank.T
            counts[0, block] = np.count_nonzero(of_bank > upper[block, np.newaxis], axis=1)
            counts[1, block] = np.count_nonzero(of_bank >= lower[block, np.newaxis], axis=1)
        return counts


def _not_below(ascending: F32, rows: I64, limits: F32) -> I64:
    """Count the values of some rows of a table (n, b) not below limits (l, c), by binary searches."""
    below = [ascending[row].searchsorted(limit) for row, limit in zip(rows, limits.T, strict=True)]
    counts: I64 = ascending.shape[1] - np.array(below, np.int64).reshape(-1, len(limits)).T
    return counts


def _sorted_similarities(bank: F32, targets: VectorSource, advance: Advance) -> F32:
    table = np.empty((targets.shape[0], len(bank)), np.float32)
    start = 0
    for block in targets.blocks(max(1, HELD_SIMILARITIES // len(bank))):
        part = table[start : start + len(block)]
        np.matmul(block, bank.T, out=part)
        part.sort(axis=1)
        start += len(block)
        advance(len(block))
    return table


@dataclass(frozen=True, repr=False)
class FittedBank(BankKept):
    """The query bank itself."""

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> RankAmongBank:
        bank = in_memory(self.bank)
        source = targets_beside(self.bank, targets)
        if source.shape[0] * len(bank) > MOST_SORTED:
            return RankAmongBank(bank)
        return RankAmongBank(bank, _sorted_similarities(bank, source, advance))


@dataclass(frozen=True)
class GloballyCorrected:
    """Globally corrected retrieval: η = −(rank − s), the rank of s(q, t) among the bank's similarities to t.

    s decides among targets that rank the query alike. A score is not in units of similarity. Source: Dinu, Lazaridou
    and Baroni, "Improving Zero-Shot Learning by Mitigating the Hubness Problem", ICLR 2015 workshop.
    """

    fitted = FittedBank
    live = RankAmongBank

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedBank:
        return FittedBank(check_banks(query_bank, targets, target_bank, 1, "to rank a query among")[0])
