"""The search path: queries → index → candidates → gate or rescorer → the best k. Arrays in, arrays out."""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, TypeAlias

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, I64, check_at_least
from hubless.augment import augment_queries
from hubless.corrections import Gate, QueryTime, Rescorer
from hubless.corrections.query_time import CANDIDATES, Candidates, Flags, Switch, rescore
from hubless.errors import InputError, NotFinite
from hubless.knn import IndexType, is_scanned, is_shared, search_selected
from hubless.matches import Matches

How: TypeAlias = Mapping[str, Any] | None
"""Search parameters of the index; None compares with every target."""
MOST_CANDIDATES = 5000
"""More are refused: what a rescorer holds of them at once can be large."""


@dataclass(frozen=True)
class Ranked:
    """The best k targets of m queries, all (m, k), best first: score = similarity − strength·offset.

    `corrected` (m,) says for a gated correction whether it was switched on for the query, and is None for the others.
    `rescoring` is how many seconds a rescored correction took for its formula, after the index had answered.
    """

    rows: I64
    scores: F32
    similarities: F32
    offsets: F32
    corrected: Flags | None = None
    rescoring: float = 0.0

    def after(self, skip: int) -> "Ranked":
        """The same without the best `skip`."""
        return replace(
            self,
            rows=self.rows[:, skip:],
            scores=self.scores[:, skip:],
            similarities=self.similarities[:, skip:],
            offsets=self.offsets[:, skip:],
        )


