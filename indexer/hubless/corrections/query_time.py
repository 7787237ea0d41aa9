"""What a correction does with a live query beyond the folded offsets: nothing, a gate, or a rescorer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubless.arrays import F32, F64, I64
from hubless.corrections.base import Details, State


@dataclass(frozen=True)
class Gate:
    """The offsets count for a query only if its raw top-1 is active.

    Parameters
    ----------
    active : (n,) whether a target is in the activation set
    """

    active: NDArray[np.bool_]

    def is_on(self, raw_top: I64) -> NDArray[np.bool_]:
        """Whether the offsets count, for queries with these raw top-1 rows (m,)."""
        on: NDArray[np.bool_] = self.active[raw_top]
        return on

    def arrays(self) -> State:
        return {"active": np.packbits(self.active), "count": np.array([len(self.active)])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], details: Details) -> Self:
        return cls(np.unpackbits(arrays["active"], count=int(arrays["count"][0])).astype(bool))


@dataclass(frozen=True)
class Candidates:
    """Targets that may answer a query: their rows (c,), similarities to it (c,), and on demand their vectors (c, d)."""

    rows: I64
    similarities: F32
    vectors: Callable[[], F32]


class Rescorer(Protocol):
    """Scores candidates anew, with numbers per target that were measured offline."""

    def scores(self, query: F32, candidates: Candidates) -> F64:
        """The method's own score of each candidate of one query (d,): (c,), higher is better."""

    def arrays(self) -> State:
        """Everything that `from_arrays` needs beside the fitted correction's details, as plain arrays."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], details: Details) -> Self:
        """Restore what `arrays` gave."""


QueryTime: TypeAlias = Gate | Rescorer


def corrected_scores(
    queries: F32,
    similarities: F32,
    strength: float,
    offsets: F32,
    query_time: QueryTime | None,
    vectors: Callable[[], F32],
) -> F32:
    """Scores of all targets, for evaluation: what a search over all candidates would give.

    Parameters
    ----------
    queries : (m, d)
    similarities : (m, n)
    strength : λ
    offsets : (n,)
    vectors : gives the targets (n, d), if a rescorer needs them

    Returns
    -------
    (m, n): s − λh; with a gate only where it is on; with a rescorer s − λ(s − rescored).
    """
    weight = np.float32(strength)
    if query_time is None:
        return similarities - weight * offsets
    if isinstance(query_time, Gate):
        on = query_time.is_on(similarities.argmax(axis=1))
        return similarities - weight * on[:, np.newaxis] * offsets
    scores = np.empty_like(similarities)
    everything = np.arange(similarities.shape[1])
    for row, (query, line) in enumerate(zip(queries, similarities, strict=True)):
        rescored = query_time.scores(query, Candidates(everything, line, vectors))
        scores[row] = line - strength * (line - rescored)
    return scores
