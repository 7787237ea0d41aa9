"""The lists and the codes that queries need: known before an index is built, so an index that does not pay is not."""

import numpy as np

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


def candidates_needed(fine: bool, sample: TrainingSample, queries: F32, best: F32, recall: float) -> float:
    """Return which share of all targets, first by their codes, holds this share of the best (m·k, d') of queries."""
    codes = sample.codebook(fine)
    some, coded_best = (
        codes.decode(codes.compute_codes(each))
        for each in (sample.turned[:: 1 + len(sample.turned) // COUNTED], sample.turn(best))
    )
    asked = sample.turn(queries)
    nearer = [
        (some @ query > (rows @ query)[:, np.newaxis]).sum(axis=1)
        for query, rows in zip(asked, coded_best.reshape(len(asked), -1, asked.shape[1]), strict=True)
    ]
    return float(np.quantile(nearer, recall)) / len(some)
