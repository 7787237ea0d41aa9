"""Chooses search parameters by measurement: the cheapest that reach the recall."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import thread_time
from typing import Any, TypeAlias

import numpy as np

from hubless.knn.aims import Aims
from hubless.knn.base import Found, SearchParameters
from hubless.knn.exhaustive import openmp_threads
from hubless.vectors.arrays import F32, F64

Search: TypeAlias = Callable[[F32, int, SearchParameters], Found]
Clock: TypeAlias = Callable[[], float]
"""Seconds. `thread_time` leaves out the work of others; `perf_counter` counts that of a server, too."""

TIMED_QUERIES = 30
RISEN = 1.5
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

    def reaches(self, recall: float) -> bool:
        """Return whether the recall is reached by a standard error more."""
        return self.recall - self.error >= recall


def recall_curve(
    search: Search,
    tried: Iterable[dict[str, Any]],
    queries: F32,
    exact_scores: F32,
    aim: float,
    clock: Clock = thread_time,
) -> list[Setting]:
    """Measure settings for augmented queries (m, d'), in turn; `exact_scores` (m, k) are the best of each query.

    A setting is left out if one with larger values only misses the aim, or one with smaller values only reaches it, and
    if it takes longer than one that reaches it. None comes after one that takes much longer, by a larger value.
    """
    curve: list[Setting] = []
    fastest: Setting | None = None
    for parameters in tried:
        if any(_is_known(parameters, each, aim) for each in curve):
            continue
        latency = latency_of(search, queries, exact_scores.shape[1], parameters, clock)
        if fastest is not None and latency > fastest.latency_ms:
            larger = any(value > fastest.parameters[name] for name, value in parameters.items())
            if larger and latency > RISEN * fastest.latency_ms:
                break
            continue
        scores, _ = search(queries, exact_scores.shape[1], parameters)
        found = _found(scores, exact_scores)
        error = float(found.std() / np.sqrt(len(found)))
        curve.append(Setting(parameters, float(found.mean()), latency, error))
        fastest = curve[-1] if curve[-1].reaches(aim) else fastest
    return curve


def _is_known(parameters: SearchParameters, measured: Setting, aim: float) -> bool:
    """Return whether it is known from a measured setting that these parameters miss the aim, or reach it for more."""
    pairs = [(value, measured.parameters[name]) for name, value in parameters.items()]
    return all(new >= old for new, old in pairs) if measured.reaches(aim) else all(new <= old for new, old in pairs)


def cheapest_setting(curve: Sequence[Setting], aims: Aims) -> Setting:
    """Return the fastest setting that reaches the recall; else the one with the highest recall.

    It has to reach it by a standard error more: one that seems to would miss it on other queries half the time. Of
    settings with larger values only, none is the fastest: that would be chance.
    """
    reaching = [each for each in curve if each.reaches(aims.recall)]
    cheap = [
        each
        for each in reaching
        if not any(_is_known(each.parameters, other, aims.recall) for other in reaching if other is not each)
    ]
    if not cheap:
        return max(curve, key=lambda setting: setting.recall)
    return min(cheap, key=lambda setting: setting.latency_ms)


def agreement(scores: F32, exact_scores: F32) -> float:
    """Return the recall by scores (m, k): the share of found targets that score as high as the last exact one."""
    return float(_found(scores, exact_scores).mean())


def _found(scores: F32, exact_scores: F32) -> F64:
    """Return the recall of each query (m,)."""
    tolerance = SCORE_TOLERANCE * np.maximum(1.0, np.abs(exact_scores[:, -1:]))
    found: F64 = np.mean(scores >= exact_scores[:, -1:] - tolerance, axis=1)
    return found


def latency_of(search: Search, queries: F32, k: int, parameters: SearchParameters, clock: Clock = thread_time) -> float:
    """Return the median time of a single query on one thread, in milliseconds."""
    times = []
    with openmp_threads(1):
        for query in queries[:TIMED_QUERIES]:
            start = clock()
            search(query[np.newaxis], k, parameters)
            times.append(clock() - start)
    return 1000 * float(np.median(times))
