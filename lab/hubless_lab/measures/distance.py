"""The distance between two clouds of vectors."""

from importlib import import_module

import numpy as np

from hubless.errors import InputError, how_to_install
from hubless.vectors.arrays import F32, check_dim
from hubless.vectors.sources import VectorSource, as_source, in_memory, sample

MOST_POINTS = 2000
_MOST_STEPS = 10_000_000


def earth_movers_distance(first: F32 | VectorSource, second: F32 | VectorSource, *, most: int = MOST_POINTS) -> float:
    """Return the earth mover's distance: the least mean Euclidean distance to move one cloud onto the other.

    It is exact (POT's `emd2`), on at most `most` random vectors of each side. Raises `InputError` without the extra
    `lab`.
    """
    try:
        transport = import_module("ot")
    except ImportError as error:
        raise InputError("earth mover's distance", f"the extra lab: {how_to_install('lab')}", "no POT") from error
    sources = [as_source(vectors, name) for vectors, name in ((first, "first"), (second, "second"))]
    check_dim(sources[1].shape[1], sources[0].shape[1], sources[1].name, sources[0].name)
    # a seed per side: equal samples would make two like clouds look identical
    chosen = [in_memory(sample(source, most, side)) for side, source in enumerate(sources)]
    costs = transport.dist(*(rows.astype(np.float64) for rows in chosen), metric="euclidean")
    return float(transport.emd2([], [], costs, numItermax=_MOST_STEPS))
