"""Confidence, and the default strength, by labelled queries that a collection was not fitted on."""

from typing import Any

import numpy as np

from hubless.builder.banks.default_strength import asking, judged, unlabelled_strength
from hubless.builder.pipeline.survey import MOST_RESCORED, Survey
from hubless.errors import InputError
from hubless.measures.confidence.cut import Cut, fit_confidence
from hubless.measures.labelled_answers import DEPTH, Answers
from hubless.measures.labelled_pairs import MOST_PAIRS, LabelledPairs, calibrating_rows
from hubless.measures.labels import KnownItems, Labels, known_queries
from hubless.progress import Steps
from hubless.search.collection import Collection
from hubless.search.older_cuts import lasting_cut
from hubless.search.parts import Parts
from hubless.search.ranker import Question, Ranker
from hubless.store.bundle import DecidedStrength
from hubless.vectors.arrays import F32, I64, Flags
from hubless.vectors.files import Vectors, as_items
from hubless.vectors.sources import VectorSource, in_memory, sample

MOST_FITTED = 1000
"""So many bank queries are asked at most, as more fit confidence hardly better."""
_BLOCK = 256
_MOST_RELEVANT = 100
"""Right targets of a query that are left out to see its answer without them. So deep are right ones looked for."""


def told_by_labels(parts: Parts, queries: Vectors, relevant: Labels) -> dict[str, Any]:
    """Return the model of confidence and the strength of a collection, as labelled queries tell them.

    `queries` (p, d) and `relevant` are as for `Index.calibrate`, as are errors.
    """
    if parts.cut is None:
        raise InputError("index", "one with a model of confidence; build it with a query bank", "one without")
    items = as_items(queries, "queries")
    asked = Collection(parts).prepare(in_memory(items.vectors), "queries")
    rows = calibrating_rows(relevant, KnownItems(len(parts.targets), parts.ids), known_queries(items))
    labelled = [(query, right) for query, right in enumerate(rows) if right is not None][:MOST_PAIRS]
    pairs = LabelledPairs(asked[[query for query, _ in labelled]], [right for _, right in labelled])
    found = judged_by(unlabelled_strength(parts.manifest), parts.ranker, pairs)
    return {
        "held": {"cut": calibrated(parts.cut, parts.ranker, pairs, found.value)},
        "strength": found.value,
        "decided": found,
    }


def fitted_cut(
    ranker: Ranker,
    bank: VectorSource,
    pairs: LabelledPairs | None,
    strength: float,
    before: Parts | None,
    steps: Steps,
) -> Cut:
    """Fit the model on at most 1,000 bank queries (b, d), and calibrate it by labelled pairs, or as it was before."""
    steps.step("fitting the model of confidence")
    queries = in_memory(sample(bank, MOST_RESCORED if ranker.is_slow else MOST_FITTED))
    depth = min(DEPTH, ranker.count)
    raw, full = (_ranked(ranker, queries, depth, each)[:2] for each in (0.0, 1.0))
    model = fit_confidence(queries, raw, full)
    if pairs is not None:
        return calibrated(model, ranker, pairs, strength)
    return model if before is None or before.cut is None else model.with_calibration(lasting_cut(before.cut))


def judged_by(
    strength: DecidedStrength, ranker: Ranker, pairs: LabelledPairs | None, found: Survey | None = None
) -> DecidedStrength:
    """Return the strength after labelled queries have spoken, or with a note that asks for some that are not in a bank.

    `found` are answers to held-out queries of a bank.
    """
    if pairs is not None and not pairs.fitted and any(map(len, pairs.relevant)):

        def right(at: float) -> Flags:
            *_, rows = _ranked(ranker, pairs.queries, 1, at)
            return np.array([row in wanted for (row,), wanted in zip(rows, pairs.relevant, strict=True) if len(wanted)])

        return judged(strength, right)
    return strength if found is None or not ranker.is_folded else asking(strength, *found.upheaval())


def calibrated(model: Cut, ranker: Ranker, pairs: LabelledPairs, strength: float) -> Cut:
    """Ask the queries of labelled pairs, and calibrate the model by the answers."""
    found = _ranked(ranker, pairs.queries, min(DEPTH + _MOST_RELEVANT, ranker.count), strength)
    return model.calibrated_by(Answers.of(pairs.queries, *found, pairs.relevant), strength).told()


def _ranked(ranker: Ranker, queries: F32, depth: int, strength: float) -> tuple[F32, F32, I64]:
    """Return folded scores, similarities and rows (m, depth)."""
    parts = [queries[at : at + _BLOCK] for at in range(0, len(queries), _BLOCK)]
    found = [ranker.rank(Question(part, strength), depth) for part in parts]
    scores = [ranker.folded_scores(each, strength) for each in found]
    similarities, rows = ([each.similarities for each in found], [each.rows for each in found])
    return np.concatenate(scores), np.concatenate(similarities), np.concatenate(rows)
