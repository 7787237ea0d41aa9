"""A report of the lab: what diagnosis, comparison and sensitivity say of the same data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from hubless.builder.banks.bank_checks import NO_QUERIES
from hubless.errors import InputError
from hubless.lab.diagnose import diagnose, known_by_similarity, stored_bank
from hubless.lab.diagnosis import Diagnosis
from hubless.lab.experiments.compare import compare
from hubless.lab.experiments.comparison import Comparison
from hubless.lab.experiments.methods import Method
from hubless.lab.experiments.relevance import Relevant
from hubless.lab.experiments.trials import Pairs, Trial, banked_trial, open_pairs, pairs_of, strict_trial
from hubless.lab.gallery import Gallery
from hubless.lab.matrices import SimilarityMatrices
from hubless.lab.report.closeups import (
    Example,
    HeatMap,
    Projection,
    Source,
    examples,
    heat_map,
    projection,
    sources,
)
from hubless.lab.report.curves import Curves, curves
from hubless.progress import Steps, progress_bars
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import VectorSource, in_memory

MOST_TARGETS = 5000
"""Curves, heat map, projection and banks are measured on so many targets: it is the shape that counts."""
TESTED = 1000
SEEDS = 3

T = TypeVar("T")


@dataclass(frozen=True)
class Wanted:
    """What a report shows only if it is asked for.

    Parameters
    ----------
    corrections : whose curves are drawn, instead of those of `curves`; with labels they are compared, too
    heat_map, projection : whether to draw them
    examples : rows of the queries (of the bank, without labels) whose first hits are shown
    banks : other query banks by name, to compare with this one
    images : whether the page may load images that payload names
    """

    corrections: Sequence[Method] = ()
    heat_map: bool = False
    projection: bool = False
    examples: Sequence[int] = ()
    banks: Mapping[str, Vectors] = field(default_factory=dict)
    images: bool = True


@dataclass(frozen=True)
class Report:
    """All that the page shows."""

    name: str
    diagnosis: Diagnosis
    comparison: Comparison | None
    curves: Curves
    heat_map: HeatMap | None
    projection: Projection | None
    examples: list[Example]
    sources: list[Source]
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

    Raises
    ------
    InputError
        if there is neither a query bank nor labelled queries, or inputs do not fit each other.
    """
    wanted = wanted or Wanted()
    if gallery.matrices is None and (queries is None) != (relevant is None):
        given = "queries" if relevant is None else "relevant"
        raise InputError("labels", "both queries and relevant targets", f"only {given}")
    if gallery.matrices is not None and (wanted.projection or wanted.examples or wanted.banks):
        raise InputError("projection, examples and other banks", "vectors", "similarities")
    bank = query_bank if query_bank is not None or gallery.collection is not None else queries
    if bank is None and gallery.collection is None and gallery.matrices is None:
        raise InputError("query bank", f"a query bank, or labelled queries. {NO_QUERIES}", "none")
    pairs, comparison = None, None
    if relevant is not None:
        pairs = _pairs(gallery, queries, relevant)
        comparison = compare(
            _labelled(gallery, queries),
            gallery.targets if gallery.matrices is None else None,
            relevant,
            _compared(wanted.corrections),
            query_bank=query_bank,
            target_bank=target_bank if query_bank is not None else None,
            metric=gallery.metric,
            seeds=seeds,
            bank_of_targets=bank_of_targets,
            progress=progress,
        )
    diagnosis = diagnose(
        gallery,
        bank,
        target_bank=target_bank,
        measured=comparison,
        seed=seed,
        bank_of_targets=bank_of_targets,
        progress=progress,
    )
    source = _bank(gallery, bank)
    trial = _cut(_trial(gallery, pairs, query_bank, source, seed), seed)
    with progress_bars(progress) as steps:
        return Report(
            name=gallery.name,
            diagnosis=diagnosis,
            comparison=comparison,
            curves=curves(trial, wanted.corrections, float(diagnosis.auto["temperature"]), seed, steps.step),
            heat_map=_if(wanted.heat_map, heat_map, trial, seed, steps, "drawing the heat map"),
            projection=_if(wanted.projection, projection, trial, seed, steps, "projecting queries and targets"),
            examples=_examples(gallery, queries if queries is not None else bank, wanted, source, pairs, steps),
            sources=_sources(trial, wanted, gallery, steps),
            images=wanted.images,
        )


