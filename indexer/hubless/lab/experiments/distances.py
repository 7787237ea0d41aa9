"""How far query bank, targets and test queries lie from each other."""

from dataclasses import dataclass

import numpy as np

from hubless.lab.experiments.trials import Trial
from hubless.measures import KolmogorovSmirnov, earth_movers_distances, kolmogorov_smirnov
from hubless.vectors.arrays import F32

MOST_POINTS = 1000
"""Vectors of a cloud, and queries of a sample, that are measured."""


@dataclass(frozen=True)
class Distances:
    """Whether the bank is like the queries that it stands for.

    Parameters
    ----------
    earth_movers : earth mover's distance of each pair of clouds, by both names; empty where there are no vectors
    nearest : test queries beside bank queries, by the similarity of each to its nearest target
    """

    earth_movers: dict[str, float]
    nearest: KolmogorovSmirnov


def measure_distances(trial: Trial, seed: int = 0) -> Distances:
    """Measure a trial, by at most 1,000 random rows of each side.

    Raises
    ------
    InputError
        if there are vectors, and the extra `lab` is not installed.
    """
    moved = {}
    if trial.matrices is None:
        clouds = {"query bank": trial.query_bank, "targets": trial.targets, "queries": trial.queries}
        found = earth_movers_distances(clouds, most=MOST_POINTS, seed=seed)
        moved = {f"{one} to {other}": distance.value for (one, other), distance in found.items()}
    tested = np.sort(np.random.default_rng(seed).permutation(len(trial.queries))[:MOST_POINTS])
    drawn = np.sort(np.random.default_rng(seed).permutation(len(trial.query_bank))[:MOST_POINTS])
    return Distances(moved, kolmogorov_smirnov(_of_queries(trial, tested), _nearest(trial.query_bank[drawn], trial)))


def _of_queries(trial: Trial, rows: np.ndarray) -> F32:
    similarities = np.concatenate([trial.similarities(slice(row, row + 1)) for row in rows])
    if trial.own_rows is not None:
        own = trial.own_rows[rows]
        similarities[np.flatnonzero(own >= 0), own[own >= 0]] = -np.inf
    nearest: F32 = similarities.max(axis=1)
    return nearest


def _nearest(queries: F32, trial: Trial) -> F32:
    similarities = queries[:, trial.target_rows] if trial.matrices is not None else queries @ trial.targets.T
    nearest: F32 = similarities.max(axis=1)
    return nearest
