"""Offsets from lists of scores, by the rules of `auto` that need no vectors.

The temperature comes from the perplexity, offsets are shrunk by b/(b + 100), and to nothing where there are no hubs. In
a crowded or uneven log lists that are alike count as one, and what a log asks most keeps its first answer.
"""

from typing import Any, NamedTuple

import numpy as np

from hubless.corrections.folded.auto import EVEN, SHRINKAGE_QUERIES, UNEVEN
from hubless.corrections.folded.counted_once import MOST_COMPARED, SHARPER, unevenness
from hubless.corrections.folded.heads import APART, LEAST_COPIES, SHARE
from hubless.corrections.folded.rising import rise
from hubless.corrections.folded.sinkhorn import PUBLISHED_ITERATIONS
from hubless.corrections.supported import supported
from hubless.corrections.temperature import default_perplexity, temperature_by
from hubless.kernels.lists import MOST_EXPONENT, ListEntropy, list_potentials
from hubless.kernels.sparse import Sparse
from hubless.measures.occurrence import unexplained_variation
from hubless.scores.alike import crowding_of_lists, weights_of_lists
from hubless.vectors.arrays import F64, I64
from hubless.vectors.sources import sampled_rows

FAIR, CROWDED = 0.1, 0.2
"""Between these two values of crowding, lists that are alike come to count as one. Measured: up to 0.03 with one query
an item, 0.25 with five."""
FEWEST_ALIKE = 4
"""Of fewer, none are alike."""
FIRST, SHARE_FOUND = 2, 0.1
"""Hubs are told by so many first items of each list, or by this share of fewer items. Clusters of items make deeper
ones uneven too, and these are no hubs."""
NO_HUBS, HUBS = 0.2, 0.35
"""Below the first overdispersion nothing is corrected, above the second all. Measured: 0.14 on data without hubs, 0.38
and more on others."""


class FittedLists(NamedTuple):
    """Offsets (n,) with mean 0, and how they came about."""

    offsets: F64
    details: dict[str, Any]


def fit_lists(matrix: Sparse, copies: I64, clients: I64 | None = None) -> FittedLists:
    """Return offsets of the items (n,) of distinct lists (b, n), each of which the log has `copies` (b,) times.

    `clients` (b,) say who sent each list: what so few of them say alone lifts no item. None believes all.
    """
    lifting = matrix if clients is None else supported(matrix, clients)
    count = matrix.height
    entropy = ListEntropy.of(matrix)
    spread = entropy.spread()
    temperature = 1.0
    perplexity = float(count)
    counted = float(count)
    crowded = 0.0
    uneven = 1.0
    alike = np.ones(count)
    offsets = np.zeros(matrix.width)
    if spread > 0 and count > 1:
        coldest = float(matrix.values.max()) / MOST_EXPONENT

        def fitted(wanted: float, weights: F64 | None) -> tuple[float, float, F64]:
            found = temperature_by(entropy, spread, count, wanted)
            warm = max(found.value, coldest)
            _, lifted = list_potentials(lifting, warm, PUBLISHED_ITERATIONS, weights)
            return warm, found.perplexity or perplexity, lifted

        temperature, perplexity, offsets = fitted(default_perplexity(count), None)
        if count >= FEWEST_ALIKE:
            sharp = SHARPER * temperature
            chosen = sampled_rows(count, MOST_COMPARED)
            sample = matrix.taken(chosen)
            crowded = crowding_of_lists(sample, offsets)
            uneven = unevenness(weights_of_lists(sample, sample, np.arange(len(chosen)), offsets, sharp, count))
            logged = float(rise(uneven, EVEN, UNEVEN))
            if once := max(float(rise(crowded, FAIR, CROWDED)), logged):
                apart = weights_of_lists(matrix, sample, chosen, offsets, sharp, count)
                weights, alike = apart**once, apart**-logged
                counted = float(weights.sum())
                wanted = min(default_perplexity(counted) * count / counted, count / 2)
                temperature, perplexity, offsets = fitted(wanted, weights)
    hubs = first_overdispersion(matrix)
    there = float(rise(hubs, NO_HUBS, HUBS))
    shrinkage = there * counted / (counted + SHRINKAGE_QUERIES)
    offsets, heads = with_heads(matrix, copies * alike, shrinkage * (offsets - offsets.mean()))
    return FittedLists(
        offsets - offsets.mean(),
        {
            "temperature": temperature,
            "perplexity": perplexity,
            "lists": int(copies.sum()),
            "distinct": count,
            "counted_as": counted,
            "crowding": crowded,
            "unevenness": uneven,
            "overdispersion": hubs,
            "shrinkage": shrinkage,
            "heads": heads,
        },
    )


def first_overdispersion(matrix: Sparse) -> float:
    """Return (variance − mean)/mean² of N_2, how often each item is among the first two of a list; 0 if none is."""
    first = max(1, min(FIRST, int(SHARE_FOUND * matrix.width)))
    lengths = matrix.counts
    places = np.concatenate([matrix.starts[:-1][lengths > place] + place for place in range(first)])
    return unexplained_variation(np.bincount(matrix.columns[places], minlength=matrix.width))


def with_heads(matrix: Sparse, asked: F64, offsets: F64) -> tuple[F64, int]:
    """Return offsets (n,) by which lists that were asked most (b,) keep their first item, and how many needed it.

    Such a list is a share of 5 % of the log, and has been asked ten times. What keeps one may overtake another's, so
    there are as many rounds as lists.
    """
    least = max(SHARE * asked.sum(), LEAST_COPIES)
    often = np.flatnonzero(asked >= least)
    before, after = offsets, offsets.copy()
    firsts = matrix.columns[matrix.starts[:-1][often]]
    for _ in often:
        for row in often.tolist():
            entries = slice(*matrix.starts[row : row + 2].tolist())
            columns = matrix.columns[entries]
            heights = matrix.values[entries].astype(np.float64)
            if len(columns) > 1:
                others = float((heights[1:] - after[columns[1:]]).max())
                apart = APART * max(abs(float(heights[0])), 1.0)
                after[columns[0]] = min(after[columns[0]], float(heights[0]) - others - apart)
    return after, int((after[firsts] < before[firsts]).sum())
