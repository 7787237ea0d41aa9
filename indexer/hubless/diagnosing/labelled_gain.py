"""What `auto` changes for labelled queries, with a bank that does not leak.

A bank query's own target must not be among the searched targets, or pushing it down looks like a gain. So a bank that
is the labelled queries themselves is split by the strict protocol: docs/lab.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubless.builder.banks.bank_split import BankSplit
from hubless.builder.pipeline.survey import held_out_survey
from hubless.corrections import Correction
from hubless.errors import InputError
from hubless.measures.likeness import share_among
from hubless.measures.repeats import without_copies
from hubless.measures.significance import Interval, mcnemar, paired_difference
from hubless.progress import no_progress
from hubless.vectors.arrays import F64, I64
from hubless.vectors.sources import SelectedVectors, VectorSource, in_memory, sample

FEWEST_LABELS = 50
"""Labelled queries from which on a change is said as a number."""
SPLITS = 5
HARM = 0.1
"""p-value of the one-sided sign test below which `auto` does harm."""
_LOOKED_UP, _OWN = 256, 0.5


_Trial = tuple[BankSplit, I64, VectorSource | None]
"""Labelled queries beside a bank without them, rows of the searched targets, and the target bank."""


@dataclass(frozen=True)
class LabelledGain:
    """R@1 of labelled `queries` in %, raw and with `auto`, its change in points with a 95 % interval, and how.

    `harm` is the p-value of the one-sided sign test that `auto` answers no fewer of them.
    """

    queries: int
    before: float
    after: float
    change: float
    interval: Interval
    harm: float
    how: str


def labelled_gain(
    correction: Correction,
    queries: VectorSource,
    right: Sequence[I64],
    targets: VectorSource,
    bank: VectorSource,
    metric: str,
    target_bank: VectorSource | None = None,
) -> LabelledGain | None:
    """Measure a correction on queries (m, d) with the rows of their right targets; None for fewer than 50 labels.

    All targets (n, d) are searched, with the query bank (b, d); or, where the queries are most of that bank, halves of
    the targets, with the queries about the other half. Raises `InputError` if no query has a right target.
    """
    known = np.flatnonzero([len(rows) > 0 for rows in right])
    if not len(known):
        raise InputError("relevant", "a right target for at least one query", "none")
    if len(known) < FEWEST_LABELS:
        return None
    asked = SelectedVectors(queries, known, queries.name)
    found = [rows for rows in right if len(rows)]
    once = without_copies(bank, metric=metric)
    every = np.arange(len(known))
    trials: list[_Trial] = [(BankSplit(every, asked.take(every), once), np.arange(targets.shape[0]), target_bank)]
    how = "with this query bank"
    if share_among(in_memory(sample(bank, _LOOKED_UP, 0)), queries, metric) > _OWN:
        trials = [_split(asked, found, targets, metric, seed) for seed in range(SPLITS)]
        how = f"on {SPLITS} strict splits"
    hits = np.zeros((2, len(known)))
    times = np.zeros(len(known))
    for split, searched, others in trials:
        source = SelectedVectors(targets, searched, targets.name)
        _, answers = held_out_survey(correction, split, source, others, 1, no_progress)
        times[split.rows] += 1
        for side, firsts in enumerate(searched[answers.rows[:, :, 0]]):
            hits[side, split.rows] += [first in found[row] for first, row in zip(firsts, split.rows, strict=True)]
    return _gain(hits[:, times > 0], times[times > 0], how)


def _split(queries: VectorSource, right: Sequence[I64], targets: VectorSource, metric: str, seed: int) -> _Trial:
    """Search half of the targets for the queries about it; those about the other half are the bank."""
    order = np.random.default_rng(seed).permutation(targets.shape[0])
    searched, others = (np.sort(part) for part in np.split(order, [len(order) // 2]))
    inside = np.array([np.isin(rows, searched).any() for rows in right])
    if not inside.any() or inside.all():
        raise InputError("relevant", "right targets in either half of the targets, to split them", "one half only")
    tested = np.flatnonzero(inside)
    bank = without_copies(SelectedVectors(queries, np.flatnonzero(~inside), queries.name), metric=metric)
    return BankSplit(tested, queries.take(tested), bank), searched, SelectedVectors(targets, others, targets.name)


def _gain(hits: F64, times: F64, how: str) -> LabelledGain:
    """Sum up hits (2, m) raw and corrected, of queries that were asked so many times (m,)."""
    raw, corrected = hits / times
    change = paired_difference(raw, corrected, weights=times)
    signs = mcnemar(raw > corrected, corrected > raw)
    worse = signs.only_first > signs.only_second
    before, after = 100 * hits.sum(axis=1) / times.sum()
    return LabelledGain(
        queries=len(times),
        before=float(before),
        after=float(after),
        change=100 * change.value,
        interval=Interval(100 * change.interval.low, 100 * change.interval.high),
        harm=signs.p_value / 2 if worse else 1 - signs.p_value / 2,
        how=how,
    )
