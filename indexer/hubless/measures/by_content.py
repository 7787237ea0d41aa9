"""Rows in an order that goes by what stands in them: a file that is shuffled gives the same one."""

from collections.abc import Sequence

import numpy as np

from hubless.kernels.reductions import products_with
from hubless.vectors.sources import TakenVectors, VectorSource


def by_content(source: VectorSource, *then: Sequence[str]) -> TakenVectors:
    """Return the rows of a source (n, d) along a random axis; equal ones by further keys (n,), and as they are."""
    axis = np.random.default_rng(0).normal(size=source.shape[1])
    return TakenVectors(source, np.lexsort([*map(np.asarray, then), products_with(axis, source)]), source.name)
