"""Order and samples of rows by what stands in them: a file that is shuffled gives the same ones."""

import numpy as np

from hubless.kernels.reductions import products_with
from hubless.vectors.arrays import I64
from hubless.vectors.sources import ArrayVectors, VectorSource, sampled_rows


def order_by_content(source: VectorSource) -> I64:
    """Return the rows of a source (n, d) in their order along a random axis. Only of equal rows the first is first."""
    axis = np.random.default_rng(0).normal(size=source.shape[1])
    return np.argsort(products_with(axis, source), kind="stable")


def rows_by_content(source: VectorSource, count: int) -> I64:
    """Return at most so many rows of a source (n, d), ascending, drawn from those in their order by content."""
    rows = sampled_rows(source.shape[0], count)
    return rows if len(rows) == source.shape[0] else np.sort(order_by_content(source)[rows])


def sample_by_content(source: VectorSource, count: int) -> VectorSource:
    """Return the source itself if it has at most `count` rows, and else as many of `rows_by_content`, in memory."""
    if source.shape[0] <= count:
        return source
    return ArrayVectors(source.take(rows_by_content(source, count)), f"sample of {source.name}")
