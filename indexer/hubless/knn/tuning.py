"""Search parameters by measurement: the cheapest that reach the recall."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import faiss
import numpy as np

from hubless.arrays import F32
from hubless.knn.aims import Aims
from hubless.knn.base import IndexType, openmp_threads

TIMED_QUERIES = 30
SCORE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Setting:
    """Search parameters, and what was measured with them.

    Parameters
    ----------
    recall : share of the exact top 10 that is found
    latency_ms : median time of a single query on one thread
    """

    parameters: dict[str, Any]
    recall: float
    latency_ms: float


def measure(kind: IndexType, index: faiss.Index, queries: F32, exact_scores: F32) -> list[Setting]:
    """Recall and latency with each of the kind's settings, from the cheapest on, until all is found twice.

    Parameters
    ----------
    queries : (m, d') augmented
    exact_scores : (m, k) of exact search in the stored vectors, best first
    """
    curve: list[Setting] = []
    for parameters in kind.ladder(index.ntotal):
        scores, _ = kind.search(index, queries, exact_scores.shape[1], parameters)
        latency = _latency(kind, index, queries[:TIMED_QUERIES], exact_scores.shape[1], parameters)
        curve.append(Setting(parameters, agreement(scores, exact_scores), latency))
        if all(setting.recall == 1 for setting in curve[-2:]) and len(curve) > 1:
            break
    return curve


def choose(curve: Sequence[Setting], aims: Aims) -> Setting:
    """The cheapest setting that reaches the recall, or if none does, the one with the highest.

    Cheap is what comes early: measured latencies would make it a matter of chance.
    """
    reaching = [setting for setting in curve if setting.recall >= aims.recall]
    return reaching[0] if reaching else max(curve, key=lambda setting: setting.recall)


def agreement(scores: F32, exact_scores: F32) -> float:
    """Recall against exact search, by scores: the share of the found that score as high as the exact last one.

    So that of equal targets, duplicates for instance, any will do.

    Parameters
    ----------
    scores : (m, k) as found
    exact_scores : (m, k) of exact search, best first
    """
    tolerance = SCORE_TOLERANCE * np.maximum(1.0, np.abs(exact_scores[:, -1:]))
    return float(np.mean(scores >= exact_scores[:, -1:] - tolerance))


def _latency(kind: IndexType, index: faiss.Index, queries: F32, k: int, parameters: dict[str, Any]) -> float:
    times = []
    with openmp_threads(1):
        for query in queries:
            start = perf_counter()
            kind.search(index, query[np.newaxis], k, parameters)
            times.append(perf_counter() - start)
    return 1000 * float(np.median(times))
