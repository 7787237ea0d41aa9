"""Whether lists of codes pay: how many of them queries need is known before an index is built."""

import numpy as np

from hubless.knn.training_sample import TrainingSample
from hubless.vectors.arrays import F32


def lists_needed(sample: TrainingSample, lists: int, queries: F32, best: F32, recall: float) -> int:
    """Return the fewest of so many lists that hold this share of the best targets (m·k, d') of queries (m, d')."""
    asked = sample.turn(queries) @ sample.guides(lists).T
    of_best = (sample.turn(best) @ sample.centroids(lists).T).argmax(axis=1).reshape(len(asked), -1)
    nearer = [(row > row[of, np.newaxis]).sum(axis=1) for row, of in zip(asked, of_best, strict=True)]
    return 1 + int(np.quantile(nearer, recall))
