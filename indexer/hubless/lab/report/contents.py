"""The contents of a report: diagnosis, comparison and sensitivity on the same data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hubless.builder.banks.bank_checks import NO_QUERIES
from hubless.errors import InputError
from hubless.lab.diagnose import bank_of, check_labels, diagnose
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments.compare import compare
from hubless.lab.experiments.comparisons import Comparison
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import Relevant
from hubless.lab.experiments.trials import Pairs, Trial, banked_trial, open_pairs, pairs_of, strict_trial
from hubless.lab.gallery import Gallery
from hubless.lab.matrices import SimilarityMatrices
from hubless.lab.report.curves import Curves, curves
from hubless.lab.report.examples import Example, examples
from hubless.progress import progress_bars
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import VectorSource, in_memory

MOST_TARGETS = 5000
"""Targets on which curves are measured: it is the shape that counts."""
TESTED = 1000
SEEDS = 3


@dataclass(frozen=True)
class Wanted:
    """Parts of a report that have to be asked for.

    Parameters
    ----------
    corrections : whose curves are drawn, instead of those of `curves`; with labels they are compared, too
    examples : rows of the queries (of the bank, without labels) whose first hits are shown
    images : whether the page may load images that payload names
    """

    corrections: Sequence[Method] = ()
    examples: Sequence[int] = ()
    images: bool = True


@dataclass(frozen=True)
class Report:
    """All that the page shows."""

    name: str
    diagnosis: Diagnosis
    comparison: Comparison | None
    curves: Curves
    examples: list[Example]
    images: bool


def make_report(
    gallery: Gallery,
    query_bank: Vectors | None = None,
    *,
    target_bank: Vectors | None = None,
    queries: Vectors | None = None,
    relevant: str | Path | Relevant | None = None,
    wanted: Wanted | None = None,
    seeds: int = SEEDS,
    seed: int = 0,
    bank_of_targets: bool = False,
    progress: bool | None = None,
) -> Report:
    """Diagnose, compare corrections if there are labels, vary temperature and bank size, and draw what is wanted.

    With labels and no query bank, the queries are the bank of the diagnosis, and are split by the strict protocol for
    all that is compared.
    """
    wanted = wanted or Wanted()
    check_labels(gallery, query_bank, target_bank, queries, relevant)
    matrices = gallery.matrices
    if matrices is not None and wanted.examples:
        raise InputError("examples", "vectors", "similarities")
    bank = query_bank if query_bank is not None or gallery.collection is not None else queries
    if bank is None and gallery.collection is None and matrices is None:
        raise InputError("query bank", f"a query bank, or labelled queries. {NO_QUERIES}", "none")
    shared: dict[str, Any] = {"bank_of_targets": bank_of_targets, "progress": progress}
    pairs, comparison = None, None
    if relevant is not None:
        compared = [Method("none"), *wanted.corrections, Method("auto")] if wanted.corrections else None
        if matrices is not None:
            pairs = pairs_of(matrices, relevant)
            given = SimilarityMatrices(matrices.queries, matrices.bank, matrices.target_bank, matrices.between)
            comparison = compare(given, None, relevant, compared, seeds=seeds, **shared)
        elif queries is not None:
            pairs = open_pairs(queries, gallery.targets, relevant, gallery.metric)
            comparison = compare(
                queries,
                gallery.targets,
                relevant,
                compared,
                query_bank=query_bank,
                target_bank=target_bank if query_bank is not None else None,
                metric=gallery.metric,
                seeds=seeds,
                **shared,
            )
    diagnosis = diagnose(gallery, bank, target_bank=target_bank, measured=comparison, seed=seed, **shared)
    source = bank_of(gallery, bank)
    trial = _less(_trial(gallery, pairs, query_bank is not None, source, seed), seed)
    shown: list[Example] = []
    with progress_bars(progress) as steps:
        found = curves(trial, wanted.corrections, float(diagnosis.auto["temperature"]), seed, steps.step)
        if wanted.examples:
            steps.step("answering the examples")
            asked = bank if queries is None else queries
            if asked is None:
                raise InputError("example", "labelled queries, or a query bank in a file", "a collection alone")
            right = None if pairs is None else pairs.relevant
            shown = examples(gallery, as_items(asked, "queries"), wanted.examples, source, right)
    return Report(gallery.name, diagnosis, comparison, found, shown, wanted.images)


def _trial(gallery: Gallery, pairs: Pairs | None, banked: bool, bank: VectorSource, seed: int) -> Trial:
    if pairs is not None:
        given = banked or (gallery.matrices is not None and gallery.matrices.bank is not None)
        return banked_trial(pairs, in_memory(bank)) if given else strict_trial(pairs, seed)
    # without labels a third of the bank measures, and the rest is the bank
    queries, targets = in_memory(bank), in_memory(gallery.targets)
    order = np.random.default_rng(seed).permutation(len(queries))
    tested = max(1, min(TESTED, len(queries) // 3))
    rows = np.sort(order[:tested])
    every = np.arange(len(targets))
    return Trial(rows, queries[rows], [], every, targets, queries[order[tested:]], None, matrices=gallery.matrices)


def _less(trial: Trial, seed: int) -> Trial:
    """Return a trial of fewer targets, those that are relevant first, and of fewer test queries."""
    rng = np.random.default_rng(seed)
    tested = np.sort(rng.permutation(len(trial.queries))[:TESTED])
    relevant = [trial.relevant[row] for row in tested] if trial.relevant else []
    wanted = np.unique(np.concatenate([*relevant, np.empty(0, np.int64)])).astype(np.int64)
    count = len(trial.targets)
    others = rng.permutation(np.setdiff1d(np.arange(count), wanted))[: max(0, MOST_TARGETS - len(wanted))]
    kept = np.sort(np.concatenate([wanted, others]))
    place = np.full(count, -1)
    place[kept] = np.arange(len(kept))
    return replace(
        trial,
        rows=trial.rows[tested],
        queries=trial.queries[tested],
        relevant=[place[rows] for rows in relevant],
        target_rows=trial.target_rows[kept],
        targets=trial.targets[kept],
        target_bank=None,
        own_rows=None,
        between=None,
        target_prior=None,
    )
