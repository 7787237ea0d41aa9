"""Canary queries: held-out bank queries with their exact answers, by which a version proves itself when opened."""

from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32
from hubless.augment import augment_queries
from hubless.bundle import read_arrays, reading
from hubless.errors import BundleDamaged
from hubless.knn import SCORE_TOLERANCE, IndexType, SearchParameters, agreement
from hubless.ranking import Ranker

CANARIES = 16
_SAME_ANSWERS = 0.9
"""A rank among a bank can jump where two similarities are one but for rounding."""


def write(
    path: Path,
    queries: F32,
    k: int,
    kind: IndexType,
    index: faiss.Index,
    pivot: F32 | None,
    parameters: SearchParameters,
    answers: F32 | None,
) -> None:
    """Store the first of some queries with what an exact search of the index finds, and how much of it a search does.

    Parameters
    ----------
    queries : (m, d), prepared
    k : hits of each
    answers : the final scores (m, k), where a gate or a rescorer makes these others than the index's
    """
    canaries = queries[:CANARIES]
    augmented = augment_queries(canaries, 1.0, pivot)
    scores, rows = kind.exact(index, augmented, k)
    found, _ = kind.search(index, augmented, k, parameters)
    arrays: dict[str, NDArray[Any]] = {
        "queries": canaries,
        "rows": rows,
        "scores": scores,
        "recall": np.array(agreement(found, scores)),
    }
    if answers is not None:
        arrays["answers"] = answers[:CANARIES]
    np.savez(path, allow_pickle=False, **arrays)


def check(path: Path, ranker: Ranker, offsets: F32) -> None:
    """Ask the canary queries, and compare with what was stored.

    Parameters
    ----------
    offsets : (n,) of all targets

    Raises
    ------
    BundleDamaged
        if they are not found as well as then, or with other scores.
    """
    canary = read_arrays(path)
    with reading(path):
        queries, expected_rows = canary["queries"], canary["rows"]
        expected_scores, expected_recall = canary["scores"], float(canary["recall"])
        answers = canary.get("answers")
    tolerance = SCORE_TOLERANCE * np.maximum(1.0, np.abs(expected_scores))
    stored = ranker.vectors(expected_rows.ravel()).reshape(*expected_rows.shape, queries.shape[1])
    scores = np.einsum("md,mkd->mk", queries, stored) - offsets[expected_rows]
    if (wrong := np.abs(scores - expected_scores) > tolerance).any():
        line, place = np.argwhere(wrong)[0]
        problem = (
            f"canary query {line} gives row {expected_rows[line, place]} the score {scores[line, place]:.6g}, "
            f"and gave it {expected_scores[line, place]:.6g} when built"
        )
        raise BundleDamaged(path, problem)
    found = ranker.folded(queries, expected_scores.shape[1]).scores
    if (found > expected_scores + tolerance).any():
        raise BundleDamaged(path, "canary queries find targets that were not there when it was built")
    recall = agreement(found, expected_scores)
    if recall < expected_recall - SCORE_TOLERANCE:
        problem = f"canary queries reach a recall of {recall:.3f}, and reached {expected_recall:.3f} when built"
        raise BundleDamaged(path, problem)
    if answers is not None:
        answered = ranker.rank(queries, answers.shape[1], 1.0, {}).scores
        same = np.mean(np.abs(answered - answers) <= SCORE_TOLERANCE * np.maximum(1.0, np.abs(answers)))
        if same < _SAME_ANSWERS:
            problem = f"{1 - same:.0%} of the canary queries' answers have other scores than when it was built"
            raise BundleDamaged(path, problem)
