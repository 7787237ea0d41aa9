"""The topic of a narrow query bank: what of the offsets tells only what the bank asks about, and not who is a hub.

Bank queries of one topic push all of it down. That part of the offsets is nearly linear in the targets' first principal
components, so it folds, and holds for later targets. Measured: benchmarks/wrong_banks.py, docs/auto.md.
"""

from dataclasses import dataclass

import numpy as np

from hubless.corrections.folded.rising import rise
from hubless.kernels.reductions import moments
from hubless.kernels.threads import one_blas_thread
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource, in_memory

COMPONENTS = 10
"""A topic is a direction among this many principal components of the targets."""
REMOVED = 0.8
"""The largest share of the topic's direction that is taken out: a part of it is hubness."""
ALIKE, MOST_ALIKE = 0.3, 0.5
"""Between these two likenesses of the bank's queries, the share that is taken out rises from nothing to `REMOVED`."""
CURVED, LINEAR = 0.6, 0.85
"""Between these two shares of the offsets' variance that the components explain, it rises likewise."""
SHARED, LOCAL = 0.02, 0.07
"""Between these two localities, above a standard error of 1/√n, it rises likewise. Around a topic the bank's queries
differ more than elsewhere. A direction that all queries share is no topic: they differ alike everywhere, and what leans
to it is a hub."""
LOOSE, CLUMPED = 0.05, 0.08
"""Or between these two clumpings: what leans to a direction has nothing else in common, what is of a topic has.
Measured: at most 0.02 with such hubs, 0.09 to 0.15 on digits, where similarities can rise no more around a topic."""
PUSHED, FEWEST_TARGETS = 0.1, 500
"""Clumping is that of this share of the targets, those with the largest offsets; of fewer targets it is chance."""
_ROUNDING = 1e-5


@dataclass(frozen=True)
class BankTopic:
    """A bank's narrowness, and its topic.

    `likeness` is the spread of the targets' mean similarities to the bank, relative to that of all similarities.
    `linearity` is the adjusted R² of the offsets on the principal components of the targets. `locality` is the
    correlation, over targets, of mean and spread of the similarities. `clumping` is the mean cosine between the targets
    with the largest offsets, without their part along the topic. `apart`, 0 to 1, says that either tells it from a
    direction that all queries share. The share `removed` of v·t is to be taken from the offset of t.
    """

    likeness: float
    linearity: float
    locality: float
    clumping: float
    apart: float
    removed: float
    direction: F32 | None


NO_TOPIC = BankTopic(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)


def find_topic(bank: VectorSource, targets: VectorSource, offsets: F64) -> BankTopic:
    """The topic of a bank (b, d) by some targets (n, d) and their offsets (n,).

    The share that is taken out is 0.8·f(likeness, 0.3, 0.5)·f(linearity, 0.6, 0.85)·apart, with f of `rise` and apart =
    max(f(locality − 1/√n, 0.02, 0.07), f(clumping, 0.05, 0.08)).
    """
    if not np.isfinite(offsets).all():  # vectors are too long: what uses the offsets says so
        return NO_TOPIC
    query_mean, query_covariance = moments(bank)
    rows = in_memory(targets).astype(np.float64)
    means = rows @ query_mean
    variances = np.maximum(np.einsum("ij,ij->i", rows @ query_covariance, rows), 0)
    of_all = variances.mean() + means.var()
    likeness = float(np.sqrt(means.var() / of_all)) if of_all > 0 else 0.0
    locality = _correlation(means, np.sqrt(variances))
    mean, covariance = moments(targets)
    with one_blas_thread:  # several would wait for each other: of 768 dimensions that took eight times as long
        first = np.linalg.eigh(covariance)[1][:, ::-1][:, :COMPONENTS]
    products = (rows - mean) @ first
    centred = offsets - offsets.mean()
    slopes, *_ = np.linalg.lstsq(products, centred, rcond=None)
    linearity = _adjusted(centred, centred - products @ slopes, first.shape[1])
    clumping = _clumping(rows - mean, first @ slopes, offsets)
    apart = float(max(rise(locality - len(rows) ** -0.5, SHARED, LOCAL), rise(clumping, LOOSE, CLUMPED)))
    removed = REMOVED * apart * float(rise(likeness, ALIKE, MOST_ALIKE) * rise(linearity, CURVED, LINEAR))
    direction = (removed * (first @ slopes)).astype(np.float32) if removed else None
    return BankTopic(likeness, linearity, locality, clumping, apart, removed, direction)


def _clumping(centred: F64, direction: F64, offsets: F64) -> float:
    """Return the mean cosine between the targets with the largest offsets, without their part along a direction."""
    count = round(PUSHED * len(offsets))
    length = np.linalg.norm(direction)
    if len(offsets) < FEWEST_TARGETS or length == 0:
        return 0.0
    pushed = centred[np.argsort(-offsets, kind="stable")[:count]]
    left = pushed - np.outer(pushed @ direction, direction) / length**2
    left /= np.maximum(np.linalg.norm(left, axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return (float(np.square(left.sum(axis=0)).sum()) - count) / (count * (count - 1))


def _adjusted(values: F64, left: F64, components: int) -> float:
    """Return the adjusted R² of a regression, from centred values (n,) and what it leaves of them."""
    freedom = len(values) - components - 1
    variance = float(values.var())
    if freedom < 1 or variance == 0:
        return 0.0
    return 1 - float(left.var()) / variance * (len(values) - 1) / freedom


def _correlation(means: F64, spreads: F64) -> float:
    """Pearson's, and 0 where either is constant but for rounding."""
    if means.std() == 0 or spreads.std() <= _ROUNDING * spreads.mean():
        return 0.0
    return float(np.corrcoef(means, spreads)[0, 1])
