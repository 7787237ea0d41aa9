"""Made-up retrieval problems."""

from dataclasses import dataclass

import numpy as np

from hubless.vectors.sources import ArrayVectors


@dataclass(frozen=True)
class Problem:
    """Targets (n, d), query bank (b, d), target bank (g, d) and live queries (m, d), float32."""

    targets: np.ndarray
    bank: np.ndarray
    target_bank: np.ndarray
    queries: np.ndarray


def normal(rows, dim, seed, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=(rows, dim))).astype(np.float32)


def source(rows, name="rows"):
    return ArrayVectors(rows, name)


def with_hubs(targets=80, bank=150, target_bank=90, queries=20, dim=12, seed=0):
    """All queries lean towards one direction, and targets more or less towards the same: some are hubs."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=dim) / np.sqrt(dim)

    def rows(count, lean):
        noise = rng.normal(size=(count, dim)) / np.sqrt(dim)
        return (noise + lean(count) * common).astype(np.float32)

    def constant(count):
        return np.full((count, 1), 0.7)

    def varying(count):
        return rng.normal(size=(count, 1))

    return Problem(rows(targets, varying), rows(bank, constant), rows(target_bank, varying), rows(queries, constant))


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
