"""Queries as they are asked of a version: the steps from their ranking to results."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.measures.confidence.assessment import Assessment
from hubless.measures.labelled_answers import DEPTH
from hubless.search.matches import Matches
from hubless.search.parts import Parts
from hubless.search.ranker import Ranked, Ranker
from hubless.search.results import RAW_DEPTH, Explanation, Results, Rows
from hubless.search.selection import Selection
from hubless.vectors.arrays import F32, I64


@dataclass(slots=True)
class Question:
    """Checked queries (m, d), and how a version is searched for them: `limit` hits each, after the first `skip`."""

    parts: Parts
    ranker: Ranker
    queries: F32
    strength: float
    parameters: Mapping[str, Any]
    matches: Matches | None
    skip: int
    limit: int

    def results(
        self,
        selection: Selection | None,
        take: Callable[[Rows], list[dict[str, Any] | None]] | None,
        *,
        explain: bool,
    ) -> Results:
        """Return the hits: the first of the ranking, or a selection of them. `take` gives the payload of some rows."""
        skip = self.skip
        stop = self.skip + self.limit
        ranker = self.ranker
        matches = self.matches
        most = ranker.count if matches is None else ranker.room(matches)
        if selection is None:
            # always so deep, so that no ranking depends on the model of confidence
            ranked = ranker.rank(self.queries, min(stop, most), self.strength, self.parameters, matches, DEPTH)
            best = ranker.folded_scores(ranked, self.strength)
        else:
            ranked, best = selection.choose(self._part, len(self.queries), min(stop, most), most)
        explanations = self._explanations(ranked, most) if explain else None
        near = ranked.similarities[:, :1]
        if skip or ranked.rows.shape[1] > self.limit:
            ranked = ranked.part(skip, stop)
        # a line with fewer groups than others ends in rows of −1
        found = ranked.rows if selection is None else [line[line >= 0] for line in ranked.rows]
        payload = None if take is None else [take(line) for line in found]
        of_hits = [self.parts.ids.ids(line) for line in found]
        return Results(ranked, of_hits, self.strength, explanations, payload, self._assessed(ranked, best, near))

    def _part(self, lines: I64, depth: int) -> tuple[Ranked, F32]:
        """Return the best so many targets of some queries, and their folded scores."""
        ranker = self.ranker.of(lines)
        found = ranker.rank(self.queries[lines], depth, self.strength, self.parameters, self.matches, DEPTH)
        return found, ranker.folded_scores(found, self.strength)

    def _explanations(self, ranked: Ranked, most: int) -> list[list[Explanation]]:
        stop = self.skip + self.limit
        raw = self.ranker.rank(self.queries, min(max(RAW_DEPTH, stop), most), 0.0, self.parameters, self.matches)
        occurrence = self.parts.occurrence()
        return [
            _explanations(line[line >= 0], before, occurrence, self.strength)[self.skip : stop]
            for line, before in zip(ranked.rows, raw.rows, strict=True)
        ]

    def _assessed(self, ranked: Ranked, best: F32, near: F32) -> Assessment | None:
        if self.parts.cut is None:
            return None
        scores = ranked.scores
        if not self.ranker.is_folded:  # no hit has more than the one before, though a rescorer turned them
            scores = np.minimum.accumulate(self.ranker.folded_scores(ranked, self.strength), axis=1)
        return self.parts.cut.assess(self.queries, best, near, scores, self.strength)


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
