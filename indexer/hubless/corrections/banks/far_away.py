"""Vectors that lie far from the origin, beside how far they lie from each other: float32 loses the difference."""

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import comparison
from hubless.vectors.sources import VectorSource, in_memory, plain_vectors, sample

MOST_TIMES = 30.0
"""At this length, relative to distances, similarities are right to a ten-thousandth."""
SEEN_TARGETS = 4096


def check_near(targets: VectorSource, metric: str) -> None:
    """Raise `InputError` if distances between targets (n, d), as they are compared, are lost in their lengths."""
    if not comparison(metric).lifted or targets.shape[0] < 2:
        return
    rows = in_memory(sample(plain_vectors(targets, metric), SEEN_TARGETS))
    spread = spread_of(rows)
    times = float(np.sqrt(np.square(rows.astype(np.float64)).sum(axis=1).mean() / (2 * spread))) if spread else 0.0
    if times > MOST_TIMES:
        expected = (
            f"vectors at most {MOST_TIMES:g} times as long as their distances, as float32 holds no more: subtract the "
            "mean of the targets from targets and queries, which changes no distance"
        )
        raise InputError(targets.name, expected, f"{times:,.0f} times")


def spread_of(rows: F32) -> float:
    """Return the mean squared distance of rows (m, d) from their mean."""
    exact = rows.astype(np.float64)
    return float(np.square(exact - exact.mean(axis=0)).sum(axis=1).mean())
