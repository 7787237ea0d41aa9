"""Maximal marginal relevance, by corrected scores (Carbonell and Goldstein, SIGIR 1998). Needs numpy."""

from collections.abc import Sequence

import numpy as np

from hubless_client.hits import Hit


def diverse_hits(hits: Sequence[Hit], count: int, weight: float) -> list[Hit]:
    """Some of the hits, which have their vectors: each next one differs from those before. See `diverse`."""
    places = diverse([hit.score for hit in hits], [hit.vector or [] for hit in hits], count, weight)
    return [hits[place] for place in places]


def diverse(scores: Sequence[float], vectors: Sequence[Sequence[float]], count: int, weight: float) -> list[int]:
    """Places of hits, each chosen for a high score and little likeness to those before it.

    The next is argmax of weight · score − (1 − weight) · (cosine to the nearest that is chosen).

    Parameters
    ----------
    scores : (c,) of the candidates
    vectors : (c, d) of the candidates
    count : how many to choose
    weight : 1 is by score alone, 0 is the most different
    """
    rows = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows / np.where(lengths > 0, lengths, 1)
    relevance = weight * np.asarray(scores, np.float64)
    nearest = np.full(len(rows), -np.inf)
    free = np.ones(len(rows), bool)
    chosen: list[int] = []
    while len(chosen) < min(count, len(rows)):
        value = relevance - (1 - weight) * (nearest if chosen else 0.0)
        best = int(np.argmax(np.where(free, value, -np.inf)))
        chosen.append(best)
        free[best] = False
        nearest = np.maximum(nearest, rows @ rows[best])
    return chosen
