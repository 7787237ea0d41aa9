"""The search path: queries → index → candidates → gate or rescorer → the best k. Arrays in, arrays out."""

from collections.abc import Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import Gate, QueryTime
from hubless.corrections.query_time import CANDIDATES, Candidates, Rescorer, Switch, drop, rescore
from hubless.errors import InputError
from hubless.knn.augment import folded_queries
from hubless.search.engines.base import How
from hubless.search.segments.matches import Matches
from hubless.search.segments.targets import Targets
from hubless.vectors.arrays import F32, I64, Flags, check_at_least

MOST_CANDIDATES = 5000
"""The most that a query may ask for, as a rescorer holds all of them in memory."""


class Ranked(NamedTuple):
    """The best k targets of m queries, all (m, k), best first: score = similarity − strength·offset.

    `corrected` (m,) says which queries a gate corrected, `rescoring` how many seconds a rescorer took.
    """

    rows: I64
    scores: F32
    similarities: F32
    offsets: F32
    corrected: Flags | None = None
    rescoring: float = 0.0

    def part(self, start: int, stop: int) -> "Ranked":
        """The same from one rank, counted from 0, to before another."""
        rows, scores, similarities, offsets, corrected, rescoring = self
        here = np.s_[:, start:stop]
        return Ranked(rows[here], scores[here], similarities[here], offsets[here], corrected, rescoring)


class Question(NamedTuple):
    """Checked queries (m, d), their strength, and how they are searched: `parameters` instead of the usual ones.

    Among the `matches`; None for all. Each query leaves out its `own` row, (m,); None for none.
    """

    queries: F32
    strength: float
    parameters: Mapping[str, Any] = {}
    matches: Matches | None = None
    own: I64 | None = None

    def of(self, lines: I64) -> "Question":
        """The queries in some lines."""
        return self._replace(queries=self.queries[lines], own=None if self.own is None else self.own[lines])


def joined(lines: Sequence[Sequence[NDArray[Any]]], width: int, corrected: Flags | None, rescoring: float) -> Ranked:
    """Return m queries as one, of which each has its four columns (k',); one with fewer hits ends in rows of −1."""
    ranked = np.zeros((4, len(lines), width))  # float64 holds the number of any row
    ranked[0] = -1
    for number, line in enumerate(lines):
        ranked[:, number, : len(line[0])] = line
    return Ranked._make([ranked[0].astype(np.int64), *ranked[1:].astype(np.float32), corrected, rescoring])


def all_but(own: I64, rows: I64) -> Flags:
    """Return which rows (m, k + 1) to keep so that none of the targets `own` (m,) finds itself: k of each line."""
    others: Flags = rows != own[:, np.newaxis]
    others[others.all(axis=1), -1] = False  # one of many copies does not find itself
    return others


