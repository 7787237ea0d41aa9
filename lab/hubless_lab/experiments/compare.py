"""Several methods on the same labelled pairs, with intervals and paired tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypedDict, Unpack

import numpy as np

from hubless.builder.keywords import of_record, with_keywords
from hubless.corrections import is_given
from hubless.corrections.query_time import CANDIDATES
from hubless.corrections.roles import PRIOR
from hubless.diagnosing.gallery import Examined
from hubless.errors import InputError
from hubless.measures.labels import Labels
from hubless.progress import progress_bars
from hubless.search.collection import Collection
from hubless.vectors.comparing import comparison as made_by
from hubless.vectors.files import Vectors
from hubless.vectors.ids import rows_by_id
from hubless_lab.experiments.comparisons import Comparison
from hubless_lab.experiments.demand import Demand
from hubless_lab.experiments.drawn_banks import Draws, DrawSettings
from hubless_lab.experiments.methods import PLAN_NAMES, Method, Methods, as_methods
from hubless_lab.experiments.tally import RANKED_DEPTHS, RECALLS, Attribute, Quality, Result, Row, Tally, counted_depths
from hubless_lab.experiments.trials import Labelled, LabelledInputs, LabelledItems, Scorer, Trial, open_labelled
from hubless_lab.matrices import AUTO_NOTE, SimilarityMatrices
from hubless_lab.measures.distance import earth_movers_distance

BASELINE = "none"


class MeasureSettings(TypedDict, total=False):
    """Measures of a ranking.

    Attributes
    ----------
    recalls : the k of R@k; 1 is always among them
    depths : the k of N_k, from which hubness is measured
    attribute : groups of the targets, which are counted among the first of each query
    strength : λ
    candidates : how many targets a rescorer looks at; None for all
    distances : also measure the earth mover's distance of the bank to the targets, to these with the target bank, and
        to the test queries
    """

    recalls: Sequence[int]
    depths: Sequence[int]
    attribute: Attribute | None
    strength: float
    candidates: int | None
    distances: bool


class CompareSettings(LabelledInputs, LabelledItems, DrawSettings, MeasureSettings, total=False):
    """All that `compare` can be told of."""


@with_keywords(LabelledInputs, LabelledItems, DrawSettings, MeasureSettings)
def compare(
    queries: Vectors | SimilarityMatrices | Labelled,
    targets: Examined | None = None,
    relevant: Labels | None = None,
    corrections: Methods | None = None,
    *,
    baseline: str = BASELINE,
    progress: bool | None = None,
    **settings: Unpack[CompareSettings],
) -> Comparison:
    """Measure several corrections on labelled queries, beside the raw ranking.

    Without a query bank the targets are split in half at random, several times: one half is searched, and the other is
    the target bank; the queries whose targets are in the other half are the query bank. With a query bank, all targets
    are searched and all queries test.

    `rows` of the comparison have one entry a correction. Raises `InputError` if inputs do not fit each other, or a
    correction cannot be fitted (unless nobody named it).

    Parameters
    ----------
    queries : (m, d); or `SimilarityMatrices` or `Labelled`, in place of queries, targets and banks
    targets : (n, d), or an index
    relevant : for each query the id of its right target, or a list of ids: docs/cli.md, "Labels"
    corrections : names, pairs of a name and its parameters, or parameters by name; None for the usual ones
    baseline : the name or label of the method that the others are tested against
    progress : show progress bars; None does if standard error is a terminal
    """
    draws = Draws(**of_record(DrawSettings, settings))
    measured = _Measured(**of_record(MeasureSettings, settings))
    methods, against = _with_baseline(as_methods(corrections), baseline)
    inputs = of_record(LabelledInputs, settings) | of_record(LabelledItems, settings)
    given = open_labelled(queries, targets, relevant, **inputs)
    recalls, depths = counted_depths(measured.recalls, measured.depths)
    attribute = _fitting(given, draws.demand, measured.attribute)
    measured = replace(measured, attribute=attribute, recalls=recalls, depths=depths)
    count = len(given.pairs.queries)
    results = {method.label: Result(method.label, method.name, method.parameters, count) for method in methods}
    splits = list(range(draws.seeds)) if given.query_bank is None else []
    first: Trial | None = None
    left_out: dict[str, str] = {}
    with progress_bars(progress) as steps:
        advance = steps.step("comparing", draws.draws * (len(splits) or 1) * len(methods))
        for trial in given.trials(draws):
            first = first or trial
            measured.add(trial, _fitted(trial, methods, left_out), results)
            advance(len(methods))
    if first is None or against in left_out:
        raise InputError("baseline", "a correction that can be fitted here", left_out.get(against, "none"))
    rows = [result.row(results[against]) for label, result in results.items() if label not in left_out]
    return Comparison(
        protocol="query bank" if given.query_bank is not None else "strict" if draws.demand is None else "demand",
        queries=len(first.rows),
        targets=len(first.targets),
        query_bank=len(first.query_bank),
        target_bank=None if first.target_bank is None else len(first.target_bank),
        several_relevant=max(map(len, first.relevant)) > 1,
        seeds=splits,
        draws=draws.draws,
        depths=depths,
        baseline=against,
        left_out=given.pairs.left_out.tolist(),
        notes=[*given.notes(), *_notes_on(methods, rows, left_out, given.pairs.matrices is not None)],
        group_shares={} if attribute is None else attribute.groups.by_name(),
        rows=rows,
    )


def compare_strictly(collection: Collection, queries: Vectors, relevant: Labels, **options: Any) -> Comparison:
    """Measure a collection's correction without its bank, on strict splits of its targets. Options as for `compare`.

    Raises `InputError` as `compare`, and for offsets that were given.
    """
    record = collection.manifest.correction
    known = collection.parts.columns(np.arange(collection.count)).of(PRIOR)
    prior = None if known is None else known.filled.values
    if is_given(record.name):
        expected = "one that is fitted on queries; compare targets with offsets:FILE to measure given ones"
        raise InputError("correction", expected, record.name)
    corrections = [Method(BASELINE), Method(record.name, record.parameters)]
    comparison = compare(queries, collection, relevant, corrections, target_prior=prior, **options)
    notes = list(comparison.notes)
    if prior is None and collection.manifest.target_prior is not None:
        told = "the collection is older and did not keep its target prior: the correction is measured without it"
        notes.append(told)
    if collection.manifest.fit_by is not None:
        notes.append(f"the collection is fitted by {collection.manifest.fit_by}: it is measured with one fit for all")
    return replace(comparison, notes=notes)


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """Measures that the methods get on a trial: see `MeasureSettings`."""

    recalls: Sequence[int] = RECALLS
    depths: Sequence[int] = RANKED_DEPTHS
    attribute: Attribute | None = None
    strength: float = 1.0
    candidates: int | None = CANDIDATES
    distances: bool = False

    def add(self, trial: Trial, scorers: Mapping[str, Scorer], results: Mapping[str, Result]) -> None:
        """Rank the targets of a trial by methods that are fitted on it, and add the measures to the results."""
        moved = _distances(trial) if self.distances else {}
        attribute = None if self.attribute is None else self.attribute.taken(trial.target_rows)
        tallies = [Tally(len(trial.targets), self.recalls, attribute, self.depths) for _ in scorers]
        for number, block, scores in trial.rankings(list(scorers.values()), self.strength, self.candidates):
            tallies[number].add(scores, trial.relevant[block])
        for (label, scorer), tally in zip(scorers.items(), tallies, strict=True):
            of_bank = {} if label == BASELINE else moved
            results[label].add(trial.rows, tally, scorer.details, scorer.seconds, of_bank)


def _with_baseline(methods: list[Method], baseline: str) -> tuple[list[Method], str]:
    """Return methods with the baseline among them, and its label."""
    for method in methods:
        if baseline in (method.label, method.name):
            return methods, method.label
    added = as_methods([baseline])
    return [*added, *methods], added[0].label


def _fitting(given: Labelled, demand: Demand | None, attribute: Attribute | None) -> Attribute | None:
    """Return the attribute with a group for each target, by their ids. Raises `InputError` for what does not fit."""
    if demand is not None and given.query_bank is not None:
        raise InputError("demand", "none with a query bank, in place of which a log is drawn", demand)
    if attribute is None:
        return None
    rows = rows_by_id(given.pairs.target_ids, attribute.groups.ids, "target", "groups", more=True)
    attribute = attribute if rows is None else attribute.taken(rows)
    if len(attribute.groups.codes) != (count := len(given.pairs.targets)):
        raise InputError("groups", f"{count}, one a target", len(attribute.groups.codes))
    return attribute


def _notes_on(
    methods: Sequence[Method], rows: Sequence[Row], left_out: Mapping[str, str], of_similarities: bool
) -> list[str]:
    """Return what there is to know of methods, and of the fits behind their rows."""
    notes = [AUTO_NOTE] if of_similarities and any(method.name == "auto" for method in methods) else []
    notes += [f"{row.label}: {row.details['note']}" for row in rows if "note" in row.details]
    notes += [f"{label} is left out: {reason}" for label, reason in left_out.items()]
    if plans := [method.label for method in methods if method.name in PLAN_NAMES]:
        notes.append(f"{', '.join(plans)}: ranked with all test queries known, which no service has")
    return notes


def _distances(trial: Trial) -> Quality:
    """Return the earth mover's distances of a bank to the targets, to these with the target bank, and to the tests."""
    if trial.pairs.matrices is not None:
        raise InputError("distances", "vectors", "similarities")
    plain = made_by(trial.pairs.metric).plain
    places = {"targets": plain(trial.targets), "queries": plain(trial.queries)}
    if trial.target_bank is not None:
        places["all_targets"] = plain(np.concatenate([trial.targets, trial.target_bank]))
    return {
        f"distance_to_{name}": earth_movers_distance(plain(trial.query_bank), rows) for name, rows in places.items()
    }


def _fitted(trial: Trial, methods: Sequence[Method], left_out: dict[str, str]) -> dict[str, Scorer]:
    """Return methods fitted on a trial, by label. One that cannot be fitted goes into `left_out` for good, with why."""
    scorers = {}
    for method in (method for method in methods if method.label not in left_out):
        begun = perf_counter()
        try:
            scorers[method.label] = replace(method.fit(trial), seconds=perf_counter() - begun)
        except InputError as error:
            if not method.optional:
                raise
            left_out[method.label] = str(error)
    return scorers
