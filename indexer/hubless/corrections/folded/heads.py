"""Keeps the first answer of what most people ask.

One query can be a third of a log. Nobody knows without labels whether its answer is right, and there are not enough
such queries for gains and losses to even out: one wrong change is the worst that a correction did to a log.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hubless.corrections.folded.counted_once import likeness
from hubless.kernels.reductions import products_with, top_k
from hubless.vectors.arrays import F32, F64
from hubless.vectors.comparing import COSINE, comparison
from hubless.vectors.sources import TakenVectors, VectorSource, in_memory

SHARE, LEAST_COPIES = 0.05, 10
"""A head is so large a share of a log, and was asked so often. Measured: with 0.1 and 0.03 the worst log is worse."""
NEAREST = 1000
"""So many targets that are nearest to a head may come before its first answer."""
ALIKE = 0.5
"""Cosine, from the mean of the bank, of queries that are one head."""
MOST_TRIED = 40
APART = 1e-6
"""A kept answer is first by this much, relative to its similarity."""


@dataclass(frozen=True)
class Heads:
    """Queries (m, d) that keep their first answer.

    A target whose similarity to head i is at least `reached` (m,) has an offset of `most` (m,) at most.
    """

    queries: F32
    reached: F64
    most: F64

    def kept(self, targets: VectorSource, offsets: F64) -> F64:
        """Return the offsets (n,) of targets (n, d), lowered where a head keeps its answer."""
        for query, reached, most in zip(self.queries, self.reached, self.most, strict=True):
            first = products_with(query, targets) >= reached
            offsets = np.where(first, np.minimum(offsets, most), offsets)
        return offsets


def find_heads(
    bank: VectorSource,
    copies: F64,
    alike: F64,
    targets: VectorSource,
    offsets: Callable[[VectorSource], F32],
    metric: str = COSINE,
) -> Heads | None:
    """Return the heads of a bank (b, d) that would lose their answer; None if there are none.

    Its queries were asked `copies` (b,) times each, and count as `alike` (b,). Targets (n, d) get these `offsets` else.
    """
    queries = _most_asked(bank, copies, alike, metric)
    if queries is None or targets.shape[0] < 2:
        return None
    nearest = top_k(queries, targets, min(NEAREST, targets.shape[0]))[1]
    seen, places = np.unique(nearest, return_inverse=True)
    places = places.reshape(nearest.shape)
    some = TakenVectors(targets, seen, targets.name)
    similarities = np.stack([products_with(query, some) for query in queries])
    before: F64 = offsets(some).astype(np.float64)
    if not np.isfinite(before).all():
        return None
    after = before.copy()
    first = places[:, 0]
    reached = np.take_along_axis(similarities, first[:, np.newaxis], axis=1)[:, 0]
    apart = APART * np.maximum(np.abs(reached), 1)
    # what keeps one head's answer may overtake another's: each round keeps at least one more
    for _ in range(len(queries)):
        for number, row in enumerate(first):
            others = similarities[number, places[number, 1:]] - after[places[number, 1:]]
            after[row] = min(after[row], reached[number] - others.max() - apart[number])
    lowered = after[first] < before[first]
    if not lowered.any():
        return None
    return Heads(queries[lowered], (reached - apart)[lowered], after[first][lowered])


def _most_asked(bank: VectorSource, copies: F64, alike: F64, metric: str) -> F32 | None:
    """Return the heads (m, d), most asked first; None without any. Of paraphrases the mean is one."""
    least = max(SHARE * copies.sum(), LEAST_COPIES)
    often = np.flatnonzero(copies >= least)
    left = np.where(copies >= least, 0, copies * alike)
    if not len(often) and left.max() < least:
        return None
    rows = in_memory(bank)
    heads = [*rows[often[np.argsort(-copies[often], kind="stable")]]]
    plain = comparison(metric).plain(rows)
    ways = plain - plain.mean(axis=0)
    for _ in range(MOST_TRIED):
        if left.max() < least:
            break
        same = (likeness(ways, ways[[left.argmax()]], metric)[:, 0] >= ALIKE) & (left > 0)
        if copies[same].sum() >= least:
            heads.append(np.average(rows[same], axis=0, weights=copies[same]))
        left[same] = 0
    if not heads:
        return None
    return np.asarray(heads, np.float32)
