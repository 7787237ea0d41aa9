"""Adding and removing targets without building the index again: the parts of a base, changed.

Offsets of added targets come from the correction as it was fitted. A gate or a rescorer is prepared again for the
targets that there are now, with the first query after a change.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.corrections import QueryTime
from hubless.errors import DuplicateIds, PointNotFound
from hubless.knn.augment import augment_targets, augmented_dim
from hubless.search.changed import ChangedIds, ChangedPayload, ChangedTargets, Numbering
from hubless.search.growing import Growing
from hubless.search.indexed import IndexedTargets, StoredVectors
from hubless.search.matches import MatchesCache
from hubless.search.parts import Ids, Parts
from hubless.vectors.arrays import F32, I64, half_rows
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload

_CHUNKS = 64
"""Pieces of payload that lie beside each other before they become one."""


@dataclass(frozen=True, eq=False)
class Added:
    """Targets to add: vectors (a, d) as they are compared, offsets (a,), ids, payload in the types of the base's."""

    vectors: F32
    offsets: F32
    ids: pa.Array
    payload: pa.Table | None


@dataclass(frozen=True, eq=False)
class Beside:
    """The targets that stand beside the index, in the order in which they came.

    Parameters
    ----------
    vectors, folded : (a, d) and (a, d') as they are compared, and with their offsets folded in, as in the base
    arrivals : (a,) how many were added before each, those included that are gone
    """

    vectors: Growing
    folded: Growing
    offsets: F32
    ids: pa.Array
    payload: pa.Table | None
    arrivals: I64

    def with_more(self, more: Added, folded: F32, arrivals: I64) -> "Beside":
        """These, and then more."""
        payload = None
        if self.payload is not None:
            payload = pa.concat_tables([self.payload, more.payload])
            if payload.column(0).num_chunks > _CHUNKS:
                payload = payload.combine_chunks()
        return Beside(
            self.vectors.with_rows(more.vectors),
            self.folded.with_rows(folded),
            np.concatenate([self.offsets, more.offsets]),
            pa.concat_arrays([self.ids, more.ids]),
            payload,
            np.concatenate([self.arrivals, arrivals]),
        )

    def kept(self, rows: I64) -> "Beside":
        """Some of them."""
        if len(rows) == len(self.offsets):
            return self
        return Beside(
            Growing(self.vectors.rows[rows]),
            Growing(self.folded.rows[rows]),
            self.offsets[rows],
            self.ids.take(rows),
            None if self.payload is None else self.payload.take(rows),
            self.arrivals[rows],
        )