class Ranker:
    """An index of augmented targets, their offsets, and what is done with a query beyond these."""

    def __init__(
        self,
        kind: IndexType,
        index: faiss.Index,
        offsets: F32,
        dim: int,
        defaults: Mapping[str, Any],
        query_time: QueryTime | None,
        pivot: F32 | None = None,
    ) -> None:
        self._kind = kind
        self._index = index
        self._offsets = offsets
        self._dim = dim
        self._defaults = dict(defaults)
        self._query_time = query_time
        self._switched = isinstance(query_time, Switch)  # once, as to look at a protocol takes a tenth of a query
        self._pivot = pivot
        self._left_out: I64 | None = None
        self._shared = is_shared(index)

    def without(self, rows: I64) -> "Ranker":
        """The same for m queries of which each leaves out one row, (m,): as if that target were not there."""
        other = copy(self)
        other._left_out = rows
        return other

    def is_shared(self, matches: Matches | None) -> bool:
        """Whether several threads can do their part of one query, as the vectors are read in their order."""
        return self._shared and (matches is None or is_scanned(self._kind, matches))

    def room(self, matches: Matches | None) -> int:
        """How many targets a query may find, at most."""
        everything = len(self._offsets) if matches is None else matches.count
        if self._left_out is None:
            return everything
        return everything - bool(matches is None or matches.hold(self._left_out).any())

    def rank(
        self, queries: F32, k: int, strength: float, parameters: Mapping[str, Any], matches: Matches | None = None
    ) -> Ranked:
        """The best k targets of each query (m, d); k ≤ `room`, and 0 only where that is.

        Parameters
        ----------
        matches : look at these targets only, of which there are at least k; the ranking is that of a collection that
            holds no others, with the offsets of this one

        Raises
        ------
        InputError
            for parameters that the index or the correction does not know.
        """
        chosen = {**self._defaults, **parameters}
        rescorer = None if isinstance(self._query_time, Gate) else self._query_time
        wanted = CANDIDATES if rescorer is None else chosen.pop("candidates", CANDIDATES)
        exact = chosen.pop("exact", False)
        if not isinstance(exact, bool):
            raise InputError("params.exact", "true or false", exact)
        self._kind.check(chosen)
        _check_candidates(wanted)
        if k == 0:
            return self._nothing(len(queries))
        how = None if exact else chosen
        if strength == 0 or self._query_time is None:
            ranked = self._folded_ranking(queries, k, strength, how, matches)
            return replace(ranked, corrected=np.zeros(len(queries), np.bool_)) if self._switched else ranked
        if isinstance(self._query_time, Gate):
            return self._gated(self._query_time, queries, k, strength, how, matches)
        return self._rescored(self._query_time, queries, k, strength, max(wanted, k), how, matches)

    def folded(self, queries: F32, k: int) -> Ranked:
        """The best k targets by the folded offsets alone, without gate or rescorer: what the index itself answers."""
        return self._folded_ranking(queries, k, 1.0, self._defaults)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        """The stored vectors of some rows, (r, d)."""
        stored: F32 = self._index.reconstruct_batch(np.asarray(rows, np.int64))
        return np.ascontiguousarray(stored[:, : self._dim])

    def _folded_ranking(
        self, queries: F32, k: int, strength: float, parameters: How, matches: Matches | None = None
    ) -> Ranked:
        return self._ranked(*self._search(self._augmented(queries, strength), k, parameters, matches), strength)

    def _gated(
        self,
        gate: Gate,
        queries: F32,
        k: int,
        strength: float,
        parameters: How,
        matches: Matches | None,
    ) -> Ranked:
        """Raw and corrected in one call of the index, then for each query the one that its raw top-1 asks for."""
        m = len(queries)
        both = np.concatenate([self._augmented(queries, 0), self._augmented(queries, strength)])
        scores, rows = self._search(both, k, parameters, matches)
        on = gate.is_on(rows[:m, 0])
        raw, corrected = self._ranked(scores[:m], rows[:m], 0.0), self._ranked(scores[m:], rows[m:], strength)
        line = on[:, np.newaxis]
        return Ranked(
            np.where(line, corrected.rows, raw.rows),
            np.where(line, corrected.scores, raw.scores),
            np.where(line, corrected.similarities, raw.similarities),
            np.where(line, corrected.offsets, np.float32(0)),
            on,
        )

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
        """Candidates by folded offsets, and with a gate by raw similarity too, scored anew."""
        count = min(wanted, self.room(matches))
        strengths = (strength, 0.0) if isinstance(rescorer, Switch) else (strength,)
        calls = np.concatenate([self._augmented(queries, value) for value in strengths])
        scores, rows = self._search(calls, count, parameters, matches)
        found = [
            self._ranked(*part, value) for part, value in zip(_parts(scores, rows, strengths), strengths, strict=True)
        ]
        started = perf_counter()
        ranked = [np.empty((len(queries), k), kind) for kind in (np.int64, np.float32, np.float32, np.float32)]
        for number, query in enumerate(queries):
            candidates, first = np.unique(np.concatenate([part.rows[number] for part in found]), return_index=True)
            similarities = np.concatenate([part.similarities[number] for part in found])[first]
            asked = Candidates(candidates, similarities, partial(self.vectors, candidates))
            offsets, final = rescore(rescorer, query, asked, strength)
            best = np.argsort(-final, kind="stable")[:k]
            for column, values in zip(ranked, (candidates, final, similarities, offsets), strict=True):
                column[number] = values[best]
        on = rescorer.is_on(found[-1].rows[:, 0]) if isinstance(rescorer, Switch) else None
        best_rows, best_scores, best_similarities, best_offsets = ranked
        return Ranked(best_rows, best_scores, best_similarities, best_offsets, on, perf_counter() - started)

    def _nothing(self, queries: int) -> Ranked:
        none = np.empty((queries, 0), np.float32)
        off = np.zeros(queries, np.bool_) if self._switched else None
        return Ranked(none.astype(np.int64), none, none, none, off)

    def _augmented(self, queries: F32, strength: float) -> F32:
        return augment_queries(queries, strength, self._pivot)

    def _search(self, augmented: F32, k: int, parameters: How, matches: Matches | None) -> tuple[F32, I64]:
        if self._left_out is None:
            return self._find(augmented, k, parameters, matches)
        everything = len(self._offsets) if matches is None else matches.count
        scores, rows = self._find(augmented, min(k + 1, everything), parameters, matches)
        if rows.shape[1] == k:  # no query's own row matches
            return scores, rows
        # one call may hold the queries several times over, with a strength each
        own = np.tile(self._left_out, len(rows) // len(self._left_out))
        others = rows != own[:, np.newaxis]
        others[others.all(axis=1), -1] = False
        return scores[others].reshape(-1, k), rows[others].reshape(-1, k)

    def _find(self, augmented: F32, k: int, parameters: How, matches: Matches | None) -> tuple[F32, I64]:
        scores, rows = self._approximate(augmented, k, parameters, matches)
        if rows.min(initial=0) < 0:
            # a graph or a few lists may hold fewer than k of them; the rest is found by comparing with all
            missed = (rows < 0).any(axis=1)
            scores[missed], rows[missed] = self._exact(augmented[missed], k, matches)
        if rows.min(initial=0) < 0 or not np.isfinite(scores).all():
            # without a cosine's bounds, the product of finite vectors can be infinite, and Faiss passes over it
            raise NotFinite("vector", "numbers whose products with the targets fit float32", "larger ones")
        return scores, rows

    def _approximate(self, augmented: F32, k: int, parameters: How, matches: Matches | None) -> tuple[F32, I64]:
        if parameters is None:
            return self._exact(augmented, k, matches)
        if matches is None:
            return self._kind.search(self._index, augmented, k, parameters)
        narrowed = self._kind.narrowed(parameters, matches.count, matches.total)
        if narrowed is None:
            return self._exact(augmented, k, matches)
        return self._kind.search(self._index, augmented, k, narrowed, matches.selector)

    def _exact(self, augmented: F32, k: int, matches: Matches | None) -> tuple[F32, I64]:
        if matches is None:
            return self._kind.exact(self._index, augmented, k)
        return search_selected(self._kind, self._index, augmented, k, matches)

    def _ranked(self, scores: F32, rows: I64, strength: float) -> Ranked:
        offsets = self._offsets[rows]
        return Ranked(rows, scores, scores + np.float32(strength) * offsets, offsets)


def _check_candidates(wanted: int) -> None:
    check_at_least("params.candidates", wanted, 1)
    if wanted > MOST_CANDIDATES:
        raise InputError("params.candidates", f"at most {MOST_CANDIDATES}", wanted)


def _parts(scores: F32, rows: I64, strengths: tuple[float, ...]) -> list[tuple[F32, I64]]:
    return list(zip(np.split(scores, len(strengths)), np.split(rows, len(strengths)), strict=True))
