"""How far apart two clouds of vectors are."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np

from hubless.arrays import F32, check_dim
from hubless.errors import InputError
from hubless.sources import VectorSource, as_source, in_memory, sample

MOST_POINTS = 2000
_MOST_STEPS = 10_000_000


@dataclass(frozen=True)
class EarthMovers:
    """The distance, how many vectors of each side it is measured on, and whether that is a sample."""

    value: float
    points: tuple[int, int]
    sampled: bool


def earth_movers_distance(
    first: F32 | VectorSource, second: F32 | VectorSource, *, most: int = MOST_POINTS, seed: int = 0
) -> EarthMovers:
    """Earth mover's distance: the least mean Euclidean distance over which one cloud is moved onto the other.

    Exact optimal transport with uniform weights (POT's `emd2`), on at most `most` vectors of each side chosen at
    random. Needs the extra `lab`.

    Raises
    ------
    InputError
        without the extra, naming it.
    DimensionMismatch
    """
    transport = _pot()
    sources = [as_source(vectors, name) for vectors, name in ((first, "first"), (second, "second"))]
    check_dim(sources[1].shape[1], sources[0].shape[1], sources[1].name, sources[0].name)
    # another seed for each side: a cloud is compared with itself only if it was given twice
    chosen = [in_memory(sample(source, most, seed + side)) for side, source in enumerate(sources)]
    points = (len(chosen[0]), len(chosen[1]))
    costs = transport.dist(chosen[0].astype(np.float64), chosen[1].astype(np.float64), metric="euclidean")
    value = transport.emd2([], [], costs, numItermax=_MOST_STEPS)
    return EarthMovers(float(value), points, any(source.shape[0] > most for source in sources))


def earth_movers_distances(
    clouds: Mapping[str, F32 | VectorSource], *, most: int = MOST_POINTS, seed: int = 0
) -> dict[tuple[str, str], EarthMovers]:
    """The distance of each pair of named clouds, such as query bank, targets and queries."""
    return {
        (a, b): earth_movers_distance(clouds[a], clouds[b], most=most, seed=seed) for a, b in combinations(clouds, 2)
    }


def _pot() -> Any:
    try:
        return import_module("ot")
    except ImportError as error:
        install = "pip install 'hubless[lab]'"
        raise InputError("earth mover's distance", f"the extra lab ({install} installs it)", "no POT") from error
