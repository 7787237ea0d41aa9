"""One list of several, such as that of words and that of vectors: each is corrected before, and then fused."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F64, check_between

RRF_CONSTANT = 60
"""Cormack et al., "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009."""


class Fused(NamedTuple):
    """A list, best first: ids, scores, and of each hit the part that each list has in its score; 0 where it is not."""

    ids: list[Any]
    scores: list[float]
    parts: list[list[float]]


def _min_max(scores: F64) -> F64:
    return _above_last(scores, float(np.ptp(scores)))


def _z(scores: F64) -> F64:
    return _above_last(scores, float(scores.std()))


def _above_last(scores: F64, unit: float) -> F64:
    """Return how many units scores are above the last; 1 where all are equal, as of one hit: it was found."""
    return (scores - scores.min()) / unit if unit else np.ones_like(scores)


def _rrf(scores: F64) -> F64:
    places: F64 = 1.0 / (RRF_CONSTANT + 1 + np.arange(len(scores)))
    return places


FUSIONS: Mapping[str, Callable[[F64], F64]] = {"min_max": _min_max, "z": _z, "rrf": _rrf}
"""How scores of a list become parts: from 0 to 1; in standard deviations above the last, of both 1 where all scores are
equal; 1/(60 + rank)."""


def fuse(
    lists: Sequence[Any], *, weights: Sequence[float] | None = None, by: str = "min_max", limit: int | None = None
) -> Fused:
    """Return one list by the weighted sum of the parts, ties by the first list that has the item.

    `lists`: what `ScoreCorrection.rerank` returns, or pairs of ids and scores, each best first; lower may be better.
    Raises `InputError` with the list and what is wrong.
    """
    if by not in FUSIONS:
        raise InputError("by", f"one of {', '.join(FUSIONS)}", by)
    given = [1.0] * len(lists) if weights is None else list(weights)
    if len(given) != len(lists):
        raise InputError("weights", f"{len(lists)} numbers, one for each list", len(given))
    parts = list[dict[Any, float]]()
    total: dict[Any, float] = {}
    for number, (each, weight) in enumerate(zip(lists, given, strict=True)):
        check_between(f"weights[{number}]", weight, 0, float("inf"))
        ids, scores = each[0], np.asarray(each[1], np.float64)
        if len(ids) != len(scores) or not np.isfinite(scores).all():
            received = f"{len(ids)} ids, {len(scores)} scores"
            raise InputError(f"lists[{number}]", "ids and as many finite scores", received)
        if not len(scores):
            parts.append({})
            continue
        upward = -scores if scores[-1] > scores[0] else scores
        of_list = dict(zip(ids, (weight * FUSIONS[by](upward)).tolist(), strict=True))
        parts.append(of_list)
        for id_, part in of_list.items():
            total[id_] = total.get(id_, 0.0) + part
    best = sorted(total, key=total.__getitem__, reverse=True)[:limit]
    return Fused(best, [total[id_] for id_ in best], [[each.get(id_, 0.0) for each in parts] for id_ in best])
