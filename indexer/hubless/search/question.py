"""The answer to queries: the steps from their ranking to results."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice, repeat
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hubless.measures.labelled_answers import DEPTH
from hubless.search.parts import Parts
from hubless.search.ranker import Question
from hubless.search.results import RAW_DEPTH, Explanation, Results, Rows
from hubless.search.selection import Selection
from hubless.vectors.arrays import I64

_Value = TypeVar("_Value")


def answered(
    parts: Parts,
    asked: Question,
    skip: int,
    limit: int,
    selection: Selection | None,
    take: Callable[[Rows], list[dict[str, Any] | None]] | None,
    *,
    explain: bool,
) -> Results:
    """Return `limit` hits of each query after the first `skip`, of the ranking or of a selection.

    `take` gives the payload of some rows.
    """
    ranker = parts.ranker
    strength = asked.strength
    stop = skip + limit
    most = ranker.room(asked)
    if selection is None:
        # always so deep, so that no ranking depends on whether there is a cut
        ranked = ranker.rank(asked, min(stop, most), min(DEPTH, most))
        best = ranker.folded_scores(ranked, strength)
    else:
        ranked, best = selection.choose(asked, min(stop, most), most)
    explanations = None
    if explain:
        raw = ranker.rank(asked._replace(strength=0.0), min(max(RAW_DEPTH, stop), most))
        explanations = [
            _explanations(line[line >= 0], before, parts.occurrence(), strength)[skip:stop]
            for line, before in zip(ranked.rows, raw.rows, strict=True)
        ]
    near = ranked.similarities[:, :1]
    ranked = ranked.part(skip, stop)
    rows = ranked.rows.ravel()
    counts = [ranked.rows.shape[1]] * len(ranked.rows)
    if selection is not None:  # a line with fewer groups than others ends in rows of −1
        rows, counts = rows[rows >= 0], np.count_nonzero(ranked.rows >= 0, axis=1).tolist()
    assessed = None
    if parts.cut is not None:
        scores = ranked.scores
        if not ranker.is_folded:  # no hit has more than the one before, though a rescorer turned them
            scores = np.minimum.accumulate(ranker.folded_scores(ranked, strength), axis=1)
        assessed = parts.cut.assess(asked.queries, best, near, scores, strength)
    payload = None if take is None else _lines(take(rows), counts)
    return Results(*ranked, _lines(parts.targets.ids.ids(rows), counts), strength, explanations, payload, assessed)


def _lines(values: Iterable[_Value], counts: Sequence[int]) -> list[list[_Value]]:
    """Cut the values of all queries into those of each."""
    return [*map(list, map(islice, repeat(iter(values)), counts))]


def _explanations(
    rows: I64, raw: I64, occurrence: NDArray[np.integer[Any]] | None, strength: float
) -> list[Explanation]:
    """Of one query's hits (k,), with the rows (depth,) of the raw ranking."""
    raw_ranks = {row: rank for rank, row in enumerate(raw.tolist(), 1)}
    before, after = np.full((2, len(rows)), -1).tolist() if occurrence is None else occurrence[:, rows].tolist()
    return [
        Explanation(rank, raw_ranks.get(row), _known(corrected), _known(uncorrected), strength)
        for rank, (row, corrected, uncorrected) in enumerate(zip(rows.tolist(), after, before, strict=True), 1)
    ]


def _known(occurrence: int) -> int | None:
    return None if occurrence < 0 else occurrence
