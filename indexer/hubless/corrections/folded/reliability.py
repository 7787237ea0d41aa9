"""The trust in offsets from few bank queries: as far as halves of the bank agree.

Shrinkage by the number of queries alone is too careful where hubness is strong. Measured: `benchmarks/few_queries.py`.
"""

import numpy as np

from hubless.corrections.folded.outlying import rise
from hubless.vectors.arrays import F32, F64
from hubless.vectors.sources import VectorSource, in_memory, sample

MOST_TRUSTED = 0.35
"""Halves of a small bank can agree by chance, or because the bank is narrow. So they give no larger share."""
SPLITS, STEPS = 5, 10
COMPARED = 1000
"""Offsets of so many targets are compared."""
ROUNDING = 1e-9
FEWEST = 4
"""With fewer bank queries a half has one query, and that is no bank."""
ALIKE, MOST_ALIKE = 0.4, 0.6
"""Between these two likenesses of the bank's queries the share falls to nothing: halves of one topic always agree."""


def trusted_share(bank: VectorSource, targets: VectorSource, temperature: float) -> float:
    """Return the share of the offsets that halves of the bank agree on: min(r², .35), less with a narrow bank.

    r = 2ρ/(1 + ρ) is the Spearman–Brown reliability. ρ is the mean correlation, over targets, of the Sinkhorn offsets
    at τ from two random halves of the bank, in 5 splits.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # vectors may be too long
        similarities = in_memory(bank) @ in_memory(sample(targets, COMPARED)).T
    count = len(similarities)
    if count < FEWEST or not np.isfinite(similarities).all():
        return 0.0
    rng = np.random.default_rng(0)
    found = []
    for _ in range(SPLITS):
        order = rng.permutation(count)
        halves = (order[: count // 2], order[count // 2 :])
        found.append(_correlation(*(_offsets(similarities[rows], temperature) for rows in halves)))
    agreed = max(float(np.mean(found)), 0.0)
    reliability = 2 * agreed / (1 + agreed)
    return float(min(reliability**2, MOST_TRUSTED) * (1 - rise(_likeness(similarities), ALIKE, MOST_ALIKE)))


def _likeness(similarities: F32) -> float:
    """Return the likeness of the bank's queries, as of `topic`, less that of chance: about 1/b for its square."""
    spread = float(similarities.var(dtype=np.float64))
    squared = float(similarities.mean(axis=0, dtype=np.float64).var()) / spread if spread else 0.0
    chance = 1 / len(similarities)
    return float(np.sqrt(max(squared - chance, 0) / (1 - chance)))


def _offsets(similarities: F32, temperature: float) -> F64:
    exponents = similarities.astype(np.float64) / temperature
    of_targets = np.zeros(similarities.shape[1])
    for _ in range(STEPS):
        of_queries = -_log_sum_exp(exponents + of_targets, axis=1)
        of_targets = -_log_sum_exp(exponents + of_queries[:, np.newaxis], axis=0)
    return -of_targets


def _log_sum_exp(exponents: F64, axis: int) -> F64:
    highest = exponents.max(axis=axis)
    sums = np.exp(exponents - np.expand_dims(highest, axis)).sum(axis=axis)
    found: F64 = highest + np.log(sums)
    return found


def _correlation(one: F64, other: F64) -> float:
    return float(np.corrcoef(one, other)[0, 1]) if min(one.std(), other.std()) > ROUNDING else 0.0
