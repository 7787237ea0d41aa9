"""Made-up retrieval problems."""

import numpy as np

from hubless.corrections.testing import (
    MadeUpProblem as Problem,  # noqa: F401
    with_hubs as with_hubs,
)
from hubless.vectors.sources import ArrayVectors


def normal(rows, dim, seed, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=(rows, dim))).astype(np.float32)


def source(rows, name="rows"):
    return ArrayVectors(rows, name)


def additive(of_bank, of_targets):
    """Bank and targets of which the similarity is x_i + y_j: y is all there is of hubness, and is known."""
    ones = np.ones(len(of_bank)), np.ones(len(of_targets))
    return (
        np.stack([of_bank, ones[0]], axis=1).astype(np.float32),
        np.stack([ones[1], of_targets], axis=1).astype(np.float32),
    )


def centred(values):
    values = np.asarray(values, np.float64)
    return values - values.mean()
