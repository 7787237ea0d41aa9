"""Targets, ids and payload of a base, without the rows that were removed, and with those that were added.

Rows are numbered without gaps: first those of the base that are left, in their order, then the added ones in theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import PointNotFound
from hubless.search.delta.memtable import Memtable
from hubless.search.engines.base import How, Kind, StoredTargets, best_of, check_scores
from hubless.search.matches import Matches, MatchesCache
from hubless.vectors.arrays import F32, I64
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Masks, Payload


@dataclass(frozen=True, eq=False)
class Left:
    """Which rows of a base are left. What is made of it is made once, when it is first needed.

    Parameters
    ----------
    total : rows of the base
    rows : (r,) those that are left, ascending; None for all
    """

    total: int
    rows: I64 | None = None
    _kept: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.total if self.rows is None else len(self.rows)

    def without(self, rows: NDArray[np.integer]) -> "Left":
        """Fewer rows: without some rows of the base that are left."""
        if not len(rows):
            return self
        kept = np.arange(self.total) if self.rows is None else self.rows
        return Left(self.total, np.delete(kept, np.searchsorted(kept, np.sort(rows))))

    def has(self, row: int) -> bool:
        """Whether a row of the base is left."""
        if self.rows is None:
            return True
        place = int(np.searchsorted(self.rows, row))
        return place < len(self.rows) and int(self.rows[place]) == row

    @cached_property
    def places(self) -> I64 | None:
        """For each row of the base its place among those that are left, −1 for those that are gone; None for all."""
        if self.rows is None:
            return None
        places = np.full(self.total, -1)
        places[self.rows] = np.arange(len(self.rows))
        return places

    @cached_property
    def matches(self) -> Matches | None:
        """The same as matches; None for all."""
        return None if self.rows is None else _selected(self.rows, self.total, None, self.gone)

    @cached_property
    def gone(self) -> I64 | None:
        """The rows that are gone, ascending; None for none."""
        return None if self.places is None else np.flatnonzero(self.places < 0)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the base, of the rows that are left, along the last axis."""
        return values if self.rows is None else values[..., self.rows]

    def kept(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """As `of`, taken once for each name."""
        if name not in self._kept:
            self._kept[name] = self.of(values)
        return self._kept[name]


@dataclass(frozen=True, eq=False)
class Numbering:
    """Which rows of the base are left, and how many rows were added."""

    base: Left
    added: int

    @property
    def of_base(self) -> int:
        """How many rows are of the base."""
        return len(self.base)

    @property
    def removed(self) -> int:
        """How many rows of the base are gone."""
        return self.base.total - self.of_base

    @property
    def count(self) -> int:
        return self.of_base + self.added

    @property
    def total(self) -> int:
        """Rows of the base, those that are gone included."""
        return self.base.total

    @property
    def left(self) -> I64 | None:
        """Rows of the base that are left; None for all."""
        return self.base.rows

    def base_rows(self, rows: I64) -> I64:
        """The rows in the base of some rows; −1 for added ones."""
        found = np.full(rows.shape, -1)
        inside = rows < self.of_base
        found[inside] = self.in_base(rows[inside])
        return found

    def in_base(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        """The rows in the base of some rows that are of the base."""
        return rows if self.left is None else self.left[rows]

    def from_base(self, rows: I64) -> I64:
        """The rows of some rows of the base; −1 for those that were removed."""
        places = self.base.places
        return rows if places is None else places[rows]


@dataclass(frozen=True, eq=False)
class DeltaTargets:
    """The targets of a base that are left, and added ones.

    The index of the base stays as it is: what was removed is left out inside its search, not after it, so that k hits
    stay k. Each query is compared with every added target. The two answers are merged by score, so what comes out is
    what an index of these rows gives.

    Parameters
    ----------
    beside : the added targets, those that are gone included
    """

    base: StoredTargets
    numbering: Numbering
    beside: Memtable
    _parted: WeakKeyDictionary[Matches, tuple[Matches, I64]] = field(default_factory=WeakKeyDictionary, repr=False)

    def __len__(self) -> int:
        return self.numbering.count

    @property
    def kind(self) -> Kind:
        return self.base.kind

    @property
    def dim(self) -> int:
        return self.base.dim

    @property
    def pivot(self) -> F32 | None:
        return self.base.pivot

    @property
    def defaults(self) -> Mapping[str, Any]:
        return self.base.defaults

    @property
    def compares_all(self) -> bool:
        return self.base.compares_all

    def augmented(self, queries: F32, strength: float) -> F32:
        return self.base.augmented(queries, strength)

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> tuple[F32, I64]:
        of_base, slots = self._parts_of(matches)
        found = []
        if room := min(k, self.base.room(of_base)):
            scores, rows = self.base.find(augmented, room, how, of_base)
            found.append((scores, self.numbering.from_base(rows)))
        if room := min(k, len(slots)):
            scores, taken = self.beside.best(augmented, room, slots)
            check_scores(scores, taken)
            found.append((scores, self.numbering.of_base + np.searchsorted(self.beside.slots, taken)))
        return best_of(found, k)

    def room(self, matches: Matches | None) -> int:
        of_base, slots = self._parts_of(matches)
        return self.base.room(of_base) + len(slots)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        rows = np.asarray(rows, np.int64)
        of_base = rows < self.numbering.of_base
        if of_base.all():
            return self.base.vectors(self.numbering.in_base(rows))
        found = np.empty((len(rows), self.base.dim), np.float32)
        if of_base.any():
            found[of_base] = self.base.vectors(self.numbering.in_base(rows[of_base]))
        found[~of_base] = self.beside.vectors.rows[self._slots_of(rows[~of_base])]
        return found

    def have_vectors(self, rows: NDArray[np.integer]) -> NDArray[np.bool_]:
        rows = np.asarray(rows, np.int64)
        of_base = rows < self.numbering.of_base
        found = np.empty(len(rows), np.bool_)
        found[of_base] = self.base.have_vectors(self.numbering.in_base(rows[of_base]))
        found[~of_base] = self.beside.has_vector.rows[self._slots_of(rows[~of_base])]
        return found

    def is_shared(self, matches: Matches | None, *, exact: bool = False) -> bool:
        return self.base.is_shared(self._parts_of(matches)[0], exact=exact)

    def seqs(self, rows: NDArray[np.integer], of_base: int) -> I64:
        """The write that put each of some rows last.

        Parameters
        ----------
        of_base : that of the rows of the base
        """
        rows = np.asarray(rows, np.int64)
        found: I64 = np.full(len(rows), of_base)
        added = rows >= self.numbering.of_base
        found[added] = self.beside.seqs.rows[self._slots_of(rows[added])]
        return found

    def place(self, row: int) -> tuple[int, int]:
        """As `Collection.place`."""
        if row < self.numbering.of_base:
            return 0, int(self.numbering.in_base(np.array([row]))[0])
        slot = self.beside.slots[row - self.numbering.of_base]
        return int(self.beside.seqs.rows[slot]), int(self.beside.ranks.rows[slot])

    def row_from(self, seq: int, rank: int) -> int:
        """As `Collection.row_from`."""
        numbering, slots = self.numbering, self.beside.slots
        if not seq:
            return (
                min(rank, numbering.of_base) if (left := numbering.left) is None else int(np.searchsorted(left, rank))
            )
        first, after = (int(place) for place in np.searchsorted(self.beside.seqs.rows[slots], [seq, seq + 1]))
        ranks = self.beside.ranks.rows[slots[first:after]]
        return numbering.of_base + first + int(np.searchsorted(ranks, rank))

    def _slots_of(self, rows: NDArray[np.integer]) -> I64:
        slots: I64 = self.beside.slots[rows - self.numbering.of_base]
        return slots

    def _parts_of(self, matches: Matches | None) -> tuple[Matches | None, I64]:
        """What matches of the base, None for all; and which slots."""
        if matches is None:
            return self.numbering.base.matches, self.beside.searched
        if (known := self._parted.get(matches)) is None:
            rows, first_added = matches.rows, self.numbering.of_base
            inside = self.numbering.in_base(rows[rows < first_added])
            slots = self._slots_of(rows[rows >= first_added])
            of_base = _selected(inside, self.numbering.total, matches.filter, self.numbering.base.gone)
            known = of_base, slots[self.beside.has_vector.rows[slots]]
            self._parted[matches] = known  # as long as the matches are held
        return known


def _selected(rows: NDArray[np.integer], total: int, filter: Masks | None, without: I64 | None) -> Matches:
    mask = np.zeros(total, np.bool_)
    mask[rows] = True
    return Matches(mask, filter, without)


class DeltaIds:
    """The ids of a base that are left, and those of added rows."""

    def __init__(self, base: IdTable, numbering: Numbering, beside: Memtable) -> None:
        self._base = base
        self._numbering = numbering
        self._beside = beside

    def __len__(self) -> int:
        return self._numbering.count

    @property
    def type(self) -> str:
        return self._base.type

    @property
    def array(self) -> pa.Array:
        left = self._numbering.left
        base = self._base.array if left is None else self._base.array.take(left)
        return pa.concat_arrays([base, self._beside.id_array()])

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        of_base = self._numbering.of_base
        in_base = rows[rows < of_base]
        found = iter(self._base.ids(self._numbering.in_base(in_base)))
        more = iter(self._beside.ids.of(self._beside.slots[rows[rows >= of_base] - of_base]))
        return [next(found) if row < of_base else next(more) for row in rows.tolist()]

    def row(self, wanted: str | int) -> int:
        if (slot := self._beside.slot(wanted)) >= 0:
            return self._numbering.of_base + int(np.searchsorted(self._beside.slots, slot))
        row = int(self._numbering.from_base(np.array([self._base.row(wanted)]))[0])
        if row < 0:
            raise PointNotFound(f"no target has the id {wanted!r}")
        return row

    def parse(self, text: str) -> str | int:
        return self._base.parse(text)


class DeltaPayload:
    """The payload of the rows of a base that are left, and of added ones.

    Parameters
    ----------
    known : what filters matched in the base, which stays as it is
    added : of all slots
    """

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
        of_base = self._numbering.base.of(self._known.of(filter).mask)
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
