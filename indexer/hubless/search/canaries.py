"""Canary queries: held-out bank queries with their exact answers. A version is asked them to prove that it is whole."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.errors import BundleDamaged
from hubless.knn.augment import folded_queries
from hubless.knn.tuning import SCORE_TOLERANCE, agreement
from hubless.search.ranker import Question, Ranker
from hubless.search.segments.targets import Targets
from hubless.store.bundle import reading
from hubless.vectors.arrays import F32, F64, I64

Canary = Mapping[str, NDArray[Any]]
"""Canary queries and their answers, as plain arrays."""
CANARIES = 16
_SAME_ANSWERS = 0.9
"""Share of equal scores. Not 1, as the rank among a bank can jump where two similarities differ by rounding only."""


def ask(ranker: Ranker, queries: F32, best: I64) -> Canary:
    """Return the first of some queries (m, d), their best rows (m, k) with scores, and the recall of the index on them.

    Where a gate or a rescorer changes the scores of the index, the final scores come too.
    """
    canaries = queries[:CANARIES]
    targets = ranker.targets
    k = best.shape[1]
    augmented = folded_queries(canaries, 1.0)
    if targets.compares_all:
        scores, rows = targets.find(augmented, k, None, None)
    else:
        rows = best[:CANARIES]
        scores = stored_scores(targets, canaries, rows)
    found, _ = targets.find(augmented, k, targets.defaults, None)
    arrays: dict[str, NDArray[Any]] = {
        "queries": canaries,
        "rows": rows,
        "scores": scores,
        "recall": np.array(agreement(found, scores)),
    }
    if not ranker.is_folded:
        arrays["answers"] = ranker.rank(Question(canaries, 1.0), k).scores
    return arrays


def stored_scores(targets: Targets, queries: F32, rows: I64) -> F32:
    """Scores (m, k) of some rows (m, k) of each query, by the stored vectors and offsets."""
    stored = targets.vectors(rows.ravel()).reshape(*rows.shape, queries.shape[1])
    scores: F32 = np.einsum("md,mkd->mk", queries, stored) - targets.offsets(rows)
    return scores


def above(scores: F32, expected: F32) -> F64:
    """Return how far scores are above those that are expected, as a part of these where they are above 1."""
    distances: F64 = (scores.astype(np.float64) - expected) / np.maximum(1.0, np.abs(expected))
    return distances


def check(canary: Canary, path: Path, built: Targets, ranker: Ranker | None) -> None:
    """Ask the canary queries in a file, and compare with the stored answers of the targets as they were built.

    A ranker of the same targets is asked, too, where a gate or a rescorer answers.
    """
    with reading(path):
        queries = canary["queries"]
        expected_rows = canary["rows"]
        expected_scores = canary["scores"]
        expected_recall = float(canary["recall"])
        answers = canary.get("answers")
    if not len(queries):  # of a version that was empty when it was made
        return
    scores = stored_scores(built, queries, expected_rows)
    if (wrong := np.abs(above(scores, expected_scores)) > SCORE_TOLERANCE).any():
        line, place = np.argwhere(wrong)[0]
        problem = (
            f"canary query {line} gives row {expected_rows[line, place]} the score {scores[line, place]:.6g}, "
            f"and gave it {expected_scores[line, place]:.6g} when built"
        )
        raise BundleDamaged(path, problem)
    found, _ = built.find(folded_queries(queries, 1.0), expected_scores.shape[1], built.defaults, None)
    if (above(found, expected_scores) > SCORE_TOLERANCE).any():
        raise BundleDamaged(path, "canary queries find targets that were not there when it was built")
    recall = agreement(found, expected_scores)
    if recall < expected_recall - SCORE_TOLERANCE:
        problem = f"canary queries reach a recall of {recall:.3f}, and reached {expected_recall:.3f} when built"
        raise BundleDamaged(path, problem)
    if answers is not None and ranker is not None:
        answered = ranker.rank(Question(queries, 1.0), answers.shape[1]).scores
        same = np.mean(np.abs(above(answered, answers)) <= SCORE_TOLERANCE)
        if same < _SAME_ANSWERS:
            problem = f"{100 * (1 - same):.0f} % of the canary queries' answers score otherwise than when it was built"
            raise BundleDamaged(path, problem)
