"""Which correction ranks best: several of them on the same labelled pairs, with intervals and paired tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from hubless.corrections.prior import PriorLike
from hubless.corrections.query_time import CANDIDATES
from hubless.errors import InputError
from hubless.lab.experiments.comparison import Comparison, Result
from hubless.lab.experiments.distances import Distances, measure_distances
from hubless.lab.experiments.labelled import Draws, auto_notes, open_labelled
from hubless.lab.experiments.methods import PLAN_NAMES, Method, default_methods
from hubless.lab.experiments.relevance import Relevant
from hubless.lab.experiments.tally import DEPTHS, RECALLS, Attribute, Tally
from hubless.lab.experiments.trials import Scorer, Trial
from hubless.lab.gallery import gallery_of
from hubless.lab.matrices import SimilarityMatrices
from hubless.progress import progress_bars
from hubless.search.collection import Collection
from hubless.search.priors import stored_prior
from hubless.vectors.arrays import check_at_least
from hubless.vectors.files import Vectors

BASELINE = "none"
SEEDS = 10


def compare(
    queries: Vectors | SimilarityMatrices,
    targets: Vectors | None,
    relevant: str | Path | Relevant,
    entries: Sequence[Method] | None = None,
    *,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    metric: Literal["cosine", "dot"] = "cosine",
    seeds: int = SEEDS,
    strength: float = 1.0,
    recalls: Sequence[int] = RECALLS,
    depths: Sequence[int] = DEPTHS,
    baseline: str = BASELINE,
    attribute: Attribute | None = None,
    bank_size: int | None = None,
    draws: int = 1,
    candidates: int | None = CANDIDATES,
    leave_self_out: bool = False,
    distances: bool = False,
    bank_of_targets: bool = False,
    target_prior: PriorLike | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Measure several corrections on labelled pairs.

    Without a query bank the strict protocol is followed: the targets are split in half at random, one half is the
    gallery and the other the target bank; queries with a relevant target in the gallery test, and the others are the
    query bank. With a query bank, all targets are the gallery and all queries test.

    Parameters
    ----------
    queries : (m, d); or similarities, in place of queries, targets and banks
    targets : (n, d)
    relevant : for each query the row number of its relevant target, or a list of several, or an empty one
    entries : the corrections; by default those of `default_methods`
    query_bank : (b, d), whose own targets are not among the targets
    target_bank : (g, d), only with a query bank
    seeds : how many splits, with seeds 0, 1, …
    strength : λ
    recalls : the k of R@k; 1 is always among them
    depths : the k of N_k, from which hubness is measured
    baseline : the name or label of the entry that the others are tested against
    bank_size : so many queries of the bank are drawn at random; None takes all
    draws : how often they are drawn
    candidates : how many targets a rescorer looks at; None for all
    leave_self_out : query i is target i, and is no answer to itself
    distances : measure how far query bank, targets and queries of the first trial lie from each other
    bank_of_targets : take a query bank that holds targets
    target_prior : (n,) how often each target should be found, for the corrections that take one

    Raises
    ------
    InputError
        if inputs do not fit each other, if a correction cannot be fitted (unless it is optional), and if no entry is
        the baseline; if the query bank holds targets.
    """
    for k in recalls:
        check_at_least("recall at", k, 1)
    for depth in depths:
        check_at_least("depth", depth, 1)
    made = Draws(seeds, bank_size, draws)
    given = open_labelled(
        queries,
        targets,
        relevant,
        query_bank=query_bank,
        target_bank=target_bank,
        metric=metric,
        bank_of_targets=bank_of_targets,
        target_prior=target_prior,
        leave_self_out=leave_self_out,
    )
    count = len(given.pairs.targets)
    if attribute is not None and len(attribute.groups.codes) != count:
        raise InputError("groups", f"{count}, one a target", len(attribute.groups.codes))
    taking_part = list({entry.label: entry for entry in entries or default_methods()}.values())
    if not any(baseline in (entry.label, entry.name) for entry in taking_part):
        taking_part.insert(0, Method(baseline))
    against = next(entry.label for entry in taking_part if baseline in (entry.label, entry.name))
    asked = _Asked(sorted({1, *recalls}), list(dict.fromkeys(depths)), strength, attribute, candidates)
    run = _Run(taking_part, len(given.pairs.queries), asked)
    measured: Distances | None = None
    with progress_bars(progress) as steps:
        advance = steps.step("comparing", given.count(made) * len(taking_part))
        for trial in given.trials(made):
            measured = measured or (measure_distances(trial) if distances else None)
            run.add(trial, advance)
    return run.comparison(
        protocol=given.protocol,
        seeds=list(range(seeds)) if given.query_bank is None else [],
        draws=draws,
        baseline=against,
        left_out=given.pairs.left_out.tolist(),
        distances=measured,
        notes=given.notes() + auto_notes(given.pairs, taking_part),
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
    entries = [Method(BASELINE), Method(record.name, record.parameters)]
    prior = stored_prior(collection)
    comparison = compare(
        queries, gallery.targets, relevant, entries, metric=gallery.metric, target_prior=prior, **options
    )
    if prior is not None or collection.manifest.target_prior is None:
        return comparison
    note = "the collection's target prior was a file, which it does not keep: the correction is measured without it"
    return replace(comparison, notes=[*comparison.notes, note])


@dataclass(frozen=True)
class _Asked:
    """What is measured of each ranking."""

    recalls: list[int]
    depths: list[int]
    strength: float
    attribute: Attribute | None
    candidates: int | None


class _Run:
    """Gathers the tallies of all entries over the trials."""

    def __init__(self, entries: list[Method], queries: int, asked: _Asked) -> None:
        for entry in entries:
            entry.check()
        self._entries = entries
        self._asked = asked
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
        attribute = self._asked.attribute and self._asked.attribute.within(trial.target_rows)
        fitted = {entry.label: self._fit(trial, entry) for entry in self._entries}
        scorers = {label: scorer for label, scorer in fitted.items() if scorer is not None}
        tallies = [Tally(len(trial.targets), self._asked.recalls, attribute, self._asked.depths) for _ in scorers]
        asked = (list(scorers.values()), self._asked.strength, self._asked.candidates)
        for number, block, scores in trial.rankings(*asked):
            tallies[number].add(scores, trial.relevant[block])
        for (label, scorer), tally in zip(scorers.items(), tallies, strict=True):
            self._results[label].add(trial.rows, tally, scorer.details)
        advance(len(self._entries))

    def _fit(self, trial: Trial, entry: Method) -> Scorer | None:
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
        draws: int,
        baseline: str,
        left_out: list[int],
        distances: Distances | None,
        notes: list[str],
    ) -> Comparison:
        """What was gathered, each entry against the baseline."""
        kept = [result for label, result in self._results.items() if label not in self._more_notes]
        if baseline in self._more_notes:
            raise InputError("baseline", "a correction that can be fitted here", self._more_notes[baseline])
        rows = [result.row(self._results[baseline]) for result in kept]
        more_notes = [f"{row.label}: {row.details['note']}" for row in rows if "note" in row.details]
        more_notes += [f"{label} is left out: {reason}" for label, reason in self._more_notes.items()]
        if plans := [entry.label for entry in self._entries if entry.name in PLAN_NAMES]:
            more_notes.append(f"{', '.join(plans)}: ranked with all test queries known, which no service has")
        return Comparison(
            protocol=protocol,
            **self._sizes,
            seeds=seeds,
            draws=draws,
            baseline=baseline,
            left_out=left_out,
            notes=notes + more_notes,
            depths=self._asked.depths,
            group_shares={} if self._asked.attribute is None else self._asked.attribute.groups.by_name(),
            distances=distances,
            rows=rows,
        )
