"""Labelled pairs of which it is known whether hubness hurts them."""

import numpy as np
from support.hubs import unit

from hubless_lab.experiments import compare as comparing, tune as tuning
from hubless_lab.experiments.trials import Pairs


def pairs(count=240, dim=16, lean=0.6, noise=0.55, seed=0):
    """One right target a query. All queries lean towards one direction, targets more or less: no hubs with lean 0."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=dim) / np.sqrt(dim)
    targets = rng.normal(size=(count, dim)) / np.sqrt(dim)
    queries = targets + noise * rng.normal(size=(count, dim)) / np.sqrt(dim)
    leaning = targets + lean * rng.normal(size=(count, 1)) * common
    return Pairs(unit(queries + 2 * lean * common), unit(leaning), [np.array([row]) for row in range(count)])


def saved(folder, given, **more):
    """Paths of the queries, the targets and the relevant rows, and of further vectors by name."""
    relevant = np.array([rows[0] for rows in given.relevant])
    arrays = {"queries": given.queries, "targets": given.targets, "relevant": relevant, **more}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return {name: str(folder / f"{name}.npy") for name in arrays}


def compare(*given, **options):
    return comparing.compare(*given, **{"metric": "cosine"} | options)


def tune(*given, **options):
    return tuning.tune(*given, **{"metric": "cosine"} | options)
