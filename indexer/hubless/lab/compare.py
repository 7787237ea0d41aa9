"""Which correction ranks best: several of them on the same labelled pairs, with intervals and paired tests."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hubless.errors import InputError
from hubless.lab.comparison import Comparison, Result
from hubless.lab.entries import PLAN_NAMES, Entry, default_entries
from hubless.lab.gallery import gallery_of
from hubless.lab.leaks import LEAK
from hubless.lab.relevance import Relevant, left_out_note
from hubless.lab.tally import RECALLS, Attribute, Tally
from hubless.lab.trials import (
    Pairs,
    Scorer,
    Trial,
    banked_trial,
    open_pairs,
    read_vectors,
    refuse_targets,
    strict_trial,
)
from hubless.progress import progress_bars
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32, check_at_least
from hubless.vectors.files import Vectors

BASELINE = "none"
SEEDS = 10
_LOOKED_AT, _CONSTANT = 64, 1e-6


def compare(
    queries: Vectors,
    targets: Vectors,
    relevant: str | Path | Relevant,
    entries: Sequence[Entry] | None = None,
    *,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    metric: Literal["cosine", "dot"] = "cosine",
    seeds: int = SEEDS,
    strength: float = 1.0,
    recalls: Sequence[int] = RECALLS,
    baseline: str = BASELINE,
    attribute: Attribute | None = None,
    bank_of_targets: bool = False,
    progress: bool | None = None,
) -> Comparison:
    """Measure several corrections on labelled pairs.

    Without a query bank the strict protocol is followed: the targets are split in half at random, one half is the
    gallery and the other the target bank; queries with a relevant target in the gallery test, and the others are the
    query bank. With a query bank, all targets are the gallery and all queries test.

    Parameters
    ----------
    queries : (m, d)
    targets : (n, d)
    relevant : for each query the row number of its relevant target, or a list of several, or an empty one
    entries : the corrections; by default those of `default_entries`
    query_bank : (b, d), whose own targets are not among the targets
    target_bank : (g, d), only with a query bank
    seeds : how many splits, with seeds 0, 1, …
    strength : λ
    recalls : the k of R@k; 1 is always among them
    baseline : the name or label of the entry that the others are tested against
    bank_of_targets : take a query bank that holds targets

    Raises
    ------
    InputError
        if inputs do not fit each other, if a correction cannot be fitted (unless it is optional), and if no entry is
        the baseline; if the query bank holds targets.
    """
    pairs = open_pairs(queries, targets, relevant, metric)
    for k in recalls:
        check_at_least("recall at", k, 1)
    taking_part = list({entry.label: entry for entry in entries or default_entries()}.values())
    if not any(baseline in (entry.label, entry.name) for entry in taking_part):
        taking_part.insert(0, Entry(baseline))
    against = next(entry.label for entry in taking_part if baseline in (entry.label, entry.name))
    banks = None if query_bank is None else read_vectors(query_bank, "query bank", metric)
    extra = None if target_bank is None else read_vectors(target_bank, "target bank", metric)
    if banks is None and extra is not None:
        raise InputError("target bank", "none without a query bank, as the strict protocol makes its own", "one")
    if banks is not None and not bank_of_targets:
        refuse_targets(banks, pairs)
    run = _Run(taking_part, len(pairs.queries), sorted({1, *recalls}), strength, attribute)
    with progress_bars(progress) as steps:
        if banks is None:
            check_at_least("seeds", seeds, 1)
            advance = steps.step("comparing", seeds * len(taking_part))
            for seed in range(seeds):
                run.add(strict_trial(pairs, seed), advance)
        else:
            run.add(banked_trial(pairs, banks, extra), steps.step("comparing", len(taking_part)))
    return run.comparison(
        protocol="strict" if banks is None else "query bank",
        seeds=list(range(seeds)) if banks is None else [],
        baseline=against,
        left_out=pairs.left_out.tolist(),
        notes=_notes(pairs, banks, extra),
    )


def compare_strictly(
    collection: Collection, queries: Vectors, relevant: str | Path | Relevant, **options: Any
) -> Comparison:
    """Measure the correction of a collection without its bank, on splits of its targets by the strict protocol.

    Parameters
    ----------
    queries, relevant : as for `compare`
    options : as for `compare`: `seeds`, `strength`, `recalls`, `baseline`, `progress`

    Raises
    ------
    InputError
        as `compare`.
    """
    gallery, record = gallery_of(collection), collection.manifest.correction
    entries = [Entry(BASELINE), Entry(record.name, record.parameters)]
    return compare(queries, gallery.targets, relevant, entries, metric=gallery.metric, **options)


class _Run:
    """Gathers the tallies of all entries over the trials."""

    def __init__(
        self,
        entries: list[Entry],
        queries: int,
        recalls: Sequence[int],
        strength: float,
        attribute: Attribute | None,
    ) -> None:
        for entry in entries:
            entry.check()
        self._entries = entries
        self._recalls = recalls
        self._strength = strength
        self._attribute = attribute
        self._results = {entry.label: Result(entry.label, entry.name, entry.parameters, queries) for entry in entries}
        self._more_notes: dict[str, str] = {}
        self._sizes: dict[str, Any] = {}

    def add(self, trial: Trial, advance: Callable[[int], None]) -> None:
        """Fit and measure all entries on a trial."""
        self._sizes = self._sizes or {
            "queries": len(trial.rows),
            "targets": len(trial.targets),
            "query_bank": len(trial.query_bank),
            "target_bank": None if trial.target_bank is None else len(trial.target_bank),
            "several_relevant": max(map(len, trial.relevant)) > 1,
        }
        attribute = self._attribute and self._attribute.within(trial.target_rows)
        fitted = {entry.label: self._fit(trial, entry) for entry in self._entries}
        scorers = {label: scorer for label, scorer in fitted.items() if scorer is not None}
        tallies = [Tally(len(trial.targets), self._recalls, attribute) for _ in scorers]
        for number, block, scores in trial.rankings(list(scorers.values()), self._strength):
            tallies[number].add(scores, trial.relevant[block])
        for (label, scorer), tally in zip(scorers.items(), tallies, strict=True):
            self._results[label].add(trial.rows, tally, scorer.details)
        advance(len(self._entries))

    def _fit(self, trial: Trial, entry: Entry) -> Scorer | None:
        if entry.label in self._more_notes:
            return None
        try:
            return entry.fit(trial)
        except InputError as error:
            if not entry.optional:
                raise
            self._more_notes[entry.label] = str(error)
            return None

    def comparison(
        self,
        protocol: Literal["strict", "query bank"],
        seeds: list[int],
        baseline: str,
        left_out: list[int],
        notes: list[str],
    ) -> Comparison:
        """What was gathered, each entry against the baseline."""
        kept = [result for label, result in self._results.items() if label not in self._more_notes]
        if baseline in self._more_notes:
            raise InputError("baseline", "a correction that can be fitted here", self._more_notes[baseline])
        more_notes = [f"{label} is left out: {reason}" for label, reason in self._more_notes.items()]
        if plans := [entry.label for entry in self._entries if entry.name in PLAN_NAMES]:
            more_notes.append(f"{', '.join(plans)}: ranked with all test queries known, which no service has")
        return Comparison(
            protocol=protocol,
            **self._sizes,
            seeds=seeds,
            baseline=baseline,
            left_out=left_out,
            notes=notes + more_notes,
            group_shares={} if self._attribute is None else self._attribute.groups.by_name(),
            rows=[result.row(self._results[baseline]) for result in kept],
        )


def _notes(pairs: Pairs, bank: F32 | None, target_bank: F32 | None) -> list[str]:
    """What the reader of the numbers should know of the input."""
    notes = left_out_note(pairs.left_out.tolist(), len(pairs.queries))
    for vectors, name in ((bank, "query bank"), (target_bank, "target bank")):
        if vectors is not None and (repeated := len(vectors) - len(_distinct(vectors))):
            notes.append(f"{repeated} of {len(vectors)} rows of the {name} repeat others, and so count more than once")
    if bank is not None and (targets := len(_distinct(bank) & _distinct(pairs.targets))):
        notes.append(
            f"{targets} targets are in the query bank: it has to hold queries, or it corrects for the wrong ones"
        )
    for vectors, name, tested in ((bank, "query bank", pairs.queries), (target_bank, "target bank", pairs.targets)):
        if vectors is not None and (shared := len(_distinct(vectors) & _distinct(tested))):
            what = "test queries" if name == "query bank" else "searched targets"
            notes.append(f"{shared} {what} are in the {name}: {LEAK}")
    if np.ptp(pairs.queries[:_LOOKED_AT] @ pairs.targets.T, axis=1).max() < _CONSTANT:
        notes.append("every query is equally similar to all targets: there is nothing to rank by")
    return notes


def _distinct(vectors: F32) -> set[bytes]:
    return {row.tobytes() for row in vectors}
