"""Targets, ids and payload of a base, without the rows that were removed, and with those that were added."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import PointNotFound
from hubless.kernels.reductions import merged
from hubless.search.delta.memtable import Memtable
from hubless.search.engines.base import How, StoredTargets, TargetsOver, check_scores
from hubless.search.matches import Matches, MatchesCache
from hubless.search.parts import Numbering, Parts
from hubless.vectors.arrays import F32, I64
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Masks, Payload


@dataclass(frozen=True, eq=False)
class DeltaTargets(TargetsOver):
    """The targets of a base that are left, and added ones, in a memtable.

    What was removed is left out inside the search of the base, so that k hits stay k; each query is compared with every
    added target. The answers are merged by score, so they are what an index of these rows gives.
    """

    base: StoredTargets
    numbering: Numbering
    memtable: Memtable
    _parted: WeakKeyDictionary[Matches, tuple[Matches, I64]] = field(default_factory=WeakKeyDictionary, repr=False)

    def __len__(self) -> int:
        return self.numbering.count

    @property
    def like(self) -> StoredTargets:
        return self.base

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> tuple[F32, I64]:
        of_base, slots = self._parts_of(matches)
        found = []
        if room := min(k, self.base.room(of_base)):
            scores, rows = self.base.find(augmented, room, how, of_base)
            found.append((scores, self.numbering.from_base(rows)))
        if room := min(k, len(slots)):
            scores, taken = self.memtable.best(augmented, room, slots)
            check_scores(scores, taken)
            found.append((scores, self.numbering.of_base + np.searchsorted(self.memtable.slots, taken)))
        return merged(found, k)

    def room(self, matches: Matches | None) -> int:
        of_base, slots = self._parts_of(matches)
        return self.base.room(of_base) + len(slots)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        return self._values(rows, self.base.vectors, "vectors")

    def have_vectors(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        return self._values(rows, self.base.have_vectors, "has_vector")

    def is_shared(self, matches: Matches | None, *, exact: bool = False) -> bool:
        return self.base.is_shared(self._parts_of(matches)[0], exact=exact)

    def seqs(self, rows: NDArray[np.integer], of_base: int) -> I64:
        """Return the write that put each of some rows last; `of_base` for rows of the base."""
        return self._values(rows, lambda inside: np.full(len(inside), of_base), "seqs")

    def _values(
        self, rows: NDArray[np.integer], of_base: Callable[[NDArray[np.integer]], NDArray[Any]], added: str
    ) -> NDArray[Any]:
        """Return values of some rows: those of the base by a function of its rows, others from a column."""
        rows = np.asarray(rows, np.int64)
        inside = rows < self.numbering.of_base
        if inside.all():
            return of_base(self.numbering.in_base(rows))
        more = self.memtable.rows(added)[self._slots_of(rows[~inside])]
        found = np.empty((len(rows), *more.shape[1:]), more.dtype)
        found[~inside] = more
        if inside.any():
            found[inside] = of_base(self.numbering.in_base(rows[inside]))
        return found

    def place(self, row: int) -> tuple[int, int]:
        if row < self.numbering.of_base:
            return 0, int(self.numbering.in_base(np.array([row]))[0])
        slot = self.memtable.slots[row - self.numbering.of_base]
        return int(self.memtable.rows("seqs")[slot]), int(self.memtable.rows("ranks")[slot])

    def row_from(self, seq: int, rank: int) -> int:
        numbering, slots = self.numbering, self.memtable.slots
        if not seq:
            return (
                min(rank, numbering.of_base) if numbering.left is None else int(np.searchsorted(numbering.left, rank))
            )
        first, after = (int(place) for place in np.searchsorted(self.memtable.rows("seqs")[slots], [seq, seq + 1]))
        ranks = self.memtable.rows("ranks")[slots[first:after]]
        return numbering.of_base + first + int(np.searchsorted(ranks, rank))

    def _slots_of(self, rows: NDArray[np.integer]) -> I64:
        slots: I64 = self.memtable.slots[rows - self.numbering.of_base]
        return slots

    def _parts_of(self, matches: Matches | None) -> tuple[Matches | None, I64]:
        if matches is None:
            return self.numbering.matches, self.memtable.searched
        if (known := self._parted.get(matches)) is None:
            rows, first_added = matches.rows, self.numbering.of_base
            inside = self.numbering.in_base(rows[rows < first_added])
            slots = self._slots_of(rows[rows >= first_added])
            of_base = Matches.of_rows(inside, self.numbering.total, matches.filter, self.numbering.gone)
            known = of_base, slots[self.memtable.rows("has_vector")[slots]]
            self._parted[matches] = known  # as long as the matches are held
        return known


class DeltaIds:
    """The ids of a base that are left, and those of added rows."""

    def __init__(self, base: IdTable, numbering: Numbering, memtable: Memtable) -> None:
        self._base = base
        self._numbering = numbering
        self._memtable = memtable

    def __len__(self) -> int:
        return self._numbering.count

    @property
    def type(self) -> str:
        return self._base.type

    @property
    def array(self) -> pa.Array:
        left = self._numbering.left
        base = self._base.array if left is None else self._base.array.take(left)
        return pa.concat_arrays([base, self._memtable.id_array()])

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        of_base = self._numbering.of_base
        in_base = rows[rows < of_base]
        found = iter(self._base.ids(self._numbering.in_base(in_base)))
        more = iter(self._memtable.ids.of(self._memtable.slots[rows[rows >= of_base] - of_base]))
        return [next(found) if row < of_base else next(more) for row in rows.tolist()]

    def row(self, wanted: str | int) -> int:
        if (slot := self._memtable.slot(wanted)) >= 0:
            return self._numbering.of_base + int(np.searchsorted(self._memtable.slots, slot))
        row = int(self._numbering.from_base(np.array([self._base.row(wanted)]))[0])
        if row < 0:
            raise PointNotFound(f"no target has the id {wanted!r}")
        return row

    def parse(self, text: str) -> str | int:
        return self._base.parse(text)


class DeltaPayload:
    """The payload of rows of a base, of which `known` are matches of filters, and of added rows in some slots."""

    def __init__(self, base: Payload, known: MatchesCache, numbering: Numbering, added: Payload, slots: I64) -> None:
        self._base = base
        self._known = known
        self._numbering = numbering
        self._added = added
        self._slots = slots

    def __len__(self) -> int:
        return self._numbering.count

    @property
    def schema(self) -> pa.Schema:
        return self._base.schema

    def mask(self, filter: Masks) -> NDArray[np.bool_]:
        of_base = self._numbering.of(self._known.of(filter).mask)
        return np.concatenate([of_base, self._added.mask(filter)[self._slots]])

    def take(
        self, rows: Sequence[int] | NDArray[np.integer], columns: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        wanted, of_base = np.asarray(rows, np.int64), self._numbering.of_base
        inside = wanted < of_base
        found = iter(self._base.take(self._numbering.in_base(wanted[inside]), columns))
        more = iter(self._added.take(self._slots[wanted[~inside] - of_base], columns))
        return [next(found) if each else next(more) for each in inside.tolist()]

    def table(self) -> pa.Table:
        left = self._numbering.left
        base = self._base.table()
        return pa.concat_tables([base if left is None else base.take(left), self._added.table().take(self._slots)])


def seqs_of(parts: Parts, rows: NDArray[np.integer]) -> I64:
    """Return the number of the last write that changed each of some rows, or a higher one that the version has."""
    of_version = parts.manifest.log_seq
    if isinstance(parts.targets, DeltaTargets):
        return parts.targets.seqs(rows, of_version)
    return np.full(len(rows), of_version)


def place_of(parts: Parts, row: int) -> tuple[int, int]:
    """Return where a row stands, for cursors: the same in every process that has opened the version and its log.

    A row of the version: 0 and its number there. An added one: the write that put it, and its row in that write.
    """
    return parts.targets.place(row) if isinstance(parts.targets, DeltaTargets) else (0, row)


def row_from(parts: Parts, seq: int, rank: int) -> int:
    """Return the first row that stands at a place or after it; the number of rows if there is none."""
    if isinstance(parts.targets, DeltaTargets):
        return parts.targets.row_from(seq, rank)
    return len(parts.offsets) if seq else min(rank, len(parts.offsets))
