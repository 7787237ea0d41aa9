"""The search path: queries → index → candidates → gate or rescorer → the best k. Arrays in, arrays out."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import Gate, QueryTime
from hubless.corrections.query_time import CANDIDATES, Candidates, Rescorer, Switch, drop, rescore
from hubless.errors import InputError
from hubless.knn.augment import folded_queries
from hubless.knn.base import Found
from hubless.search.engines.base import Findable, How
from hubless.search.matches import Matches
from hubless.vectors.arrays import F32, I64, Flags, check_at_least

MOST_CANDIDATES = 5000
"""The most that a query may ask for, as a rescorer holds all of them in memory."""


class Searched(Findable, Protocol):
    """Targets that a ranker searches: n of them, in rows 0 to n − 1."""

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> Found:
        """The k best targets, or matches, of which there are as many: scores (m, k) and rows (m, k), best first."""

    def room(self, matches: Matches | None) -> int:
        """Return the number of targets that a search can find, of all or of the matches: those with a vector."""

    def offsets(self, rows: I64) -> F32:
        """The offsets of some rows, in their shape."""


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
        return Ranked._make([*(column[:, start:stop] for column in self[:4]), *self[4:]])


def joined(lines: Sequence[Sequence[NDArray[Any]]], width: int, corrected: Flags | None, rescoring: float) -> Ranked:
    """Return m queries as one, of which each has its four columns (k',); one with fewer hits ends in rows of −1."""
    ranked = np.zeros((4, len(lines), width))  # float64 holds the number of any row
    ranked[0] = -1
    for number, line in enumerate(lines):
        ranked[:, number, : len(line[0])] = line
    return Ranked._make([ranked[0].astype(np.int64), *ranked[1:].astype(np.float32), corrected, rescoring])


class Ranker:
    """Ranks targets: by their offsets, and by the gate or rescorer of the correction if it has one."""

    def __init__(self, targets: Searched, query_time: QueryTime | None = None) -> None:
        self.targets = targets
        # checked once, as each takes a tenth of a query
        self._switched = isinstance(query_time, Switch)
        self._gate = query_time if isinstance(query_time, Gate) else None
        self._rescorer = query_time if isinstance(query_time, Rescorer) else None
        self._usual = self._how({})
        self._left_out: I64 | None = None
        self.count = targets.room(None)
        """The number of targets that a query can find without a filter."""

    @property
    def is_folded(self) -> bool:
        """Return True if scores are those of the index: similarity − strength · offset."""
        return self._gate is None and self._rescorer is None

    @property
    def is_slow(self) -> bool:
        """Return True if each query takes a tenth of a second, or so."""
        return self._rescorer is not None

    def without(self, rows: I64) -> "Ranker":
        other = copy(self)
        other._left_out = rows
        other.count = self.count - 1
        return other

    def of(self, lines: I64) -> "Ranker":
        other = copy(self)
        other._left_out = None if self._left_out is None else self._left_out[lines]
        return other

    def room(self, matches: Matches | None) -> int:
        if matches is None:
            return self.count
        return self.targets.room(matches) - bool(self._left_out is not None and matches.hold(self._left_out).any())

    def rank(
        self,
        queries: F32,
        k: int,
        strength: float,
        parameters: Mapping[str, Any],
        matches: Matches | None = None,
        depth: int = 0,
    ) -> Ranked:
        """The best k targets of each query (m, d), or of the matches. k is at most `room`, and 0 only if that is 0.

        Gives more than k, up to `depth`, if no further targets have to be scored for that.
        """
        how, wanted = self._how(parameters) if parameters else self._usual
        if k == 0:
            none = np.empty((len(queries), 0), np.float32)
            off = np.zeros(len(queries), np.bool_) if self._switched else None
            return Ranked(none.astype(np.int64), none, none, none, off)
        if self._rescorer is not None and strength != 0:
            depth = min(depth, wanted)
        if k < depth:
            k = min(depth, self.count if matches is None else self.room(matches))
        if strength != 0 and self._gate is not None:
            return self._gated(self._gate, queries, k, strength, how, matches)
        if strength != 0 and self._rescorer is not None:
            return self._rescored(self._rescorer, queries, k, strength, wanted, how, matches)
        search = self.targets.find if self._left_out is None else self._search
        scores, rows = search(folded_queries(queries, strength), k, how, matches)
        offsets = self.targets.offsets(rows)
        ranked = Ranked(rows, scores, scores + np.float32(strength) * offsets, offsets)
        return ranked._replace(corrected=np.zeros(len(queries), np.bool_)) if self._switched else ranked

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

    def _gated(
        self,
        gate: Gate,
        queries: F32,
        k: int,
        strength: float,
        parameters: How,
        matches: Matches | None,
    ) -> Ranked:
        """Rank raw and corrected in one call of the index. The raw top 1 of each query decides which one counts."""
        m = len(queries)
        both = np.concatenate([folded_queries(queries, 0), folded_queries(queries, strength)])
        scores, rows = self._search(both, k, parameters, matches)
        on = gate.is_on(rows[:m, 0])
        corrected = self._ranked(scores[m:], rows[m:], strength)
        alone: list[Any] = [rows[:m], scores[:m], scores[:m], np.float32(0)]
        chosen = [np.where(on[:, np.newaxis], *pair) for pair in zip(list[Any](corrected), alone, strict=False)]
        return Ranked._make([*chosen, on, 0.0])

    def _rescored(
        self,
        rescorer: Rescorer,
        queries: F32,
        k: int,
        strength: float,
        wanted: int,
        parameters: How,
        matches: Matches | None,
    ) -> Ranked:
        """Score candidates anew. They come from the folded ranking, and with a gate also from the raw one.

        Where more than the candidates are asked for, the others come after them, in folded order: a target stands where
        it stands, whatever k is.
        """
        count = min(max(wanted, k), self.room(matches))
        strengths = (strength, 0.0) if isinstance(rescorer, Switch) else (strength,)
        calls = np.concatenate([folded_queries(queries, value) for value in strengths])
        scores, rows = self._search(calls, count, parameters, matches)
        parts = zip(np.split(scores, len(strengths)), np.split(rows, len(strengths)), strengths, strict=True)
        found = [self._ranked(*part) for part in parts]
        started = perf_counter()
        lines = []
        for number, query in enumerate(queries):
            chosen = [part.rows[number, :wanted] for part in found]
            candidates, first = np.unique(np.concatenate(chosen), return_index=True)
            similarities = np.concatenate([part.similarities[number, :wanted] for part in found])[first]
            asked = Candidates(candidates, similarities, partial(self.targets.vectors, candidates))
            offsets, final = rescore(rescorer, query, asked, strength)
            best = np.argsort(-final, kind="stable")[:k]
            line = [values[best] for values in (candidates, final, similarities, offsets)]
            if len(best) < k:
                others = np.flatnonzero(~np.isin(found[0].rows[number], candidates))[: k - len(best)]
                rest, folded, similarities, _ = (column[number, others] for column in found[0][:4])
                folded = folded - np.float32(drop(found[0].scores[number, 0], final))
                behind = rest, folded, similarities, (similarities - folded) / strength
                line = [np.concatenate(pair) for pair in zip(line, behind, strict=True)]
            lines.append(line)
        on = rescorer.is_on(found[-1].rows[:, 0]) if isinstance(rescorer, Switch) else None
        return joined(lines, k, on, perf_counter() - started)

    def _search(self, augmented: F32, k: int, parameters: How, matches: Matches | None) -> Found:
        if self._left_out is None:
            return self.targets.find(augmented, k, parameters, matches)
        scores, rows = self.targets.find(augmented, min(k + 1, self.targets.room(matches)), parameters, matches)
        if rows.shape[1] == k:  # no query's own target matches
            return scores, rows
        # a call can hold each query twice, with two strengths
        own = np.tile(self._left_out, len(rows) // len(self._left_out))
        others = rows != own[:, np.newaxis]
        others[others.all(axis=1), -1] = False
        return scores[others].reshape(-1, k), rows[others].reshape(-1, k)

    def _ranked(self, scores: F32, rows: I64, strength: float) -> Ranked:
        offsets = self.targets.offsets(rows)
        return Ranked(rows, scores, scores + np.float32(strength) * offsets, offsets)
