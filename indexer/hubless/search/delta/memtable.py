"""Targets that were added since a version was built. They come at the end and are never moved; what goes is marked.

To replace a target costs a *slot*, whatever else there is. Once more slots are empty than taken, all move together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import faiss
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.forks import cached_property
from hubless.vectors.arrays import F32, I64
from hubless.vectors.payload import Payload

_LEAST_ROOM = 64
_MOST_EMPTY = 1024
"""Slots that may be empty however few are taken."""
_FEW = 0.25
"""Up to this share of the slots it costs less to copy them than to look at all."""
_TOGETHER = 64
"""Queries whose scores are in memory at a time."""


class GrowingRows:
    """Rows (a, …), never changed: `with_rows` gives another, in the same memory, which is taken for twice as many."""

    def __init__(self, rows: NDArray[Any], room: NDArray[Any] | None = None, used: list[int] | None = None) -> None:
        self.rows = rows
        self._room = rows if room is None else room
        # how many rows of the room belong to somebody
        self._used = [len(rows)] if used is None else used

    def with_rows(self, more: NDArray[Any]) -> "GrowingRows":
        count, room, used = len(self.rows) + len(more), self._room, self._used
        if used[0] != len(self.rows) or count > len(room):
            room, used = np.empty((max(_LEAST_ROOM, 2 * count), *more.shape[1:]), self.rows.dtype), [0]
            room[: len(self.rows)] = self.rows
        room[len(self.rows) : count] = more
        used[0] = count
        return GrowingRows(room[:count], room, used)


class MemtableIds:
    """The ids of s slots, never changed: `with_more` gives another, which shares the memory of this one."""

    def __init__(self) -> None:
        self._count = 0
        self._names: list[str | int] = []
        self._previous: list[int] = []  # the slot that the id of each slot had before
        self._latest: dict[str | int, int] = {}  # the last slot of each id

    def with_more(self, ids: Sequence[str | int]) -> "MemtableIds":
        grown = MemtableIds()
        if len(self._names) == self._count:
            vars(grown).update(vars(self))
        else:  # others have grown from this already
            grown._extend(self._names[: self._count])
        grown._extend(ids)
        grown._count = self._count + len(ids)
        return grown

    def slot(self, wanted: str | int) -> int:
        """Return the last slot that an id had, whether or not it is empty now; −1 for none."""
        slot = -1 if isinstance(wanted, bool) else self._latest.get(wanted, -1)
        while slot >= self._count:
            slot = self._previous[slot]
        return slot

    def of(self, slots: I64) -> list[str | int]:
        return [self._names[slot] for slot in slots.tolist()]

    def _extend(self, ids: Sequence[str | int]) -> None:
        for wanted in ids:
            # in this order, as others read meanwhile
            self._previous.append(self._latest.get(wanted, -1))
            self._names.append(wanted)
            self._latest[wanted] = len(self._names) - 1


@dataclass(frozen=True, eq=False)
class NewTargets:
    """Targets to add: vectors (a, d) as they are compared, offsets, ids, payload in the types of the base's.

    Vector and offset of those without `has_vector` are 0. `seqs` say which write put each, and `ranks` in which row of
    it.
    """

    vectors: F32
    offsets: F32
    ids: pa.Array
    payload: pa.Table | None
    has_vector: NDArray[np.bool_]
    seqs: I64
    ranks: I64


@dataclass(frozen=True, eq=False)
class Memtable:
    """Targets in s slots, of which those in the mask `taken` are not empty. Never changed: its methods give new ones.

    `columns` are rows of each slot; `folded` are vectors with their offsets, as in the base. Of `NewTargets` are the
    others.
    """

    columns: dict[str, GrowingRows]
    ids: MemtableIds
    payload: Payload | None
    taken: NDArray[np.bool_]
    id_type: pa.DataType

    @classmethod
    def empty(cls, dim: int, folded_dim: int, id_type: pa.DataType, schema: pa.Schema | None) -> "Memtable":
        columns: dict[str, NDArray[Any]] = {
            "vectors": np.empty((0, dim), np.float32),
            "folded": np.empty((0, folded_dim), np.float32),
            "offsets": np.empty(0, np.float32),
            "has_vector": np.empty(0, np.bool_),
            "seqs": np.empty(0, np.int64),
            "ranks": np.empty(0, np.int64),
        }
        growing = {name: GrowingRows(rows) for name, rows in columns.items()}
        payload = None if schema is None else Payload(schema.empty_table())
        return cls(growing, MemtableIds(), payload, np.empty(0, np.bool_), id_type)

    def __len__(self) -> int:
        return len(self.slots)

    @cached_property
    def slots(self) -> I64:
        return np.flatnonzero(self.taken)

    @cached_property
    def searched(self) -> I64:
        return np.flatnonzero(self.taken & self.rows("has_vector"))

    def rows(self, name: str) -> NDArray[Any]:
        return self.columns[name].rows

    def with_more(self, more: NewTargets, folded: F32) -> "Memtable":
        """Return these targets, and then more; `folded` (a, d') are their vectors with their offsets."""
        values = {**vars(more), "folded": folded}
        return Memtable(
            {name: column.with_rows(values[name]) for name, column in self.columns.items()},
            self.ids.with_more(more.ids.to_pylist()),
            None if self.payload is None or more.payload is None else self.payload.with_rows(more.payload),
            np.concatenate([self.taken, np.ones(len(folded), np.bool_)]),
            self.id_type,
        )

    def without(self, slots: I64) -> "Memtable":
        if not len(slots):
            return self
        taken = self.taken.copy()
        taken[slots] = False
        left = replace(self, taken=taken)
        return left if 2 * len(left) >= len(taken) - _MOST_EMPTY else left._moved_together()

    def slot(self, wanted: str | int) -> int:
        slot = self.ids.slot(wanted)
        return slot if slot >= 0 and self.taken[slot] else -1

    def id_array(self) -> pa.Array:
        return pa.array(self.ids.of(self.slots), self.id_type)

    def best(self, augmented: F32, k: int, slots: I64) -> tuple[F32, I64]:
        folded = self.rows("folded")
        if len(slots) == len(folded) or len(slots) <= _FEW * len(folded):
            chosen = folded if len(slots) == len(folded) else folded[slots]
            scores, rows = faiss.knn(augmented, chosen, k, faiss.METRIC_INNER_PRODUCT)
            return scores, slots[rows]
        hidden = np.ones(len(folded), np.bool_)
        hidden[slots] = False
        parts = [
            _masked_best(augmented[start : start + _TOGETHER] @ folded.T, hidden, k)
            for start in range(0, len(augmented), _TOGETHER)
        ]
        return np.concatenate([scores for scores, _ in parts]), np.concatenate([rows for _, rows in parts])

    def _moved_together(self) -> "Memtable":
        return Memtable(
            {name: GrowingRows(column.rows[self.slots]) for name, column in self.columns.items()},
            MemtableIds().with_more(self.ids.of(self.slots)),
            None if self.payload is None else Payload(self.payload.table().take(self.slots).combine_chunks()),
            np.ones(len(self), np.bool_),
            self.id_type,
        )


def _masked_best(scores: F32, hidden: NDArray[Any], k: int) -> tuple[F32, I64]:
    finite = np.isfinite(scores).all()  # the mask must not hide that a score does not fit float32
    scores[:, hidden] = -np.inf
    rows = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    found = np.take_along_axis(scores, rows, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    best = np.take_along_axis(found, order, axis=1)
    if not finite:
        best = np.full_like(best, np.nan)
    return best, np.take_along_axis(rows, order, axis=1).astype(np.int64)
