"""The segment in memory: what was written since the others were made. Rows come at its end, and are never moved.

To replace a target costs a row, whatever else there is. Once more rows are gone than left, the others move together.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import faiss
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections.target_columns import NO_COLUMNS, TargetColumn, TargetColumns
from hubless.knn.augment import augmented_dim, folded_targets
from hubless.knn.base import Found
from hubless.search.bitmap import Bitmap
from hubless.search.engines.base import Exact, How
from hubless.search.segments.segment import NO_ROWS, Segment, SegmentView
from hubless.vectors.arrays import F32, I64, Flags
from hubless.vectors.payload import Payload

FEWEST_GONE = 1024
"""Rows that may be gone however few are left."""
_LEAST_ROOM = 64
_FEW = 0.25
"""Up to this share of the rows it costs less to copy them than to look at all."""
_TOGETHER = 64
"""Queries whose scores are in memory at a time."""


class GrowingRows:
    """Columns of rows (a, …), never changed: `with_rows` gives others, in the same memory, taken for twice as many."""

    def __init__(self, *columns: NDArray[Any]) -> None:
        self.columns: Sequence[NDArray[Any]] = columns
        self._room: Sequence[NDArray[Any]] = columns
        # how many rows of the room belong to somebody
        self._used = [len(columns[0])]

    def with_rows(self, *more: NDArray[Any]) -> "GrowingRows":
        before = len(self.columns[0])
        count = before + len(more[0])
        grown = GrowingRows(*self.columns)
        grown._room, grown._used = self._room, self._used
        if self._used[0] != before or count > len(self._room[0]):
            sizes = max(_LEAST_ROOM, 2 * count)
            grown._room = [np.empty((sizes, *each.shape[1:]), each.dtype) for each in self.columns]
            grown._used = [0]
            for room, rows in zip(grown._room, self.columns, strict=True):
                room[:before] = rows
        for room, rows in zip(grown._room, more, strict=True):
            room[before:count] = rows
        grown._used[0] = count
        grown.columns = [room[:count] for room in grown._room]
        return grown


class MemoryIds:
    """The ids of s rows, never changed: `with_more` gives another, which shares the memory of this one."""

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._count = 0
        self._names: list[str | int] = []
        self._previous: list[int] = []  # the row that the id of each row had before
        self._latest: dict[str | int, int] = {}  # the last row of each id
        self.largest: str | int | None = None

    def with_more(self, ids: Sequence[str | int]) -> "MemoryIds":
        grown = MemoryIds(self._kind)
        if len(self._names) == self._count:
            vars(grown).update(vars(self))
        else:  # others have grown from this already
            grown._extend(self._names[: self._count])
        grown._extend(ids)
        grown._count = self._count + len(ids)
        grown.largest = max([*ids, *([] if self.largest is None else [self.largest])], default=None)
        return grown

    @property
    def array(self) -> pa.Array:
        return pa.array(self._names[: self._count], self._kind)

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        return [self._names[row] for row in rows.tolist()]

    def rows(self, wanted: Sequence[Any]) -> I64:
        """The last row that each id had, whether or not it is gone; −1 for none."""
        return np.array([self._row(each) for each in wanted], np.int64)

    def _row(self, wanted: Any) -> int:
        row = -1 if isinstance(wanted, bool) else self._latest.get(wanted, -1)
        while row >= self._count:
            row = self._previous[row]
        return row

    def _extend(self, ids: Sequence[str | int]) -> None:
        for wanted in ids:
            # in this order, as others read meanwhile
            self._previous.append(self._latest.get(wanted, -1))
            self._names.append(wanted)
            self._latest[wanted] = len(self._names) - 1


@dataclass(frozen=True, eq=False)
class MemoryIndex(Exact):
    """Vectors of d dimensions in memory, with their offsets `folded` in, (s, d'). A query is compared with each."""

    dim: int
    folded: F32

    def __len__(self) -> int:
        return len(self.folded)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        return np.ascontiguousarray(self.folded[rows, : self.dim])

    def find(self, augmented: F32, k: int, how: How, only: Bitmap | None) -> Found:
        folded = self.folded
        if only is None or only.count <= _FEW * len(folded):
            rows = None if only is None else only.rows
            chosen = folded if rows is None else folded[rows]
            scores, found = faiss.knn(augmented, chosen, k, faiss.METRIC_INNER_PRODUCT)
            return scores, found if rows is None else rows[found]
        hidden = ~only.mask
        parts = [
            _masked_best(augmented[start : start + _TOGETHER] @ folded.T, hidden, k)
            for start in range(0, len(augmented), _TOGETHER)
        ]
        return np.concatenate([scores for scores, _ in parts]), np.concatenate([rows for _, rows in parts])


def _masked_best(scores: F32, hidden: NDArray[Any], k: int) -> Found:
    finite = np.isfinite(scores).all()  # the mask must not hide that a score does not fit float32
    scores[:, hidden] = -np.inf
    rows = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    found = np.take_along_axis(scores, rows, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    best = np.take_along_axis(found, order, axis=1)
    if not finite:
        best = np.full_like(best, np.nan)
    return best, np.take_along_axis(rows, order, axis=1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class NewTargets:
    """Targets to add: vectors (a, d) as they are compared, offsets, ids, payload in the types of the others.

    Vector and offset of those without `has_vector` are 0. `stamps` (2, a) say which write put each, and in which row
    of it. `columns` are kept of those whose id a target had.
    """

    vectors: F32
    offsets: F32
    ids: pa.Array
    payload: pa.Table | None
    has_vector: Flags
    stamps: I64
    columns: TargetColumns = NO_COLUMNS


@dataclass(frozen=True, eq=False, kw_only=True)
class Memory(Segment):
    """A segment that grows: `with_more` gives another, in the same memory.

    `rows` are [t, −h], offsets, stamps, and what is kept in each column.
    """

    ids: MemoryIds
    rows: GrowingRows

    @classmethod
    def empty(cls, dim: int, id_type: pa.DataType, schema: pa.Schema | None, roles: Collection[str] = ()) -> "Memory":
        """No rows, of d dimensions, with the columns of some roles."""
        folded = np.empty((0, augmented_dim(dim)), np.float32)
        numbers = [np.empty(0) for _ in roles]
        rows = GrowingRows(folded, np.empty(0, np.float32), np.empty((0, 2), np.int64), *numbers)
        payload = None if schema is None else Payload(schema.empty_table())
        return cls._of(dim, rows, MemoryIds(id_type), payload, NO_ROWS, roles)

    @classmethod
    def _of(
        cls, dim: int, rows: GrowingRows, ids: MemoryIds, payload: Payload | None, bare: I64, roles: Collection[str]
    ) -> "Memory":
        folded, offsets, stamps, *numbers = rows.columns
        return cls(
            index=MemoryIndex(dim, folded),
            offsets=offsets,
            stamps=stamps.T,
            ids=ids,
            payload=payload,
            bare=bare,
            columns=TargetColumns(dict(zip(roles, map(TargetColumn, numbers), strict=True))),
            rows=rows,
        )

    def with_more(self, more: NewTargets) -> "Memory":
        """Return the segment with more targets behind its own; memory that has room is shared."""
        folded = folded_targets(more.vectors, more.offsets)
        roles = self.columns.by_role
        numbers = [more.columns.by_role[name].values for name in roles]
        return self._of(
            self.index.dim,
            self.rows.with_rows(folded, more.offsets, more.stamps.T, *numbers),
            self.ids.with_more(more.ids.to_pylist()),
            None if self.payload is None or more.payload is None else self.payload.with_rows(more.payload),
            np.concatenate([self.bare, len(self) + np.flatnonzero(~more.has_vector)]),
            roles,
        )

    def moved_together(self, view: SegmentView) -> "Memory":
        """The rows of a view of it, in memory of their own."""
        left = view.left
        ids = view.of_left(self.ids.array)
        payload = None if self.payload is None else view.of_left(self.payload.table()).combine_chunks()
        vectors = self.index.vectors(left)
        there, stamps, columns = self.have_vectors[left], self.stamps_of(left), self.columns[left]
        new = NewTargets(vectors, self.offsets[left], ids, payload, there, stamps, columns)
        schema = None if payload is None else payload.schema
        return Memory.empty(self.index.dim, ids.type, schema, columns.by_role).with_more(new)
