"""The change by `auto` for labelled queries, with a bank that does not leak.

A bank query's own target must not be among the searched targets, or pushing it down looks like a gain. So a bank that
is the labelled queries themselves is split by the strict protocol: lab/docs/lab.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubless.builder.banks.bank_split import BankSplit
from hubless.builder.banks.default_strength import ENOUGH_LABELS, said_by_labels
from hubless.builder.pipeline.survey import held_out_survey
from hubless.corrections import Correction
from hubless.errors import InputError
from hubless.measures.likeness import share_among
from hubless.measures.repeats import without_copies
from hubless.measures.significance import PairedDifference, paired_difference
from hubless.progress import no_progress
from hubless.vectors.arrays import I64
from hubless.vectors.sources import SelectedVectors, VectorSource, in_memory, sample

SPLITS = 5
_LOOKED_UP, _OWN = 256, 0.5


@dataclass(frozen=True)
class LabelledGain:
    """R@1 of labelled `queries`, the `raw` one and its `change` by `auto`, as shares; on strict `splits`, if any."""

    queries: int
    raw: float
    change: PairedDifference
    harm: bool
    splits: int


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
    the targets, with the queries about the other half. Raises `InputError` if all labels are in one half.
    """
    known = np.flatnonzero([len(rows) > 0 for rows in right])
    if len(known) < ENOUGH_LABELS:
        return None
    every = np.arange(targets.shape[0])
    trials = [(known, every)]
    if own := share_among(in_memory(sample(bank, _LOOKED_UP, 0)), queries, metric) > _OWN:
        drawn = [np.random.default_rng(seed).permutation(every)[: len(every) // 2] for seed in range(SPLITS)]
        halves = [np.isin(every, half) for half in drawn]
        trials = [(known[[half[right[row]].any() for row in known.tolist()]], every[half]) for half in halves]
        trials = [(tested, searched) for tested, searched in trials if 0 < len(tested) < len(known)]
        if not trials:
            raise InputError("relevant", "right targets in either half of the targets, to split them", "one target")
    hits, times = np.zeros((2, len(right))), np.zeros(len(right))
    for tested, searched in trials:
        if own:
            bank = SelectedVectors(queries, np.setdiff1d(known, tested), queries.name)
            target_bank = SelectedVectors(targets, np.setdiff1d(every, searched), targets.name)
        split = BankSplit(tested, queries.take(tested), without_copies(bank, metric=metric))
        source = SelectedVectors(targets, searched, targets.name)
        _, found = held_out_survey(correction, split, source, target_bank, 1, no_progress)
        firsts = searched[found.rows[:, :, 0]]
        times[tested] += 1
        hits[:, tested] += np.array([np.isin(firsts[:, at], right[row]) for at, row in enumerate(tested.tolist())]).T
    asked = times > 0
    raw, corrected = hits[:, asked] / times[asked]
    return LabelledGain(
        queries=len(raw),
        raw=float(np.average(raw, weights=times[asked])),
        change=paired_difference(raw, corrected, weights=times[asked]),
        harm=said_by_labels(raw > corrected, corrected > raw) == "harm",
        splits=len(trials) if own else 0,
    )
