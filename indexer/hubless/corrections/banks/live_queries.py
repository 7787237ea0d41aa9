"""The strength that live queries speak for, without labels."""

import numpy as np

from hubless.corrections.banks.bank_checks import MOST_TARGETS
from hubless.errors import InputError
from hubless.kernels.reductions import rankings
from hubless.measures.evenness import STRENGTHS, ChosenStrength, most_even
from hubless.measures.likeness import share_among
from hubless.vectors.arrays import F32
from hubless.vectors.sources import VectorSource, in_memory, sample

_FOUND = 10
MOST_LIVE = 1000
"""Of more live queries so many are drawn at random: more of them choose no better."""


def drawn(live_queries: VectorSource, targets: VectorSource, metric: str) -> F32:
    """Return at most 1,000 of the live queries, drawn at random.

    Raises `InputError` if more than a tenth of them are targets: each finds itself, as no query does.
    """
    live = in_memory(sample(live_queries, MOST_LIVE))
    if (share := share_among(live, targets, metric)) > MOST_TARGETS:
        raise InputError("live queries", "queries that people asked", f"{100 * share:.0f} % targets")
    return live


def strength_by_offsets(live: F32, targets: VectorSource, offsets: F32) -> ChosenStrength:
    """Return the strength at which targets (n, d) with their offsets (n,) answer live queries (m, d) most evenly."""
    k = min(_FOUND, len(offsets))
    found = rankings(live, targets, k, *(np.float32(strength) * offsets for strength in STRENGTHS))
    return most_even(np.stack([rows for _, rows in found]), len(offsets))
