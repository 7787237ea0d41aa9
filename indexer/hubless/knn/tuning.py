"""Chooses search parameters by measurement: the cheapest that reach the recall."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from hubless.knn.aims import Aims
from hubless.knn.base import SearchParameters
from hubless.knn.exhaustive import openmp_threads
from hubless.vectors.arrays import F32, I64

Search: TypeAlias = Callable[[F32, int, SearchParameters], tuple[F32, I64]]

TIMED_QUERIES = 30
SCORE_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Setting:
    """Search parameters with their recall of the exact top 10, and the median time of a single query on one thread."""

    parameters: dict[str, Any]
    recall: float
    latency_ms: float


def recall_curve(search: Search, tried: Iterable[dict[str, Any]], queries: F32, exact_scores: F32) -> list[Setting]:
    """Measure settings for augmented queries, from the cheapest on, until two in a row find everything."""
    curve: list[Setting] = []
    for parameters in tried:
        scores, _ = search(queries, exact_scores.shape[1], parameters)
        latency = _latency(search, queries[:TIMED_QUERIES], exact_scores.shape[1], parameters)
        curve.append(Setting(parameters, agreement(scores, exact_scores), latency))
        if all(setting.recall == 1 for setting in curve[-2:]) and len(curve) > 1:
            break
    return curve


def cheapest_setting(curve: Sequence[Setting], aims: Aims) -> Setting:
    """Return the first setting, in order of cost, that reaches the recall; else the one with the highest recall."""
    reaching = [setting for setting in curve if setting.recall >= aims.recall]
    return reaching[0] if reaching else max(curve, key=lambda setting: setting.recall)


def agreement(scores: F32, exact_scores: F32) -> float:
    """Return the recall by scores (m, k): the share of found targets that score as high as the last exact one."""
    tolerance = SCORE_TOLERANCE * np.maximum(1.0, np.abs(exact_scores[:, -1:]))
    return float(np.mean(scores >= exact_scores[:, -1:] - tolerance))


def _latency(search: Search, queries: F32, k: int, parameters: dict[str, Any]) -> float:
    times = []
    with openmp_threads(1):
        for query in queries:
            start = perf_counter()
            search(query[np.newaxis], k, parameters)
            times.append(perf_counter() - start)
    return 1000 * float(np.median(times))
