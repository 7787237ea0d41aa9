"""Targets, ids and payload of a base, without the rows that were removed, and with those that were added.

Rows are numbered without gaps: first those of the base that are left, in their order, then the added ones in theirs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import faiss
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.errors import PointNotFound
from hubless.knn import IndexType
from hubless.search.indexed import How, IndexedTargets, check_scores
from hubless.search.matches import Matches, MatchesCache
from hubless.vectors.arrays import F32, I64
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Masks, Payload


@dataclass(frozen=True, eq=False)
class Numbering:
    """Which rows of the base are left, and how many rows were added.

    Parameters
    ----------
    total : rows of the base
    left : (r,) those that are left, ascending; None for all
    arrivals : (a,) of each added row, how many were added before it, those included that are gone; ascending
    """

    total: int
    left: I64 | None
    arrivals: I64
    _places: I64 | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        places = None
        if self.left is not None:
            places = np.full(self.total, -1)
            places[self.left] = np.arange(len(self.left))
        object.__setattr__(self, "_places", places)

    @property
    def of_base(self) -> int:
        """How many rows are of the base."""
        return self.total if self.left is None else len(self.left)

    @property
    def added(self) -> int:
        """How many rows were added."""
        return len(self.arrivals)

    @property
    def removed(self) -> int:
        """How many rows of the base are gone."""
        return self.total - self.of_base

    @property
    def count(self) -> int:
        return self.of_base + self.added

    def place(self, row: int) -> int:
        """Where a row stands among all that there ever were: no change moves it."""
        of_base = self.of_base
        if row < of_base:
            return row if self.left is None else int(self.left[row])
        return self.total + int(self.arrivals[row - of_base])

    def row_from(self, place: int) -> int:
        """The first row that stands at a place or after it."""
        if place < self.total:
            return place if self.left is None else int(np.searchsorted(self.left, place))
        return self.of_base + int(np.searchsorted(self.arrivals, place - self.total))

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
        return rows if self._places is None else self._places[rows]

    def joined(self, of_base: NDArray[Any], of_added: NDArray[Any]) -> NDArray[Any]:
        """One value a row, from those of all rows of the base and of the added ones, along the last axis."""
        kept = of_base if self.left is None else of_base[..., self.left]
        return np.concatenate([kept, of_added], axis=-1)


@dataclass(frozen=True, eq=False)
class ChangedTargets:
    """The targets of a base that are left, and added ones.

    The index of the base stays as it is: what was removed is left out inside its search, not after it, so that k hits
    stay k. Each query is compared with every added target. The two answers are merged by score, so what comes out is
    what an index of these rows gives.

    Parameters
    ----------
    added : (a, d) vectors as they are compared
    folded : (a, d') the same with their offsets folded in, as in the base
    """

    base: IndexedTargets
    numbering: Numbering
    added: F32
    folded: F32
    _all_left: Matches | None = field(init=False, repr=False)
    _parted: WeakKeyDictionary[Matches, tuple[Matches, I64]] = field(default_factory=WeakKeyDictionary, repr=False)

    def __post_init__(self) -> None:
        left = self.numbering.left
        object.__setattr__(self, "_all_left", None if left is None else _selected(left, self.numbering.total))

    def __len__(self) -> int:
        return self.numbering.count

    @property
    def kind(self) -> IndexType:
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

    def augmented(self, queries: F32, strength: float) -> F32:
        return self.base.augmented(queries, strength)

    def find(self, augmented: F32, k: int, how: How, matches: Matches | None) -> tuple[F32, I64]:
        of_base, of_added = self._parts_of(matches)
        found = []
        if room := min(k, self.numbering.of_base if of_base is None else of_base.count):
            scores, rows = self.base.find(augmented, room, how, of_base)
            found.append((scores, self.numbering.from_base(rows)))
        folded = self.folded if of_added is None else self.folded[of_added]
        if room := min(k, len(folded)):
            scores, rows = faiss.knn(augmented, folded, room, faiss.METRIC_INNER_PRODUCT)
            check_scores(scores, rows)
            found.append((scores, self.numbering.of_base + (rows if of_added is None else of_added[rows])))
        return _best(found, k)

    def vectors(self, rows: NDArray[np.integer]) -> F32:
        rows = np.asarray(rows, np.int64)
        of_base = rows < self.numbering.of_base
        if of_base.all():
            return self.base.vectors(self.numbering.in_base(rows))
        found = np.empty((len(rows), self.base.dim), np.float32)
        if of_base.any():
            found[of_base] = self.base.vectors(self.numbering.in_base(rows[of_base]))
        found[~of_base] = self.added[rows[~of_base] - self.numbering.of_base]
        return found

    def is_shared(self, matches: Matches | None) -> bool:
        return self.base.is_shared(self._parts_of(matches)[0])

    def _parts_of(self, matches: Matches | None) -> tuple[Matches | None, I64 | None]:
        """What matches of the base, and which of the added rows; None for all."""
        if matches is None:
            return self._all_left, None
        if (known := self._parted.get(matches)) is None:
            rows, of_base = matches.rows, self.numbering.of_base
            inside = self.numbering.in_base(rows[rows < of_base])
            known = _selected(inside, self.numbering.total), rows[rows >= of_base] - of_base
            self._parted[matches] = known  # as long as the matches are held
        return known


def _selected(rows: NDArray[np.integer], total: int) -> Matches:
    mask = np.zeros(total, np.bool_)
    mask[rows] = True
    return Matches(mask)


def _best(found: list[tuple[F32, I64]], k: int) -> tuple[F32, I64]:
    """The k best of each line of one or two searches."""
    if len(found) == 1:
        return found[0]
    scores, rows = (np.concatenate(each, axis=1) for each in zip(*found, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


class ChangedIds:
    """The ids of a base that are left, and those of added rows."""

    def __init__(self, base: IdTable, numbering: Numbering, added: pa.Array) -> None:
        self._base = base
        self._numbering = numbering
        self._added = added
        self._rows = {wanted: row for row, wanted in enumerate(added.to_pylist(), numbering.of_base)}

    def __len__(self) -> int:
        return self._numbering.count

    @property
    def type(self) -> str:
        return self._base.type

    @property
    def array(self) -> pa.Array:
        left = self._numbering.left
        return pa.concat_arrays([self._base.array if left is None else self._base.array.take(left), self._added])

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        of_base = self._numbering.of_base
        in_base = rows[rows < of_base]
        found = iter(self._base.ids(self._numbering.in_base(in_base)))
        return [next(found) if row < of_base else self._added[row - of_base].as_py() for row in rows.tolist()]

    def row(self, wanted: str | int) -> int:
        if not isinstance(wanted, bool) and (added := self._rows.get(wanted)) is not None:
            return added
        row = int(self._numbering.from_base(np.array([self._base.row(wanted)]))[0])
        if row < 0:
            raise PointNotFound(f"no target has the id {wanted!r}")
        return row

    def parse(self, text: str) -> str | int:
        return self._base.parse(text)


class ChangedPayload:
    """The payload of the rows of a base that are left, and of added ones.

    Parameters
    ----------
    known : what filters matched in the base, which stays as it is
    """

    def __init__(self, base: Payload, known: MatchesCache, numbering: Numbering, added: Payload) -> None:
        self._base = base
        self._known = known
        self._numbering = numbering
        self._added = added

    def __len__(self) -> int:
        return self._numbering.count

    @property
    def schema(self) -> pa.Schema:
        return self._base.schema

    def mask(self, filter: Masks) -> NDArray[np.bool_]:
        return self._numbering.joined(self._known.of(filter).mask, self._added.mask(filter))

    def take(
        self, rows: Sequence[int] | NDArray[np.integer], columns: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        wanted, of_base = np.asarray(rows, np.int64), self._numbering.of_base
        inside = wanted < of_base
        found = iter(self._base.take(self._numbering.in_base(wanted[inside]), columns))
        more = iter(self._added.take(wanted[~inside] - of_base, columns))
        return [next(found) if each else next(more) for each in inside.tolist()]

    def table(self) -> pa.Table:
        left = self._numbering.left
        base = self._base.table()
        return pa.concat_tables([base if left is None else base.take(left), self._added.table()])
