"""Distances between two clouds of vectors, and between two samples of numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import InputError, how_to_install
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.sources import VectorSource, as_source, in_memory, sample

MOST_POINTS = 2000
_MOST_STEPS = 10_000_000


@dataclass(frozen=True)
class EarthMovers:
    """The distance, the number of vectors measured of each side, and whether they are a sample."""

    value: float
    points: tuple[int, int]
    sampled: bool


def earth_movers_distance(
    first: F32 | VectorSource, second: F32 | VectorSource, *, most: int = MOST_POINTS, seed: int = 0
) -> EarthMovers:
    """Return the earth mover's distance: the least mean Euclidean distance to move one cloud onto the other.

    It is exact optimal transport with uniform weights (POT's `emd2`), on at most `most` random vectors of each side. It
    needs the extra `lab`.

    Raises
    ------
    InputError
        if the extra is not installed.
    DimensionMismatch
    """
    transport = _pot()
    sources = [as_source(vectors, name) for vectors, name in ((first, "first"), (second, "second"))]
    check_dim(sources[1].shape[1], sources[0].shape[1], sources[1].name, sources[0].name)
    # a seed per side: equal samples would make two like clouds look identical
    chosen = [in_memory(sample(source, most, seed + side)) for side, source in enumerate(sources)]
    points = (len(chosen[0]), len(chosen[1]))
    costs = transport.dist(chosen[0].astype(np.float64), chosen[1].astype(np.float64), metric="euclidean")
    value = transport.emd2([], [], costs, numItermax=_MOST_STEPS)
    return EarthMovers(float(value), points, any(source.shape[0] > most for source in sources))


def earth_movers_distances(
    clouds: Mapping[str, F32 | VectorSource], *, most: int = MOST_POINTS, seed: int = 0
) -> dict[tuple[str, str], EarthMovers]:
    """Return the distance of each pair of named clouds, such as query bank, targets and queries."""
    return {
        (a, b): earth_movers_distance(clouds[a], clouds[b], most=most, seed=seed) for a, b in combinations(clouds, 2)
    }


@dataclass(frozen=True)
class KolmogorovSmirnov:
    """The largest difference of two distribution functions, and its probability if both samples are of one kind."""

    statistic: float
    p_value: float


def kolmogorov_smirnov(first: NDArray[np.floating], second: NDArray[np.floating]) -> KolmogorovSmirnov:
    """Test whether two samples of numbers, (m,) and (b,), come from one distribution. Two-sided.

    Raises
    ------
    InputError
        if a sample is empty.

    Source: `scipy.stats.ks_2samp`.
    """
    for name, sample_of in (("first", first), ("second", second)):
        if not len(sample_of):
            raise InputError(name, "at least one number", "none")
    from scipy.stats import ks_2samp

    found = ks_2samp(first, second)
    return KolmogorovSmirnov(float(found.statistic), float(found.pvalue))


def _pot() -> Any:
    try:
        return import_module("ot")
    except ImportError as error:
        raise InputError("earth mover's distance", f"the extra lab: {how_to_install('lab')}", "no POT") from error
