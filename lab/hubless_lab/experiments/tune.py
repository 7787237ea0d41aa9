"""Choosing a correction and its parameters by labelled pairs, carefully."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from hubless.builder.keywords import with_keywords
from hubless.diagnosing.gallery import Examined
from hubless.errors import InputError, storage_errors
from hubless.measures import PairedDifference, paired_difference
from hubless.measures.labels import Labels
from hubless.progress import Progressing, progress_bars
from hubless.store.durable import replace_text
from hubless.vectors.arrays import F64, I64, check_at_least
from hubless.vectors.files import Vectors
from hubless_lab import measures as lab_measures
from hubless_lab.experiments.drawn_banks import SEEDS, Draws
from hubless_lab.experiments.measured_rows import left_out_note
from hubless_lab.experiments.methods import Grid, Method, grid_methods, left_out_of_grids
from hubless_lab.experiments.trials import LabelledInputs, Pairs, Trial, open_labelled

_FOLDS = 5


@dataclass(frozen=True)
class Candidate:
    """R@1 of a candidate, and how far it is below the best one, with the standard error of that over the queries."""

    label: str
    recall_at_1: float
    below_best: float
    error: float


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The choice, and how good it is on queries that had no part in it.

    `gain` is the change of R@1 against raw, of choices made without the fold on which they are measured; `candidates`
    stand from the simplest to the strongest.
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
    candidates: list[Candidate]
    notes: list[str]

    def as_json(self) -> dict[str, Any]:
        evidence = asdict(self)
        return {name: evidence.pop(name) for name in ("correction", "parameters")} | {"tuned": evidence}

    def save(self, path: str | Path) -> None:
        """Write the parameter file that `read_correction` reads, or raise `StorageError`."""
        with storage_errors(Path(path)):
            replace_text(Path(path), json.dumps(self.as_json(), indent=2, ensure_ascii=False) + "\n")


@with_keywords(LabelledInputs)
def tune(
    queries: Vectors,
    targets: Examined,
    relevant: Labels,
    *,
    corrections: Sequence[str] | None = None,
    grids: Mapping[str, Grid] | None = None,
    seeds: int = SEEDS,
    folds: int = _FOLDS,
    progress: Progressing = None,
    **inputs: Unpack[LabelledInputs],
) -> Tuned:
    """Choose the correction that ranks best on labelled queries; `none` unless the gain is real.

    All candidates rank the same test queries on the same splits. Chosen is the simplest that is not worse than the best
    by more than the standard error of their paired difference. The choice is repeated without each fold of the queries
    and measured on that fold. If the interval of that gain reaches down to zero, the choice is `none`.

    `correction` and `parameters` of the choice go into `Index` or `build`. Raises `InputError` if inputs do not fit
    each other, or there are fewer queries (of different targets) than folds.

    Parameters
    ----------
    queries, targets, relevant : as for `compare`
    corrections : names of those to try; by default all that fold into the index
    grids : values of parameters to try, by correction, from weak to strong; without `corrections` only these are tried
    seeds, folds : how many splits, and folds of the queries; those with the same relevant target are in one fold
    """
    check_at_least("folds", folds, 2)
    given = open_labelled(queries, targets, relevant, **inputs)
    pairs = given.pairs
    fold_of = _folds(pairs, folds)
    trials = list(given.trials(Draws(seeds=seeds)))
    smallest = min(trial.fitted_on.shape[0] for trial in trials)
    methods = grid_methods(smallest, all(trial.target_bank is not None for trial in trials), corrections, grids)
    hits = np.zeros((len(methods), len(pairs.queries)))
    times = np.zeros(len(pairs.queries))
    with progress_bars(progress) as steps:
        advance = steps.step(f"tuning, {len(methods)} candidates", len(trials) * len(methods))
        for trial in trials:
            times[trial.rows] += 1
            hits[:, trial.rows] += _hits(trial, methods)
            advance(len(methods))
    tested = np.flatnonzero(times)
    means = hits[:, tested] / times[tested]
    weights = times[tested]
    chosen, gain, why = _choose(means, weights, fold_of[tested], folds)
    numbers = np.stack(_below_best(means, weights), axis=1).tolist()
    candidates = [Candidate(method.label, *row) for method, row in zip(methods, numbers, strict=True)]
    notes = left_out_note(pairs.left_out.tolist(), len(pairs.queries)) + left_out_of_grids(grids or {}, smallest)
    return Tuned(
        correction=methods[chosen].name,
        parameters=dict(methods[chosen].parameters),
        why=why,
        gain=gain,
        best=max(candidates, key=lambda candidate: candidate.recall_at_1).label,
        tried=len(methods),
        queries=len(weights),
        query_bank=smallest,
        seeds=len(trials),
        folds=folds,
        candidates=candidates,
        notes=notes,
    )


def best_setting(hits: F64, weights: F64) -> int:
    """Return the first candidate within one standard error of the best one, by hits (candidates, m) of the queries."""
    _, below, errors = _below_best(hits, weights)
    return int(np.argmax(below <= errors))


def _choose(hits: F64, weights: F64, fold_of: I64, folds: int) -> tuple[int, PairedDifference, str]:
    held_out = hits[0].copy()
    for fold in range(folds):
        inside = fold_of == fold
        held_out[inside] = hits[best_setting(hits[:, ~inside], weights[~inside]), inside]
    gain = paired_difference(hits[0], held_out, weights=weights)
    chosen = best_setting(hits, weights)
    if chosen == 0:
        return 0, gain, "the raw ranking is within one standard error of the best candidate"
    if not gain.interval.above_zero:
        return 0, gain, "the gain on held-out queries may be zero, so the raw ranking is kept"
    return chosen, gain, "the simplest candidate within one standard error of the best one"


def _folds(pairs: Pairs, folds: int) -> I64:
    first = np.array([rows[0] if len(rows) else -1 for rows in pairs.relevant])
    distinct = np.unique(first[first >= 0])
    if len(distinct) < folds:
        raise InputError("folds", f"at most as many as queries of different targets, {len(distinct)}", folds)
    place = np.full(len(pairs.targets) + 1, -1)
    place[distinct] = np.random.default_rng(0).permutation(len(distinct)) % folds
    fold_of: I64 = place[first]
    return fold_of


def _hits(trial: Trial, methods: list[Method]) -> F64:
    scorers = [method.fit(trial) for method in methods]
    hits = np.empty((len(methods), len(trial.rows)))
    for number, block, scores in trial.rankings(scorers):
        hits[number, block] = lab_measures.ranks(scores, trial.relevant[block]) <= 1
    return hits


def _below_best(hits: F64, weights: F64) -> tuple[F64, F64, F64]:
    means = hits @ weights / weights.sum()
    best = int(np.argmax(means))
    differences = hits[best] - hits
    centred = differences - (differences @ weights / weights.sum())[:, np.newaxis]
    m = len(weights)
    errors: F64 = np.sqrt((weights * centred) ** 2 @ np.ones(m) * m / max(1, m - 1)) / weights.sum()
    return means, means[best] - means, errors
