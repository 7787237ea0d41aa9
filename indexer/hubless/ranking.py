"""The search path: queries → index → candidates → gate or rescorer → the best k. Arrays in, arrays out."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, I64, check_at_least
from hubless.augment import augment_queries
from hubless.corrections import Gate, QueryTime, Rescorer
from hubless.corrections.query_time import Candidates
from hubless.errors import NotFinite
from hubless.knn import IndexType

CANDIDATES = 200
"""How many targets a rescorer looks at, unless a query says otherwise."""


@dataclass(frozen=True)
class Ranked:
    """The best k targets of m queries, all (m, k), best first: score = similarity − strength·offset.

    `corrected` (m,) says for a gated correction whether it was switched on for the query.
    """

    rows: I64
    scores: F32
    similarities: F32
    offsets: F32
    corrected: NDArray[np.bool_] | None = None


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
    ) -> None:
        self._kind = kind
        self._index = index
        self._offsets = offsets
        self._dim = dim
        self._defaults = dict(defaults)
        self._query_time = query_time
        self._folded = bool(offsets.any())

    def rank(self, queries: F32, k: int, strength: float, parameters: Mapping[str, Any]) -> Ranked:
        """The best k targets, k ≤ n, of each query (m, d).

        Raises
        ------
        InputError
            for parameters that the index or the correction does not know.
        """
        chosen = {**self._defaults, **parameters}
        rescorer = None if isinstance(self._query_time, Gate) else self._query_time
        wanted = CANDIDATES if rescorer is None else chosen.pop("candidates", CANDIDATES)
        self._kind.check(chosen)
        check_at_least("params.candidates", wanted, 1)
        if self._query_time is None or strength == 0:
            return self._ranked(*self._search(augment_queries(queries, strength), k, chosen), strength)
        if isinstance(self._query_time, Gate):
            return self._gated(self._query_time, queries, k, strength, chosen)
        return self._rescored(self._query_time, queries, k, strength, max(wanted, k), chosen)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        """The stored vectors of some rows, (r, d)."""
        stored: F32 = self._index.reconstruct_batch(np.asarray(rows, np.int64))
        return np.ascontiguousarray(stored[:, : self._dim])

    def _gated(self, gate: Gate, queries: F32, k: int, strength: float, parameters: Mapping[str, Any]) -> Ranked:
        """Raw and corrected in one call of the index, then for each query the one that its raw top-1 asks for."""
        m = len(queries)
        both = np.concatenate([augment_queries(queries, 0), augment_queries(queries, strength)])
        scores, rows = self._search(both, k, parameters)
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
        self, rescorer: Rescorer, queries: F32, k: int, strength: float, wanted: int, parameters: Mapping[str, Any]
    ) -> Ranked:
        """Candidates by folded offsets, and by raw similarity, scored anew."""
        count = min(wanted, len(self._offsets))
        strengths = (1.0, 0.0) if self._folded else (0.0,)
        calls = np.concatenate([augment_queries(queries, value) for value in strengths])
        scores, rows = self._search(calls, count, parameters)
        found = [
            self._ranked(*part, value) for part, value in zip(_parts(scores, rows, strengths), strengths, strict=True)
        ]
        ranked = [np.empty((len(queries), k), kind) for kind in (np.int64, np.float32, np.float32, np.float32)]
        for number, query in enumerate(queries):
            candidates, first = np.unique(np.concatenate([part.rows[number] for part in found]), return_index=True)
            similarities = np.concatenate([part.similarities[number] for part in found])[first]
            asked = Candidates(candidates, similarities, partial(self.vectors, candidates))
            offsets = (similarities - rescorer.scores(query, asked)).astype(np.float32)
            final = similarities - np.float32(strength) * offsets
            best = np.argsort(-final, kind="stable")[:k]
            for column, values in zip(ranked, (candidates, final, similarities, offsets), strict=True):
                column[number] = values[best]
        return Ranked(*ranked)

    def _search(self, augmented: F32, k: int, parameters: Mapping[str, Any]) -> tuple[F32, I64]:
        scores, rows = self._kind.search(self._index, augmented, k, parameters)
        if (missed := (rows < 0).any(axis=1)).any():
            # a graph search may reach fewer than k targets; the rest is found by comparing with all
            scores[missed], rows[missed] = self._kind.exact(self._index, augmented[missed], k)
        if (rows < 0).any() or not np.isfinite(scores).all():
            # without a cosine's bounds, the product of finite vectors can be infinite, and Faiss passes over it
            raise NotFinite("vector", "numbers whose products with the targets fit float32", "larger ones")
        return scores, rows

    def _ranked(self, scores: F32, rows: I64, strength: float) -> Ranked:
        offsets = self._offsets[rows]
        return Ranked(rows, scores, scores + np.float32(strength) * offsets, offsets)


def _parts(scores: F32, rows: I64, strengths: tuple[float, ...]) -> list[tuple[F32, I64]]:
    return list(zip(np.split(scores, len(strengths)), np.split(rows, len(strengths)), strict=True))
