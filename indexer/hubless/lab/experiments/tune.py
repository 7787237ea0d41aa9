"""Choosing a correction and its parameters by labelled pairs, carefully."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hubless import measures
from hubless.builder.banks.live_strength import drawn, refuse_targets, strength_by_offsets, verdict
from hubless.corrections import correction as make_correction
from hubless.corrections.prior import PriorLike
from hubless.errors import InputError, storage_errors
from hubless.lab.experiments.grids import Grid, grid_methods, left_out_of_grids
from hubless.lab.experiments.labelled import Draws, auto_notes, open_labelled
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import Relevant, left_out_note
from hubless.lab.experiments.trials import Pairs, Trial
from hubless.lab.matrices import SimilarityMatrices
from hubless.lab.vectorless import usable
from hubless.measures import PairedDifference, paired_difference
from hubless.measures.evenness import ChosenStrength
from hubless.progress import progress_bars
from hubless.store.durable import replace_text
from hubless.vectors.arrays import F32, F64, I64, check_at_least, check_dim
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import ArrayVectors, under_metric

SEEDS = 10
FOLDS = 5


@dataclass(frozen=True)
class Tried:
    """R@1 of a candidate, and how far it is below the best one, with the standard error of that over the queries."""

    label: str
    recall_at_1: float
    below_best: float
    error: float


@dataclass(frozen=True)
class Tuned:
    """What was chosen, and how good it is on queries that had no part in the choice.

    Parameters
    ----------
    correction, parameters : the choice
    gain : change of R@1 against the raw ranking, of choices made without the fold on which they are measured
    why : in words
    best : label of the candidate with the highest R@1
    tried : number of candidates
    candidates : all of them, from the simplest to the strongest
    strength : that live queries choose for the choice; None without any, or if it does not fold
    """

    correction: str
    parameters: dict[str, Any]
    why: str
    gain: PairedDifference
    best: str
    tried: int
    queries: int
    query_bank: int
    seeds: int
    folds: int
    candidates: list[Tried]
    notes: list[str]
    strength: ChosenStrength | None = None

    def as_json(self) -> dict[str, Any]:
        """A parameter file: `correction` and `parameters`, and under `tuned` the evidence."""
        evidence = asdict(self)
        return {name: evidence.pop(name) for name in ("correction", "parameters")} | {"tuned": evidence}

    def save(self, path: str | Path) -> None:
        """Write the parameter file that `read_correction` reads.

        Raises
        ------
        StorageError
        """
        with storage_errors(Path(path)):
            replace_text(Path(path), json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n")


def tune(
    queries: Vectors | SimilarityMatrices,
    targets: Vectors | None,
    relevant: str | Path | Relevant,
    *,
    corrections: Sequence[str] | None = None,
    grids: Mapping[str, Grid] | None = None,
    query_bank: Vectors | None = None,
    target_bank: Vectors | None = None,
    metric: Literal["cosine", "dot"] = "cosine",
    seeds: int = SEEDS,
    folds: int = FOLDS,
    bank_of_targets: bool = False,
    target_prior: PriorLike | None = None,
    live_queries: Vectors | None = None,
    progress: bool | None = None,
) -> Tuned:
    """Choose the correction that ranks best on labelled pairs, under the strict protocol.

    All candidates are fitted on the same splits, and rank the same test queries by the same similarities. Chosen is, by
    the one-standard-error rule, the simplest candidate that is not worse than the best one by more than the standard
    error of their paired difference. To say what that brings, the choice is repeated without each fold of the queries
    and measured on that fold. If the interval of that gain reaches down to zero, the choice is `none`.

    Parameters
    ----------
    queries : (m, d); or similarities, in place of queries, targets and banks
    targets : (n, d)
    relevant : for each query the row number of its relevant target, or a list of several, or an empty one
    corrections : names of those to try; by default all that fold into the index
    grids : values of parameters to try instead of the usual ones, by correction; give them from weak to strong. Without
        `corrections` only these are tried
    query_bank : (b, d), without a leak, instead of the strict protocol's splits
    target_bank : (g, d), only with a query bank
    seeds : how many splits
    bank_of_targets : take a query bank that holds targets
    target_prior : (n,) how often each target should be found, for the corrections that take one
    live_queries : (l, d) queries that people asked, without labels: they choose the strength for the chosen correction.
        Without a query bank it is that of the first split
    folds : of the queries; those with the same relevant target are in the same fold

    Raises
    ------
    InputError
        if inputs do not fit each other, or there are fewer queries (of different targets) than folds.
    """
    check_at_least("folds", folds, 2)
    made = Draws(seeds)
    given = open_labelled(
        queries,
        targets,
        relevant,
        query_bank=query_bank,
        target_bank=target_bank,
        metric=metric,
        bank_of_targets=bank_of_targets,
        target_prior=target_prior,
    )
    pairs = given.pairs
    live = None if live_queries is None else _live(live_queries, pairs, metric)
    fold_of = _folds(pairs, folds)
    trials = list(given.trials(made))
    smallest = min(len(trial.query_bank) for trial in trials)
    entries = grid_methods(smallest, all(trial.target_bank is not None for trial in trials), corrections, grids)
    if pairs.matrices is not None and corrections is None and not grids:
        between = trials[0].between is not None
        entries = [entry for entry in entries if usable(entry.name, between)]
    hits = np.zeros((len(entries), len(pairs.queries)))
    times = np.zeros(len(pairs.queries))
    with progress_bars(progress) as steps:
        advance = steps.step(f"tuning, {len(entries)} candidates", len(trials) * len(entries))
        for trial in trials:
            times[trial.rows] += 1
            hits[:, trial.rows] += _hits(trial, entries)
            advance(len(entries))
    tested = np.flatnonzero(times)
    means, weights, fold_of = hits[:, tested] / times[tested], times[tested], fold_of[tested]
    found = _tuned(entries, means, weights, fold_of, pairs, len(trials), smallest, folds)
    tuned = replace(found, notes=[*found.notes, *left_out_of_grids(grids or {}, smallest)])
    return tuned if live is None else _with_strength(tuned, live, trials[0])


def _live(live_queries: Vectors, pairs: Pairs, metric: Literal["cosine", "dot"]) -> F32:
    if pairs.matrices is not None:
        raise InputError("live queries", "none beside similarities, as they have to be ranked", "some")
    source = under_metric(as_items(live_queries, "live queries").vectors, metric)
    check_dim(source.shape[1], pairs.targets.shape[1], source.name, "targets")
    live = drawn(source)
    refuse_targets(live, ArrayVectors(pairs.targets, "targets"))
    return live


def _with_strength(tuned: Tuned, live: F32, trial: Trial) -> Tuned:
    """The same, with the strength that live queries choose for the correction, if it folds."""
    scorer = trial.fit(make_correction(tuned.correction, tuned.parameters))
    if tuned.correction == "none" or scorer.query_time is not None:
        return tuned
    chosen = strength_by_offsets(live, ArrayVectors(trial.targets, "targets"), scorer.offsets)
    return replace(tuned, strength=chosen, notes=[*tuned.notes, verdict(chosen).rstrip(".")])


def _tuned(
    entries: list[Method],
    hits: F64,
    weights: F64,
    fold_of: I64,
    pairs: Pairs,
    splits: int,
    bank: int,
    folds: int,
) -> Tuned:
    held_out = hits[0].copy()
    for fold in range(folds):
        inside = fold_of == fold
        held_out[inside] = hits[best_of(hits[:, ~inside], weights[~inside]), inside]
    gain = paired_difference(hits[0], held_out, weights=weights)
    chosen, compared = best_of(hits, weights), _compare(entries, hits, weights)
    best = max(compared, key=lambda candidate: candidate.recall_at_1)
    if chosen != 0 and not gain.interval.above_zero:
        chosen, why = 0, "the gain on held-out queries may be zero, so the raw ranking is kept"
    elif chosen == 0:
        why = "the raw ranking is within one standard error of the best candidate"
    else:
        why = "the simplest candidate within one standard error of the best one"
    return Tuned(
        correction=entries[chosen].name,
        parameters=dict(entries[chosen].parameters),
        why=why,
        gain=gain,
        best=best.label,
        tried=len(entries),
        queries=len(weights),
        query_bank=bank,
        seeds=splits,
        folds=folds,
        candidates=compared,
        notes=left_out_note(pairs.left_out.tolist(), len(pairs.queries)) + auto_notes(pairs, entries),
    )


def _folds(pairs: Pairs, folds: int) -> I64:
    """The fold of each query, by its first relevant target; −1 for a query without one."""
    first = np.array([rows[0] if len(rows) else -1 for rows in pairs.relevant])
    distinct = np.unique(first[first >= 0])
    if len(distinct) < folds:
        raise InputError("folds", f"at most as many as queries of different targets, {len(distinct)}", folds)
    place = np.full(len(pairs.targets) + 1, -1)
    place[distinct] = np.random.default_rng(0).permutation(len(distinct)) % folds
    fold_of: I64 = place[first]
    return fold_of


def _hits(trial: Trial, entries: list[Method]) -> F64:
    """Whether each candidate puts a relevant target of each test query first, (candidates, m)."""
    scorers = [trial.fit(entry.correction()) for entry in entries]
    hits = np.empty((len(entries), len(trial.rows)))
    for number, block, scores in trial.rankings(scorers):
        hits[number, block] = measures.ranks(scores, trial.relevant[block]) <= 1
    return hits


def best_of(hits: F64, weights: F64) -> int:
    """The first candidate within one standard error of the best one, the error being that of their difference.

    Parameters
    ----------
    hits : (candidates, m), from the simplest to the strongest: how often each query found its target first
    weights : (m,) of the queries
    """
    means = hits @ weights / weights.sum()
    best = int(np.argmax(means))
    below, errors = means[best] - means, _errors(hits, weights, best)
    return int(np.argmax(below <= errors))


def _errors(hits: F64, weights: F64, best: int) -> F64:
    """Standard error of how far each candidate is below the best, over the queries."""
    differences = hits[best] - hits
    centred = differences - (differences @ weights / weights.sum())[:, np.newaxis]
    m = len(weights)
    errors: F64 = np.sqrt((weights * centred) ** 2 @ np.ones(m) * m / max(1, m - 1)) / weights.sum()
    return errors


def _compare(entries: list[Method], hits: F64, weights: F64) -> list[Tried]:
    means = hits @ weights / weights.sum()
    best = int(np.argmax(means))
    columns = zip(entries, means, means[best] - means, _errors(hits, weights, best), strict=True)
    return [Tried(entry.label, float(mean), float(below), float(error)) for entry, mean, below, error in columns]
