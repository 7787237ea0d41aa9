"""Chooses search parameters by measurement: the cheapest that reach the recall."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from hubless.knn.aims import Aims
from hubless.knn.base import SearchParameters
from hubless.knn.exhaustive import openmp_threads
from hubless.vectors.arrays import F32, F64, I64

Search: TypeAlias = Callable[[F32, int, SearchParameters], tuple[F32, I64]]

TIMED_QUERIES = 30
SCORE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Setting:
    """Search parameters with their recall of the exact top 10, and the median time of a single query on one thread.

    `error` is the standard error of the recall over the queries.
    """

    parameters: dict[str, Any]
    recall: float
    latency_ms: float
    error: float = 0.0


def recall_curve(search: Search, tried: Iterable[dict[str, Any]], queries: F32, exact_scores: F32) -> list[Setting]:
    """Measure settings for augmented queries, from the cheapest on, until two in a row find everything."""
    curve: list[Setting] = []
    for parameters in tried:
        scores, _ = search(queries, exact_scores.shape[1], parameters)
        latency = _latency(search, queries[:TIMED_QUERIES], exact_scores.shape[1], parameters)
        found = _found(scores, exact_scores)
        error = float(found.std() / np.sqrt(len(found)))
        curve.append(Setting(parameters, float(found.mean()), latency, error))
        if all(setting.recall == 1 for setting in curve[-2:]) and len(curve) > 1:
            break
    return curve


def cheapest_setting(curve: Sequence[Setting], aims: Aims) -> Setting:
    """Return the first setting, in order of cost, that reaches the recall; else the one with the highest recall.

    It has to reach it by a standard error more: the first that seems to would miss it on other queries half the time.
    """
    reaching = [setting for setting in curve if setting.recall - setting.error >= aims.recall]
    return reaching[0] if reaching else max(curve, key=lambda setting: setting.recall)


def agreement(scores: F32, exact_scores: F32) -> float:
    """Return the recall by scores (m, k): the share of found targets that score as high as the last exact one."""
    return float(_found(scores, exact_scores).mean())


def _found(scores: F32, exact_scores: F32) -> F64:
    """Return the recall of each query (m,)."""
    tolerance = SCORE_TOLERANCE * np.maximum(1.0, np.abs(exact_scores[:, -1:]))
    found: F64 = np.mean(scores >= exact_scores[:, -1:] - tolerance, axis=1)
    return found


def _latency(search: Search, queries: F32, k: int, parameters: dict[str, Any]) -> float:
    times = []
    with openmp_threads(1):
        for query in queries:
            start = perf_counter()
            search(query[np.newaxis], k, parameters)
            times.append(perf_counter() - start)
    return 1000 * float(np.median(times))