def _bank(gallery: Gallery, bank: Vectors | None) -> VectorSource:
    if gallery.matrices is not None:
        return known_by_similarity(gallery.matrices)[0]
    return stored_bank(gallery) if bank is None else gallery.queries(bank, "query bank")


def _pairs(gallery: Gallery, queries: Vectors | None, relevant: str | Path | Relevant) -> Pairs:
    if gallery.matrices is not None:
        return pairs_of(gallery.matrices, relevant)
    if queries is None:
        raise InputError("labels", "both queries and relevant targets", "only relevant")
    return open_pairs(queries, gallery.targets, relevant, gallery.metric)


def _labelled(gallery: Gallery, queries: Vectors | None) -> Vectors | SimilarityMatrices:
    """What is compared: labelled queries, or similarities in place of them."""
    if gallery.matrices is not None:
        matrices = gallery.matrices
        return SimilarityMatrices(matrices.queries, matrices.bank, matrices.target_bank, matrices.between)
    if queries is None:
        raise InputError("labels", "both queries and relevant targets", "only relevant")
    return queries


def _compared(corrections: Sequence[Method]) -> list[Method] | None:
    """What is compared with labels: raw, `auto` and the wanted, or the default ones."""
    if not corrections:
        return None
    return [Method("none"), *corrections, Method("auto")]


def _if(wanted: bool, make: Callable[[Trial, int], T], trial: Trial, seed: int, steps: Steps, said: str) -> T | None:
    if not wanted:
        return None
    steps.step(said)
    return make(trial, seed)


def _sources(trial: Trial, wanted: Wanted, gallery: Gallery, steps: Steps) -> list[Source]:
    if not wanted.banks:
        return []
    return sources(trial, wanted.banks, gallery, steps.step("comparing query banks", len(wanted.banks) + 1))


def _examples(
    gallery: Gallery,
    asked: Vectors | None,
    wanted: Wanted,
    bank: VectorSource,
    pairs: Pairs | None,
    steps: Steps,
) -> list[Example]:
    if not wanted.examples:
        return []
    if asked is None:
        raise InputError("example", "labelled queries, or a query bank in a file", "a collection alone")
    steps.step("answering the examples")
    right = None if pairs is None else pairs.relevant
    return examples(gallery, as_items(asked, "queries"), wanted.examples, bank, right)


def _trial(gallery: Gallery, pairs: Pairs | None, query_bank: Vectors | None, bank: VectorSource, seed: int) -> Trial:
    if pairs is None:
        return _unlabelled(gallery, bank, seed)
    given = query_bank is not None or (gallery.matrices is not None and gallery.matrices.bank is not None)
    return banked_trial(pairs, in_memory(bank)) if given else strict_trial(pairs, seed)


def _unlabelled(gallery: Gallery, bank: VectorSource, seed: int) -> Trial:
    """A third of the bank measures, the rest is the bank."""
    queries = in_memory(bank)
    order = np.random.default_rng(seed).permutation(len(queries))
    tested = max(1, min(TESTED, len(queries) // 3))
    targets = in_memory(gallery.targets)
    rows = np.sort(order[:tested])
    return Trial(
        rows,
        queries[rows],
        [],
        np.arange(len(targets)),
        targets,
        queries[order[tested:]],
        None,
        matrices=gallery.matrices,
    )


def _cut(trial: Trial, seed: int) -> Trial:
    """At most so many targets, those that are relevant first, and so many test queries."""
    rng = np.random.default_rng(seed)
    tested = np.sort(rng.permutation(len(trial.queries))[:TESTED])
    relevant = [trial.relevant[row] for row in tested] if trial.relevant else []
    wanted = np.unique(np.concatenate([*relevant, np.empty(0, np.int64)])).astype(np.int64)
    count = len(trial.targets)
    others = rng.permutation(np.setdiff1d(np.arange(count), wanted))[: max(0, MOST_TARGETS - len(wanted))]
    kept = np.sort(np.concatenate([wanted, others]))
    place = np.full(count, -1)
    place[kept] = np.arange(len(kept))
    return Trial(
        trial.rows[tested],
        trial.queries[tested],
        [place[rows] for rows in relevant],
        trial.target_rows[kept],
        trial.targets[kept],
        trial.query_bank,
        None,
        matrices=trial.matrices,
    )
