"""The work of a correction on a live query beyond the folded offsets: nothing, a gate, or a rescorer."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Protocol, Self, runtime_checkable

import numpy as np

from hubless.corrections.base import Details, QueryTime, State, StateArrays
from hubless.vectors.arrays import F32, F64, I64, Flags

CANDIDATES = 200
"""Number of targets that a rescorer looks at, unless a query says otherwise."""

_BELOW = 1e-3
"""Distance at which the other targets are kept below the candidates, relative to the scores."""


@runtime_checkable
class Switch(Protocol):
    """A switch that decides for each query if it is corrected."""

    def is_on(self, raw_top: I64) -> Flags:
        """Return which queries with these raw top-1 rows (m,) are corrected."""


@dataclass(frozen=True)
class Gate:
    """The offsets count for a query only if its raw top-1 is among the active targets (n,)."""

    active: Flags

    def is_on(self, raw_top: I64) -> Flags:
        on: Flags = self.active[raw_top]
        return on

    def arrays(self) -> State:
        return {"active": np.packbits(self.active), "count": np.array([len(self.active)])}

    @classmethod
    def from_arrays(cls, arrays: StateArrays, details: Details) -> Self:
        return cls(np.unpackbits(arrays["active"], count=int(arrays["count"][0])).astype(bool))


@dataclass(frozen=True)
class Candidates:
    """Targets that may answer a query: rows (c,), similarities (c,), and on demand vectors (c, d)."""

    rows: I64
    similarities: F32
    vectors: Callable[[], F32]


@runtime_checkable
class Rescorer(QueryTime, Protocol):
    """Scores candidates anew, with numbers that were measured offline."""

    def scores(self, query: F32, candidates: Candidates) -> F64:
        """The method's own score (c,) of each candidate of one query (d,), higher is better.

        It ranks as the published score does, in units of similarity, as it is mixed with the similarity.
        """


class StoredFields:
    """The query-time part of a correction, but for the bank: arrays are stored, plain numbers are details."""

    def arrays(self) -> State:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray) and name != "bank"}

    @classmethod
    def from_arrays(cls, arrays: StateArrays, details: Details) -> Self:
        known = {**details, **arrays}
        return cls(**{each.name: known[each.name] for each in fields(cls) if each.name in known})  # type: ignore[arg-type]


def signed_scores(signs: F64, logarithms: F64, temperature: float) -> F64:
    """Scores (c,) that rank as sign·exp(logarithm) does, of signs (c,) and finite logarithms (c,).

    These are τ·logarithm, where the sign is above 0. Where it is 0 they are one number below these; where it is
    negative they lie below that, and are turned round.
    """
    scores = temperature * logarithms
    apart = _BELOW * max(1.0, np.abs(scores).max())
    none = scores[signs > 0].min(initial=0.0) - apart
    negative = signs < 0
    scores[negative] = none - apart + scores[negative].min(initial=0.0) - scores[negative]
    scores[signs == 0] = none
    return scores


def rescore(rescorer: Rescorer, query: F32, candidates: Candidates, strength: float) -> tuple[F64, F64]:
    """Offsets and scores (c,) of the candidates of one query (d,): score = similarity − strength·offset."""
    offsets = candidates.similarities - rescorer.scores(query, candidates)
    return offsets, candidates.similarities - strength * offsets


def drop(highest: float, rescored: F64) -> float:
    """Return how much lower the others stand, of which the highest is given, to come behind the candidates, (c,)."""
    return max(0.0, float(highest - rescored.min())) + _BELOW * max(1.0, float(abs(rescored).max()))


def corrected_scores(
    queries: F32,
    similarities: F32,
    strength: float,
    offsets: F32,
    query_time: QueryTime | None,
    vectors: Callable[[I64], F32],
    candidates: int | None = CANDIDATES,
) -> F32:
    """Return scores (m, n) of all targets as a search with an exact index ranks: s − λh, of a gate only where it is on.

    A rescorer scores so many candidates anew (None for all); the others come after, in folded order. `vectors` gives
    the targets of some rows, (r, d).
    """
    folded = similarities - np.float32(strength) * offsets
    if strength == 0:
        return folded
    if isinstance(query_time, Gate):
        on = query_time.is_on(similarities.argmax(axis=1))
        return np.where(on[:, np.newaxis], folded, similarities)
    if not isinstance(query_time, Rescorer):
        return folded
    count = len(offsets)
    wanted = count if candidates is None else min(candidates, count)
    for query, line, scores in zip(queries, similarities, folded, strict=True):
        orders = (scores, line) if isinstance(query_time, Switch) else (scores,)
        rows = np.unique([np.argpartition(-order, wanted - 1)[:wanted] for order in orders])
        _, rescored = rescore(query_time, query, Candidates(rows, line[rows], partial(vectors, rows)), strength)
        if len(rows) < count:
            scores -= drop(scores.max(), rescored)
        scores[rows] = rescored
    return folded
