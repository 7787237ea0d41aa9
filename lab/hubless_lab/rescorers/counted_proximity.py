"""`mp_empiric`: how many rows of the bank query and target are both further from than from each other."""

from dataclasses import dataclass

import numpy as np

from hubless.corrections.base import BankKept, Rows, SeesVectors, check_banks, targets_beside
from hubless.corrections.query_time import Candidates, StoredFields
from hubless.errors import InputError
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, F64
from hubless.vectors.comparing import COSINE, OF_TARGETS, comparison
from hubless.vectors.sources import in_memory, sample

ASKED = 100
"""So many rows of the bank, and as many targets, show if both are of one kind."""
DECIDES_TIES = 1e-3
"""Weight of the similarity beside the share, in parts of one row of the bank."""


@dataclass(frozen=True)
class CountedProximities(StoredFields):
    """The share p(q, t) of the bank's rows l with s(q, l) < s(q, t) and s(t, l) < s(q, t). s decides among equals."""

    bank: F32
    metric: str = COSINE

    def scores(self, query: F32, candidates: Candidates) -> F64:
        s = candidates.similarities.astype(np.float64)
        between = s[:, np.newaxis]
        beside = comparison(self.metric).turned(self.bank, OF_TARGETS) @ query
        further = (beside < between) & (candidates.vectors() @ self.bank.T < between)
        scores: F64 = (further.sum(axis=1) + DECIDES_TIES * s / (1 + np.abs(s))) / len(self.bank)
        return scores


@dataclass(frozen=True, repr=False)
class FittedCountedProximity(BankKept):
    """The bank itself, beside which query and target are looked at."""

    metric: str = COSINE

    def query_time(self, targets: Rows, advance: Advance = no_progress) -> CountedProximities:
        return CountedProximities(in_memory(self.bank), self.metric)


@dataclass(frozen=True)
class CountedProximity(SeesVectors):
    """Mutual proximity by counting: the share of the bank that is further from both q and t than they are apart.

    So the bank should hold items of the targets' kind, or the targets. Source: Schnitzer et al., "Local and Global
    Scaling Reduce Hubs in Space", JMLR 2012; kiez and scikit-hubness, `MutualProximity(method="empiric")`.
    """

    fitted = FittedCountedProximity
    live = CountedProximities

    def fit(self, query_bank: Rows, targets: Rows, target_bank: Rows | None = None) -> FittedCountedProximity:
        """Raise `InputError` if rows of the bank are nearer to each other than any is to its target."""
        bank, _, _ = check_banks(query_bank, targets, target_bank, 1, "to count among")
        source = targets_beside(bank, targets)
        rows = in_memory(bank)
        some = in_memory(sample(bank, ASKED))
        items = in_memory(sample(source, ASKED))
        usual = np.median(some @ comparison(self.metric).turned(rows, OF_TARGETS).T, axis=1)
        if len(some) > 1 and (usual > (some @ items.T).max(axis=1)).mean() > 1 / 2:
            expected = "items like the targets, as mp_empiric compares both with each row of the bank (mp does without)"
            raise InputError("query bank", expected, "rows that are nearer to each other than to any target")
        return FittedCountedProximity(bank, self.metric)
