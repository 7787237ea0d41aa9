"""Queries whose right targets are known, and their split from a query bank: they judge what is fitted without them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hubless.errors import InputError
from hubless.measures.labels import KnownItems, Labels, known_rows
from hubless.measures.repeats import distinct_rows
from hubless.vectors.arrays import F32, I64
from hubless.vectors.comparing import COSINE
from hubless.vectors.sources import SelectedVectors, VectorSource, sampled_rows

FEWEST_PAIRS, MOST_PAIRS = 20, 1000
_HELD_OUT = 0.2
MOST_JUDGES = 100
"""So many labelled queries are held out if they are at most a fifth of the bank: they say whether it does harm."""
SMALL_BANK = 100
"""A bank below this serves for both: the fit would miss the queries more than the calibration would gain."""


class LabelledPairs(NamedTuple):
    """Queries (p, d) as they are compared, and the rows of the right targets of each; empty where none is right.

    `fitted` says that they are in the bank, too.
    """

    queries: F32
    relevant: list[I64]
    fitted: bool = False


def calibrating_rows(
    labels: Labels, targets: KnownItems, queries: KnownItems, *, unknown_ids: bool = False
) -> list[I64 | None]:
    """Return the rows of the right targets of each query, as `known_rows`; at least 20 queries need to have some.

    Raises `InputError` for fewer.
    """
    rows = known_rows(labels, targets, queries, unknown_ids=unknown_ids)
    if (labelled := sum(each is not None and len(each) > 0 for each in rows)) < FEWEST_PAIRS:
        expected = f"right targets for at least {FEWEST_PAIRS} queries, better 100 and more"
        raise InputError("relevant", expected, f"for {labelled}")
    return rows


def hold_out_pairs(
    bank: VectorSource, relevant: Sequence[I64 | None], fitted: bool, seed: int, metric: str = COSINE
) -> tuple[VectorSource, LabelledPairs]:
    """Split a bank whose queries have labels into queries to fit on, and labelled pairs to calibrate by.

    A fifth of the labelled queries is held out, with their copies, or up to 100 if these are a fifth of the bank: a
    correction lowers the scores of the right targets of the queries that it was fitted on. All serve for both where
    nothing is fitted, or the bank is small. A query that stands there more than once has the right targets of all its
    copies. Raises `InputError` for fewer than 20 different queries with labels.
    """
    firsts, places = distinct_rows(bank, metric)
    right: dict[int, I64] = {}
    for place, rows in zip(places.tolist(), relevant, strict=True):
        if rows is not None:
            right[place] = np.union1d(right.get(place, rows), rows)
    labelled = np.array(sorted(right), np.int64)
    if (answered := sum(map(bool, map(len, right.values())))) < FEWEST_PAIRS:
        expected = f"right targets for at least {FEWEST_PAIRS} different queries, better 100 and more"
        raise InputError("relevant", expected, f"for {answered}")
    both = not fitted or len(firsts) < SMALL_BANK
    judges = min(len(labelled), MOST_JUDGES, round(_HELD_OUT * len(firsts)))
    count = len(labelled) if both else max(FEWEST_PAIRS, round(_HELD_OUT * len(labelled)), judges)
    chosen = labelled[sampled_rows(len(labelled), min(count, MOST_PAIRS), [seed, 2])]
    pairs = LabelledPairs(bank.take(firsts[chosen]), [right[place] for place in chosen], both and fitted)
    if both:
        return bank, pairs
    return SelectedVectors(bank, np.flatnonzero(~np.isin(places, chosen)), bank.name), pairs
