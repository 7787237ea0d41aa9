"""Whether there are hubs at all: whether two halves of the query bank agree on which targets they are."""

from collections.abc import Callable

import numpy as np

from hubless.arrays import F32, F64
from hubless.sources import ArrayVectors, VectorSource, in_memory, sample

HALVINGS = 2
MOST_QUERIES = 4096
FEWEST_QUERIES = 4
SORTED_BY = 3

OffsetsOf = Callable[[VectorSource], F32]
"""Offsets (n,) of the targets by a part of the bank."""


def reliability(bank: VectorSource, offsets_of: OffsetsOf) -> float | None:
    """Share of the variance of offsets that is not due to the choice of the bank queries.

    The bank is halved at random, and r is the correlation of the offsets by either half. By the Spearman-Brown formula
    offsets by all b queries have the reliability ρ = c·r / (1 + (c − 1)·r), with c = b/half; 0 if r is negative. It is
    also the factor that brings the offsets nearest to the true ones, in the mean square.

    Parameters
    ----------
    bank : (b, d); of more than 4,096 rows a sample is halved

    Returns
    -------
    0 to 1, or None for fewer than 4 rows, which cannot be halved

    Source: Spearman, British Journal of Psychology 1910; Brown, ibid.
    """
    if bank.shape[0] < FEWEST_QUERIES:
        return None
    rows = in_memory(sample(bank, MOST_QUERIES))
    rows = rows[np.lexsort(rows.T[:SORTED_BY][::-1])]  # the order of the bank means nothing, so it decides nothing
    half = len(rows) // 2
    rng = np.random.default_rng(0)
    agreements = []
    for _ in range(HALVINGS):
        order = rng.permutation(len(rows))
        parts = (order[:half], order[half : 2 * half])
        agreements.append(_correlation(*(offsets_of(ArrayVectors(rows[part], bank.name)) for part in parts)))
    r = max(0.0, float(np.mean(agreements)))
    times = bank.shape[0] / half
    return times * r / (1 + (times - 1) * r)


def _correlation(first: F32, second: F32) -> float:
    """Pearson's r; 0 where either does not vary."""
    a, b = _centred(first), _centred(second)
    lengths = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / lengths if lengths > 0 else 0.0


def _centred(values: F32) -> F64:
    centred: F64 = values - values.mean(dtype=np.float64)
    return centred