@dataclass(frozen=True, eq=False)
class Changes:
    """A base, what is left of it, and what was added. Never changed: its methods give new ones.

    Parameters
    ----------
    base : parts whose targets lie in an index
    known : what filters matched in the base; None without payload
    left : rows of the base that are left, ascending; None for all
    added : the targets beside it
    arrived : how many were ever added
    """

    base: Parts
    targets: IndexedTargets
    ids: IdTable
    payload: Payload | None
    known: MatchesCache | None
    left: I64 | None
    added: Beside
    arrived: int = 0

    @classmethod
    def of(cls, base: Parts, filter_cache: int) -> "Changes":
        """No changes yet.

        Parameters
        ----------
        filter_cache : bytes to keep of what filters matched in the base
        """
        targets, ids, payload = base.targets, base.ids, base.payload
        if not (isinstance(targets, IndexedTargets) and isinstance(ids, IdTable)):
            raise TypeError("the base is changed already")
        if not (payload is None or isinstance(payload, Payload)):
            raise TypeError("the base is changed already")
        known = None if payload is None else MatchesCache(payload, filter_cache)
        added = Beside(
            Growing(np.empty((0, targets.dim), np.float32)),
            Growing(np.empty((0, augmented_dim(targets.dim)), np.float32)),
            np.empty(0, np.float32),
            ids.array[:0],
            None if payload is None else payload.schema.empty_table(),
            np.empty(0, np.int64),
        )
        return cls(base, targets, ids, payload, known, None, added)

    def adding(self, more: Added, known: Ids) -> "Changes":
        """With more targets.

        Parameters
        ----------
        known : the ids of the targets that there are now

        Raises
        ------
        DuplicateIds
            naming an id that stands twice, or that a target has.
        """
        IdTable.of(more.ids)
        found = rows_of(more.ids.to_pylist(), known)
        for row, wanted in zip(found, more.ids, strict=True):
            if row is not None:
                raise DuplicateIds("ids", "ids that no target has", f"{wanted.as_py()!r}, the id of row {row}")
        return self.with_more(more)

    def with_more(self, more: Added) -> "Changes":
        """With more targets, whose ids no target has."""
        half = self.targets.kind.precision == "float16"
        if half:
            more = replace(more, vectors=half_rows(more.vectors, "vectors"))
        folded = augment_targets(more.vectors, more.offsets, self.targets.pivot, half=half)
        arrived = self.arrived + len(more.ids)
        added = self.added.with_more(more, folded, np.arange(self.arrived, arrived))
        return replace(self, added=added, arrived=arrived)

    def removing(self, rows: I64) -> "Changes":
        """Without some of the rows that there are now."""
        of_base = self._numbering.of_base
        inside = rows < of_base
        kept = np.delete(np.arange(self.targets.index.ntotal) if self.left is None else self.left, rows[inside])
        some = np.delete(np.arange(len(self.added.ids)), rows[~inside] - of_base)
        left = None if len(kept) == self.targets.index.ntotal else kept
        return replace(self, left=left, added=self.added.kept(some))

    @property
    def _numbering(self) -> Numbering:
        return Numbering(self.targets.index.ntotal, self.left, self.added.arrivals)

    @property
    def count_added(self) -> int:
        """How many targets stand beside the index."""
        return len(self.added.offsets)

    @property
    def count_removed(self) -> int:
        """How many targets of the index are gone."""
        return self._numbering.removed

    @property
    def next_id(self) -> int:
        """A whole number above all ids."""
        largest = [pc.max(ids).as_py() for ids in (self.ids.array, self.added.ids) if len(ids)]
        return max(largest, default=-1) + 1

    @property
    def note(self) -> str:
        """What changed, in words, for the manifest of a version that is made of this."""
        added, removed = self.count_added, self.count_removed
        return f"{added:,} targets were added and {removed:,} removed after the correction was fitted"

    def parts(self) -> Parts:
        """What a collection of these targets is made of."""
        base, numbering, added = self.base, self._numbering, self.added
        targets = ChangedTargets(self.targets, numbering, added.vectors.rows, added.folded.rows)
        payload = None
        if self.payload is not None and self.known is not None:
            payload = ChangedPayload(self.payload, self.known, numbering, Payload(added.payload))
        return replace(
            base,
            manifest=base.manifest.model_copy(update={"count": numbering.count}),
            targets=targets,
            offsets=numbering.joined(base.offsets, added.offsets),
            ids=ChangedIds(self.ids, numbering, added.ids),
            payload=payload,
            prepared=cache(lambda: self._prepared(targets)),
            occurrence=self._occurrence(numbering),
            folder=None,
            numbering=numbering,
            arrived=self.arrived,
        )

    def _prepared(self, targets: ChangedTargets) -> QueryTime | None:
        if self.base.prepared() is None or not len(targets):
            return None
        return self.base.correction().query_time(StoredVectors(targets, "targets"))

    def _occurrence(self, numbering: Numbering) -> Any:
        if self.base.occurrence is None:
            return None
        return numbering.joined(self.base.occurrence.astype(np.int32), np.full((2, numbering.added), -1, np.int32))


def rows_of(ids: Sequence[str | int], known: Ids) -> list[int | None]:
    """The rows of some ids; None for an id that no target has."""
    return [_row_of(wanted, known) for wanted in ids]


def _row_of(wanted: str | int, known: Ids) -> int | None:
    try:
        return known.row(wanted)
    except PointNotFound:
        return None
