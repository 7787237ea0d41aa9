"""Whether lists of codes pay: how many of them queries need is known before an index is built."""

import math

import numpy as np

from hubless.knn.training_sample import TrainingSample
from hubless.vectors.arrays import F32

LISTS_COST = 220.0
"""A search in lists takes as long as a scan of a share 1 − 220/√n of all codes: of 0.3 at 100,000 targets. There a half
of the lists took 1.3 to 1.7 times as long, 0.25 to 0.38 about as long, and an eighth 0.65 to 0.75."""


def lists_needed(sample: TrainingSample, lists: int, queries: F32, best: F32, recall: float) -> int:
    """Return the fewest of so many lists that hold this share of the best targets (m·k, d') of queries (m, d')."""
    asked = sample.turn(queries) @ sample.guides(lists).T
    of_best = (sample.turn(best) @ sample.centroids(lists).T).argmax(axis=1).reshape(len(asked), -1)
    nearer = [(row > row[of, np.newaxis]).sum(axis=1) for row, of in zip(asked, of_best, strict=True)]
    return 1 + int(np.quantile(nearer, recall))


def lists_pay(needed: int, lists: int, count: int) -> bool:
    """Return whether to look at some of all lists of `count` targets is faster than to scan all codes."""
    return needed / lists <= 1 - LISTS_COST / math.sqrt(count)
