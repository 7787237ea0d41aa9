"""The topic of a narrow query bank: what of the offsets tells only what the bank asks about, and not who is a hub.

Bank queries of one topic are alike, so a target's similarities to them are alike too. Offsets then rise towards the
topic, and would push all of it down. That part of the offsets is nearly linear in the targets' first principal
components. A linear function of the target folds, and holds for later targets.

Measured, not derived: benchmarks/wrong_banks.py, docs/auto.md.
"""

from dataclasses import dataclass

import numpy as np

from hubless.corrections.folded.outlying import rise
from hubless.kernels.reductions import moments
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource, in_memory

COMPONENTS = 10
"""A topic is a direction among this many principal components of the targets."""
ALIKE, MOST_ALIKE = 0.4, 0.6
"""Between these two likenesses of the bank's queries, the share that is taken out rises from nothing to `REMOVED`."""
REMOVED = 0.8
"""The largest share of the topic's direction that is taken out: a part of it is hubness."""
ROUNDING = 1e-5
SHARED, LOCAL = 0.1, 0.4
"""Between these two localities the share rises likewise. Around a topic the bank's queries differ more than elsewhere.
A direction that all queries share is no topic: they differ alike everywhere, and what leans to it is a hub."""


@dataclass(frozen=True)
class BankTopic:
    """A bank's narrowness, and its topic.

    Parameters
    ----------
    likeness : how much the bank's queries are alike: the spread of the targets' mean similarities to the bank, relative
        to the spread of all similarities. 0 if every target has the same mean, 1 if all bank queries are one
    locality : correlation, over targets, of the mean of their similarities to the bank and the spread of these
    removed : the share of the direction that is taken out, from 0 to `REMOVED`
    direction : v (d,), such that v·t is to be taken from the offset of t; None for nothing
    """

    likeness: float
    locality: float
    removed: float
    direction: F32 | None


def find_topic(bank: VectorSource, targets: VectorSource, offsets: F64) -> BankTopic:
    """The topic of a bank.

    With u = clip((likeness − .4)/.2, 0, 1) and v = clip((locality − .1)/.3, 0, 1), the share that is taken out is
    .8·(3u² − 2u³)·(3v² − 2v³).

    Parameters
    ----------
    bank : (b, d)
    targets : (n, d), or a sample of them
    offsets : (n,) of these targets
    """
    if not np.isfinite(offsets).all():  # vectors are too long: what uses the offsets says so
        return BankTopic(0.0, 0.0, 0.0, None)
    query_mean, query_covariance = moments(bank)
    rows = in_memory(targets).astype(np.float64)
    means = rows @ query_mean
    variances = np.maximum(np.einsum("ij,ij->i", rows @ query_covariance, rows), 0)
    of_all = variances.mean() + means.var()
    likeness = float(np.sqrt(means.var() / of_all)) if of_all > 0 else 0.0
    locality = _correlation(means, np.sqrt(variances))
    removed = float(REMOVED * rise(likeness, ALIKE, MOST_ALIKE) * rise(locality, SHARED, LOCAL))
    if not removed:
        return BankTopic(likeness, locality, 0.0, None)
    mean, covariance = moments(targets)
    first = np.linalg.eigh(covariance)[1][:, ::-1][:, :COMPONENTS]
    slopes, *_ = np.linalg.lstsq((rows - mean) @ first, offsets - offsets.mean(), rcond=None)
    return BankTopic(likeness, locality, removed, (removed * (first @ slopes)).astype(np.float32))


def _correlation(means: F64, spreads: F64) -> float:
    """Pearson's, and 0 where either is constant but for rounding."""
    if means.std() == 0 or spreads.std() <= ROUNDING * spreads.mean():
        return 0.0
    return float(np.corrcoef(means, spreads)[0, 1])
