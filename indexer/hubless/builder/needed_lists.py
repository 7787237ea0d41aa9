"""The lists and the codes that queries need: known before an index is built, so an index that does not pay is not."""

import numpy as np

from hubless.knn.fastscan import FastScan
from hubless.knn.training_sample import TrainingSample
from hubless.vectors.arrays import F32

COUNTED = 8192
"""Targets whose codes are compared with those of the best."""


def lists_needed(sample: TrainingSample, lists: int, queries: F32, best: F32, recall: float) -> int:
    """Return the fewest of so many lists that hold this share of the best targets (m·k, d') of queries (m, d')."""
    asked = sample.turn(queries) @ sample.guides(lists).T
    of_best = (sample.turn(best) @ sample.centroids(lists).T).argmax(axis=1).reshape(len(asked), -1)
    nearer = [(row > row[of, np.newaxis]).sum(axis=1) for row, of in zip(asked, of_best, strict=True)]
    return 1 + int(np.quantile(nearer, recall))


def candidates_needed(
    kind: FastScan, count: int, sample: TrainingSample, queries: F32, best: F32, recall: float
) -> float:
    """Return the fewest of `count` targets, first by their codes, with this share of the best (m·k, d') of queries."""
    codes = kind.codebook(sample)

    def products(asked: F32, turned: F32) -> F32:
        found: F32 = asked @ codes.decode(codes.compute_codes(np.ascontiguousarray(turned))).T
        return found

    some = sample.turned[:: -(-len(sample.turned) // COUNTED)]
    asked = sample.turn(queries)
    scores = products(asked, some)
    of_best = sample.turn(best).reshape(len(asked), -1, asked.shape[1])
    nearer = [
        (row > products(query, rows)[:, np.newaxis]).sum(axis=1)
        for row, query, rows in zip(scores, asked, of_best, strict=True)
    ]
    return float(np.quantile(nearer, recall)) * count / len(some)