class Ranker:
    """Ranks targets: by their offsets, and by the gate or rescorer of the correction if it has one."""

    def __init__(self, targets: Targets, query_time: QueryTime | None = None) -> None:
        self.targets = targets
        # checked once, as each takes a tenth of a query
        self._switched = isinstance(query_time, Switch)
        self._gate = query_time if isinstance(query_time, Gate) else None
        self._rescorer = query_time if isinstance(query_time, Rescorer) else None
        self._usual = self._how({})
        self.is_folded = self._gate is None and self._rescorer is None
        """True if scores are those of the index: similarity − strength · offset."""
        self.is_slow = self._rescorer is not None
        """True if each query takes a tenth of a second, or so."""
        self.count = targets.room(None)
        """The number of targets that a query can find without a filter."""

    def room(self, asked: Question) -> int:
        """The number of targets that each query can find."""
        matches = asked.matches
        room = self.count if matches is None else self.targets.room(matches)
        own = asked.own
        return room if own is None else room - bool(matches is None or matches.hold(own).any())

    def rank(self, asked: Question, k: int, depth: int = 0) -> Ranked:
        """The best k targets of each query. k is at most `room`, and 0 only if that is 0.

        Gives more than k, up to a `depth` within the room, if no further targets have to be scored for that.
        """
        how, wanted = self._how(asked.parameters) if asked.parameters else self._usual
        off = np.zeros(len(asked.queries), np.bool_) if self._switched else None
        if k == 0:
            none = np.empty((len(asked.queries), 0), np.float32)
            return Ranked(none.astype(np.int64), none, none, none, off)
        corrects = asked.strength != 0
        if self._rescorer is not None and corrects:
            depth = min(depth, wanted)
        k = max(k, depth)
        if corrects and self._gate is not None:
            return self._gated(self._gate, asked, k, how)
        if corrects and self._rescorer is not None:
            return self._rescored(self._rescorer, asked, k, how, wanted)
        [ranked] = self._found(asked, k, how, asked.strength)
        return ranked if off is None else ranked._replace(corrected=off)

    def folded_scores(self, ranked: Ranked, strength: float) -> F32:
        """The scores (m, k) of ranked targets by the folded offsets alone, on one scale whatever a gate did."""
        if self.is_folded:
            return ranked.scores
        scores: F32 = ranked.similarities - np.float32(strength) * self.targets.offsets(ranked.rows)
        return scores

    def _how(self, parameters: Mapping[str, Any]) -> tuple[How, int]:
        chosen = {**self.targets.defaults, **parameters}
        wanted = CANDIDATES if self._rescorer is None else chosen.pop("candidates", CANDIDATES)
        exact = chosen.pop("exact", False)
        if not isinstance(exact, bool):
            raise InputError("parameters.exact", "true or false", exact)
        self.targets.kind.check(chosen)
        check_at_least("parameters.candidates", wanted, 1)
        if wanted > MOST_CANDIDATES:
            raise InputError("parameters.candidates", f"at most {MOST_CANDIDATES}", wanted)
        return (None if exact else chosen), wanted

    def _gated(self, gate: Gate, asked: Question, k: int, how: How) -> Ranked:
        """Rank raw and corrected in one call of the index. The raw top 1 of each query decides which one counts."""
        raw, corrected = self._found(asked, k, how, 0.0, asked.strength)
        on = gate.is_on(raw.rows[:, 0])
        alone: list[Any] = [raw.rows, raw.scores, raw.scores, np.float32(0)]
        chosen = [np.where(on[:, np.newaxis], *pair) for pair in zip(list[Any](corrected), alone, strict=False)]
        return Ranked._make([*chosen, on, 0.0])

    def _rescored(self, rescorer: Rescorer, asked: Question, k: int, how: How, wanted: int) -> Ranked:
        """Score candidates anew. They come from the folded ranking, and with a gate also from the raw one.

        Where more than the candidates are asked for, the others come after them, in folded order: a target stands where
        it stands, whatever k is.
        """
        strength = asked.strength
        strengths = (strength, 0.0) if isinstance(rescorer, Switch) else (strength,)
        found = self._found(asked, min(max(wanted, k), self.room(asked)), how, *strengths)
        started = perf_counter()
        lines = []
        for number, query in enumerate(asked.queries):
            chosen = [part.rows[number, :wanted] for part in found]
            rows, first = np.unique(np.concatenate(chosen), return_index=True)
            similarities = np.concatenate([part.similarities[number, :wanted] for part in found])[first]
            candidates = Candidates(rows, similarities, partial(self.targets.vectors, rows))
            offsets, final = rescore(rescorer, query, candidates, strength)
            best = np.argsort(-final, kind="stable")[:k]
            line = [values[best] for values in (rows, final, similarities, offsets)]
            if len(best) < k:
                others = np.flatnonzero(~np.isin(found[0].rows[number], rows))[: k - len(best)]
                rest, folded, similarities, _ = (column[number, others] for column in found[0][:4])
                folded = folded - np.float32(drop(found[0].scores[number, 0], final))
                behind = rest, folded, similarities, (similarities - folded) / strength
                line = [np.concatenate(pair) for pair in zip(line, behind, strict=True)]
            lines.append(line)
        on = rescorer.is_on(found[-1].rows[:, 0]) if isinstance(rescorer, Switch) else None
        return joined(lines, k, on, perf_counter() - started)

    def _found(self, asked: Question, k: int, how: How, *strengths: float) -> list[Ranked]:
        """Return the best k by the folded offsets at each strength, in one call of the index."""
        scope = self.targets.scope(asked.matches)
        folded = [*map(partial(folded_queries, asked.queries), strengths)]
        augmented = folded[0] if len(folded) == 1 else np.concatenate(folded)
        if asked.own is None:
            scores, rows = scope.find(augmented, k, how)
        else:
            scores, rows = scope.find(augmented, min(k + 1, scope.room), how)
            if rows.shape[1] > k:  # else no query's own target matches
                others = all_but(np.tile(asked.own, len(strengths)), rows)
                scores, rows = scores[others].reshape(-1, k), rows[others].reshape(-1, k)
        offsets = self.targets.offsets(rows)
        count = len(asked.queries)
        found = []
        for place, strength in enumerate(strengths):
            here = slice(place * count, place * count + count)
            similarities = scores[here] + np.float32(strength) * offsets[here]
            found.append(Ranked(rows[here], scores[here], similarities, offsets[here]))
        return found
