"""The contents of a report: diagnosis, comparison and curves on the same data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hubless.builder.banks.bank_checks import NO_QUERIES
from hubless.errors import InputError
from hubless.lab.diagnose import bank_of, check_labels, diagnose
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments.abstain import Abstention, abstain
from hubless.lab.experiments.compare import compare
from hubless.lab.experiments.comparisons import Comparison
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import Relevant
from hubless.lab.experiments.trials import Pairs, Trial, open_labelled
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
FEWEST_LABELS = 200
"""With fewer labelled queries a split has too few to measure confidence."""


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
    abstention: Abstention | None
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
    """Diagnose, compare corrections if there are labels, vary the size of the bank, and draw what is wanted.

    Without a query bank, labelled queries are the bank of the diagnosis, and split strictly for what is compared.
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
    given, comparison, abstention = None, None, None
    asked = queries if matrices is None else SimilarityMatrices(**vars(matrices))
    if relevant is not None and asked is not None:
        given = open_labelled(
            asked,
            gallery.targets if matrices is None else None,
            relevant,
            query_bank=query_bank,
            target_bank=target_bank if query_bank is not None else None,
            metric=gallery.metric if matrices is None else None,
            bank_of_targets=bank_of_targets,
        )
        compared = [Method("none"), *wanted.corrections, Method("auto")] if wanted.corrections else None
        comparison = compare(given, corrections=compared, seeds=seeds, progress=progress)
        if matrices is None and len(given.pairs.answerable) >= FEWEST_LABELS:
            abstention = abstain(given, seeds=seeds, progress=progress)
    diagnosis = diagnose(gallery, bank, target_bank=target_bank, measured=comparison, seed=seed, **shared)
    source = bank_of(gallery, bank)
    trial = _less(_without_labels(gallery, source, seed) if given is None else next(given.trials(1)), seed)
    shown: list[Example] = []
    with progress_bars(progress) as steps:
        found = curves(trial, wanted.corrections, seed, steps.step)
        if wanted.examples:
            steps.step("answering the examples")
            searched = bank if queries is None else queries
            if searched is None:
                raise InputError("example", "labelled queries, or a query bank in a file", "a collection alone")
            right = None if given is None else given.pairs.relevant
            shown = examples(gallery, as_items(searched, "queries"), wanted.examples, source, right)
    return Report(gallery.name, diagnosis, comparison, abstention, found, shown, wanted.images)


def _without_labels(gallery: Gallery, bank: VectorSource, seed: int) -> Trial:
    """Return a trial in which a third of the bank measures; the rest is the bank."""
    queries, targets = in_memory(bank), in_memory(gallery.targets)
    order = np.random.default_rng(seed).permutation(len(queries))
    tested = max(1, min(TESTED, len(queries) // 3))
    return Trial(
        pairs=Pairs(queries, targets, [], gallery.matrices),
        rows=np.sort(order[:tested]),
        target_rows=np.arange(len(targets)),
        query_bank=queries[order[tested:]],
    )


def _less(trial: Trial, seed: int) -> Trial:
    """Return a trial of fewer targets, those that are relevant first, and of fewer test queries."""
    rng = np.random.default_rng(seed)
    tested = np.sort(rng.permutation(len(trial.rows))[:TESTED])
    relevant = [trial.relevant[row] for row in tested] if trial.relevant else []
    wanted = np.unique(np.concatenate([*relevant, np.empty(0, np.int64)])).astype(np.int64)
    others = rng.permutation(np.setdiff1d(np.arange(len(trial.targets)), wanted))
    kept = np.sort(np.concatenate([wanted, others[: max(0, MOST_TARGETS - len(wanted))]]))
    rows, target_rows = trial.rows[tested], trial.target_rows[kept]
    return replace(trial, rows=rows, target_rows=target_rows, target_bank=None, between=None)
