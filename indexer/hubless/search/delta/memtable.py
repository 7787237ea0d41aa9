"""The targets that stand beside an index. They come at the end and are never moved: what goes is marked as gone.

A target stands in a *slot*. To replace one costs a slot, whatever else there is. Once more slots are empty than taken,
all targets move together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import faiss
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.search.growing import Growing
from hubless.vectors.arrays import F32, I64
from hubless.vectors.payload import Payload

_MOST_EMPTY = 1024
"""Slots that may be empty however few are taken."""
_FEW = 0.25
"""Up to this share of the slots it costs less to copy them than to look at all."""
_TOGETHER = 64
"""Queries whose scores are in memory at a time."""


class MemtableIds:
    """The ids of s slots, never changed: `with_more` gives another, which shares the memory of this one."""

    def __init__(self) -> None:
        self._memory = _IdMemory()
        self._count = 0

    def with_more(self, ids: Sequence[str | int]) -> "MemtableIds":
        """These, and then more."""
        grown = MemtableIds()
        grown._memory = self._memory
        if len(self._memory.names) != self._count:  # others have grown from this already
            grown._memory = _IdMemory()
            grown._memory.extend(self._memory.names[: self._count])
        grown._memory.extend(ids)
        grown._count = self._count + len(ids)
        return grown

    def slot(self, wanted: str | int) -> int:
        """The last slot that an id had, whether or not it is empty now; −1 for none."""
        slot = -1 if isinstance(wanted, bool) else self._memory.latest.get(wanted, -1)
        while slot >= self._count:
            slot = self._memory.previous[slot]
        return slot

    def of(self, slots: I64) -> list[str | int]:
        """The ids of some slots."""
        names = self._memory.names
        return [names[slot] for slot in slots.tolist()]


class _IdMemory:
    """The ids of slots, the last slot of each id, and the slot that the id of each slot had before."""

    def __init__(self) -> None:
        self.names: list[str | int] = []
        self.previous: list[int] = []
        self.latest: dict[str | int, int] = {}

    def extend(self, ids: Sequence[str | int]) -> None:
        for wanted in ids:
            # in this order, as others read meanwhile
            self.previous.append(self.latest.get(wanted, -1))
            self.names.append(wanted)
            self.latest[wanted] = len(self.names) - 1


@dataclass(frozen=True, eq=False)
class Memtable:
    """Targets in s slots, of which a are taken. Never changed: its methods give new ones.

    Parameters
    ----------
    vectors, folded : (s, d) and (s, d') as they are compared, and with their offsets folded in, as in the base
    has_vector : (s,) targets without one are never found by a search
    seqs : (s,) the write that put each, ascending; 0 for none
    ranks : (s,) the row of each in its write, ascending within a write; 0 for none
    taken : (s,) which slots are not empty
    id_type : of the ids
    """

    vectors: Growing
    folded: Growing
    offsets: Growing
    has_vector: Growing
    seqs: Growing
    ranks: Growing
    ids: MemtableIds
    payload: Payload | None
    taken: NDArray[np.bool_]
    id_type: pa.DataType
    slots: I64 = field(init=False)
    searched: I64 = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "slots", np.flatnonzero(self.taken))
        object.__setattr__(self, "searched", np.flatnonzero(self.taken & self.has_vector.rows))

    @classmethod
    def nothing(cls, dim: int, folded_dim: int, id_type: pa.DataType, schema: pa.Schema | None) -> "Memtable":
        """No slots yet, for targets of d and d' dimensions."""
        return cls(
            vectors=Growing(np.empty((0, dim), np.float32)),
            folded=Growing(np.empty((0, folded_dim), np.float32)),
            offsets=Growing(np.empty(0, np.float32)),
            has_vector=Growing(np.empty(0, np.bool_)),
            seqs=Growing(np.empty(0, np.int64)),
            ranks=Growing(np.empty(0, np.int64)),
            ids=MemtableIds(),
            payload=None if schema is None else Payload(schema.empty_table()),
            taken=np.empty(0, np.bool_),
            id_type=id_type,
        )

    def __len__(self) -> int:
        return len(self.slots)

    def with_more(
        self,
        vectors: F32,
        folded: F32,
        offsets: F32,
        has_vector: NDArray[np.bool_],
        ids: Sequence[str | int],
        payload: pa.Table | None,
        seqs: I64,
        ranks: I64,
    ) -> "Memtable":
        """These, and then more."""
        return Memtable(
            vectors=self.vectors.with_rows(vectors),
            folded=self.folded.with_rows(folded),
            offsets=self.offsets.with_rows(offsets),
            has_vector=self.has_vector.with_rows(has_vector),
            seqs=self.seqs.with_rows(seqs),
            ranks=self.ranks.with_rows(ranks),
            ids=self.ids.with_more(ids),
            payload=None if self.payload is None or payload is None else self.payload.with_rows(payload),
            taken=np.concatenate([self.taken, np.ones(len(vectors), np.bool_)]),
            id_type=self.id_type,
        )

    def without(self, slots: I64) -> "Memtable":
        """These, some slots emptied."""
        if not len(slots):
            return self
        taken = self.taken.copy()
        taken[slots] = False
        left = replace(self, taken=taken)
        return left if 2 * len(left) >= len(taken) - _MOST_EMPTY else left._moved_together()

    def slot(self, wanted: str | int) -> int:
        """The slot of an id; −1 for none."""
        slot = self.ids.slot(wanted)
        return slot if slot >= 0 and self.taken[slot] else -1

    def id_array(self) -> pa.Array:
        """The ids of all targets, (a,)."""
        return pa.array(self.ids.of(self.slots), self.id_type)

    def best(self, augmented: F32, k: int, slots: I64) -> tuple[F32, I64]:
        """The k best of some slots for each query: scores (m, k) and slots (m, k), best first.

        Parameters
        ----------
        k : at most as many as there are slots given
        """
        folded = self.folded.rows
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
        slots = self.slots
        payload = None if self.payload is None else Payload(self.payload.table().take(slots).combine_chunks())
        return Memtable(
            vectors=Growing(self.vectors.rows[slots]),
            folded=Growing(self.folded.rows[slots]),
            offsets=Growing(self.offsets.rows[slots]),
            has_vector=Growing(self.has_vector.rows[slots]),
            seqs=Growing(self.seqs.rows[slots]),
            ranks=Growing(self.ranks.rows[slots]),
            ids=MemtableIds().with_more(self.ids.of(slots)),
            payload=payload,
            taken=np.ones(len(slots), np.bool_),
            id_type=self.id_type,
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
