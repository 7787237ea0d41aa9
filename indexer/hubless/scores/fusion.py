"""One list of several, such as that of words and that of vectors: each is corrected before, and then fused."""

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hubless.errors import InputError
from hubless.measures.plain_ids import hit_like, plain_ids
from hubless.vectors.arrays import check_between

Scores: TypeAlias = list[float]
RRF_CONSTANT = 60
"""Cormack et al., "Reciprocal Rank Fusion outperforms Condorcet", SIGIR 2009."""


class Fused(NamedTuple):
    """A list, best first: ids, scores, and of each hit the part that each list has in its score; 0 where it is not."""

    ids: list[Any]
    scores: list[float]
    parts: list[list[float]]


def _above_last(scores: Scores, unit: float) -> Scores:
    """Return how many units scores are above the last; 1 where all are equal, as of one hit: it was found."""
    last = min(scores)
    return [(score - last) / unit for score in scores] if unit else [1.0] * len(scores)


FUSIONS: Mapping[str, Callable[[Scores], Scores]] = {
    "min_max": lambda scores: _above_last(scores, max(scores) - min(scores)),
    "z": lambda scores: _above_last(scores, float(np.std(scores))),
    "rrf": lambda scores: [1.0 / (RRF_CONSTANT + rank) for rank in range(1, len(scores) + 1)],
}
"""How scores of a list become parts: from 0 to 1; in standard deviations above the last, of both 1 where all scores are
equal; 1/(60 + rank)."""


def fuse(
    lists: Sequence[Any], *, weights: Sequence[float] | None = None, by: str = "min_max", limit: int | None = None
) -> Fused:
    """Return one list by the weighted sum of the parts, ties by the first list that has the item.

    `lists`: what `ScoreCorrection.rerank` returns, or pairs of ids and scores, each best first; lower may be better.
    Raises `InputError` with the list and what is wrong, such as ids of another type than those of the first.
    """
    if by not in FUSIONS:
        raise InputError("by", f"one of {', '.join(FUSIONS)}", by)
    given = [1.0] * len(lists) if weights is None else list(weights)
    if len(given) != len(lists):
        raise InputError("weights", f"{len(lists)} numbers, one for each list", len(given))
    parts: list[dict[Any, float]] = []
    total: dict[Any, float] = {}
    before = total.get
    for number, (ids, each, weight) in enumerate(zip(_of_one_type(lists), lists, given, strict=True)):
        check_between(f"weights[{number}]", weight, 0, float("inf"))
        of_list = _parts(ids, each[1], weight, FUSIONS[by], f"lists[{number}]")
        parts.append(of_list)
        total.update({id_: before(id_, 0.0) + part for id_, part in of_list.items()})
    best = sorted(total, key=total.__getitem__, reverse=True)[:limit]
    return Fused(best, [total[id_] for id_ in best], [[each.get(id_, 0.0) for each in parts] for id_ in best])


def _of_one_type(lists: Sequence[Any]) -> list[Any]:
    """Return the ids of each list, so that those of all lists can be equal. Raises `InputError`."""
    every = [each[0] for each in lists]
    if len({type(id_) for ids in every for id_ in ids}) < 2:
        return every
    like = hit_like(next(id_ for ids in every for id_ in ids))
    return [plain_ids(ids, *like, f"lists[{number}].ids") for number, ids in enumerate(every)]


def _parts(ids: Any, given: Any, weight: float, fusion: Callable[[Scores], Scores], name: str) -> dict[Any, float]:
    """Return the weighted part of each item of a list."""
    scores = list(map(float, given))  # NumPy takes longer for so few
    if len(ids) != len(scores) or not all(map(isfinite, scores)):
        raise InputError(name, "ids and as many finite scores", f"{len(ids)} ids, {len(scores)} scores")
    upward = [-score for score in scores] if scores and scores[-1] > scores[0] else scores
    values = fusion(upward) if upward else []
    return dict(zip(ids, values if weight == 1 else [weight * value for value in values], strict=True))
