"""The distances of published formulas: 1 − s, or |q − t| under metric euclidean."""

import numpy as np

from hubless.vectors.arrays import F64
from hubless.vectors.comparing import comparison


def distances_of(similarities: F64, metric: str) -> F64:
    """Return the distances of similarities, of any shape."""
    return np.sqrt(np.maximum(-2 * similarities, 0)) if comparison(metric).squared else 1 - similarities


def similarities_of(distances: F64, metric: str) -> F64:
    """Return the similarities of distances, on a scale that goes on below 0."""
    return -distances * np.abs(distances) / 2 if comparison(metric).squared else 1 - distances
