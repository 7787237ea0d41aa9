"""The model of confidence of a version: fitted on bank queries, calibrated by labelled pairs."""

import numpy as np

from hubless.corrections import Gate
from hubless.measures.confidence.labels import LabelledPairs
from hubless.measures.confidence.model import DEPTH, Answers, ConfidenceModel, fit_confidence
from hubless.search.ranker import Ranker
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import VectorSource, in_memory, sample

MOST_FITTED, MOST_RESCORED = 1000, 200
"""So many bank queries are asked at most, as more fit hardly better; of a rescorer, which is slow, fewer."""
_BLOCK = 256
_MOST_RELEVANT = 100
"""Right targets of a query that are left out to see its answer without them."""


def confidence_of(
    ranker: Ranker, bank: VectorSource, pairs: LabelledPairs | None, strength: float, before: ConfidenceModel | None
) -> ConfidenceModel:
    """Fit the model on at most 1,000 bank queries (b, d)."""
    rescored = ranker.query_time is not None and not isinstance(ranker.query_time, Gate)
    queries = in_memory(sample(bank, MOST_RESCORED if rescored else MOST_FITTED))
    depth = min(DEPTH, ranker.count)
    raw, full = (_ranked(ranker, queries, depth, each)[0] for each in (0.0, 1.0))
    model = fit_confidence(queries, raw, full)
    if pairs is not None:
        return model.calibrate(answers_of(ranker, pairs, strength), strength)
    return model if before is None else model.with_calibration(before)


def answers_of(ranker: Ranker, pairs: LabelledPairs, strength: float) -> Answers:
    """Ask the queries of labelled pairs."""
    most = min(_MOST_RELEVANT, max(map(len, pairs.relevant)))
    scores, rows = _ranked(ranker, pairs.queries, min(DEPTH + most, ranker.count), strength)
    return Answers.of(pairs.queries, scores, rows, pairs.relevant)


def _ranked(ranker: Ranker, queries: F32, depth: int, strength: float) -> tuple[F32, I64]:
    found = [ranker.rank(queries[at : at + _BLOCK], depth, strength, {}) for at in range(0, len(queries), _BLOCK)]
    scores = [ranker.folded_scores(each, strength) for each in found]
    return np.concatenate(scores), np.concatenate([each.rows for each in found])
