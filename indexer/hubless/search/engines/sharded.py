"""The embedded engine over several Faiss indexes, the shards. Each holds consecutive rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.kernels.reductions import merged
from hubless.knn import IndexType, SearchParameters, in_turn
from hubless.search.engines.base import How, TargetsOver
from hubless.search.engines.embedded import IndexedTargets
from hubless.search.matches import Matches
from hubless.vectors.arrays import F32, I64


@dataclass(frozen=True)
class _Asked:
    """A shard that is searched: the number of its first row, what matches in it, and how many targets it can find."""

    shard: IndexedTargets
    start: int
    matches: Matches | None
    room: int


@dataclass(frozen=True, eq=False)
class ShardedTargets(TargetsOver):
    """Targets in several Faiss indexes of one kind. Only the last one may have targets without a vector.

    The best k of each shard's k best are kept. So an exact search finds what it finds in one index, and an approximate
    one at least as much with the same parameters, as each shard looks at its own candidates.
    """

    shards: Sequence[IndexedTargets]
    _starts: I64 = field(init=False, repr=False)
    _parted: WeakKeyDictionary[Matches, list[Matches]] = field(default_factory=WeakKeyDictionary, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_starts", np.cumsum([0, *map(len, self.shards)]))

    def __len__(self) -> int:
        return int(self._starts[-1])

    @property
    def kind(self) -> IndexType:
        return self.shards[0].kind

    @property
    def like(self) -> IndexedTargets:
        return self.shards[0]

    def tuned(self, defaults: Mapping[str, Any]) -> "ShardedTargets":
        return ShardedTargets([shard.tuned(defaults) for shard in self.shards])

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> tuple[F32, I64]:
        def search(asked: _Asked) -> tuple[F32, I64]:
            scores, rows = asked.shard.find(augmented, min(k, asked.room), how, asked.matches)
            return scores, rows + asked.start

        asked = self._asked(matches)
        # more queries than that keep the threads busy in each shard
        few = len(augmented) < min(faiss.omp_get_max_threads(), len(asked))
        if few and not any(each.shard.is_shared(each.matches, exact=how is None) for each in asked):
            return merged(in_turn(search, asked), k)
        return merged([search(each) for each in asked], k)

    def approximate(self, augmented: F32, k: int, how: SearchParameters) -> tuple[F32, I64]:
        found = []
        for asked in self._asked(None):
            scores, rows = asked.shard.approximate(augmented, min(k, asked.room), how)
            found.append((scores, np.where(rows < 0, rows, rows + asked.start)))
        return merged(found, k)

    def scores(self, augmented: F32, rows: I64) -> F32:
        found = np.empty(rows.shape, np.float32)
        for asked in self._asked(None):
            inside = (rows >= asked.start) & (rows < asked.start + len(asked.shard))
            line, _ = np.nonzero(inside)
            found[inside] = asked.shard.scores(augmented[line], rows[inside][:, np.newaxis] - asked.start)[:, 0]
        return found

    def room(self, matches: Matches | None) -> int:
        return sum(asked.room for asked in self._asked(matches))

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        rows = np.asarray(rows, np.int64)
        found = np.empty((len(rows), self.dim), np.float32)
        numbers = np.searchsorted(self._starts, rows, side="right") - 1
        for number in np.unique(numbers):
            inside = numbers == number
            found[inside] = self.shards[number].vectors(rows[inside] - self._starts[number])
        return found

    def have_vectors(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        there: NDArray[np.bool_] = np.asarray(rows) < self.room(None)
        return there

    def is_shared(self, matches: Matches | None, *, exact: bool = False) -> bool:
        asked = self._asked(matches)
        if not exact and len(asked) > 1 and any(each.shard.walks(each.matches) for each in asked):
            return True
        return any(each.shard.is_shared(each.matches, exact=exact) for each in asked)

    def _asked(self, matches: Matches | None) -> list[_Asked]:
        parts = [None] * len(self.shards) if matches is None else self._parts_of(matches)
        found = zip(self.shards, self._starts.tolist(), parts, strict=False)
        every = [_Asked(shard, start, part, shard.room(part)) for shard, start, part in found]
        return [asked for asked in every if asked.room]

    def _parts_of(self, matches: Matches) -> list[Matches]:
        if (known := self._parted.get(matches)) is None:
            starts = self._starts.tolist()
            known = [matches.part(start, stop) for start, stop in pairwise(starts)]
            self._parted[matches] = known  # as long as the matches are held
        return known


OwnTargets: TypeAlias = IndexedTargets | ShardedTargets


def embedded(
    kind: IndexType,
    indexes: Sequence[faiss.Index],
    dim: int,
    defaults: Mapping[str, Any],
    pivot: F32 | None = None,
    vectorless: int = 0,
) -> OwnTargets:
    """Return the targets of one index, or of several that hold consecutive rows, and of so many without a vector."""
    last = len(indexes) - 1
    shards = [
        IndexedTargets(kind, index, dim, defaults, pivot, vectorless if number == last else 0)
        for number, index in enumerate(indexes)
    ]
    return shards[0] if len(shards) == 1 else ShardedTargets(shards)
