"""Adding and removing targets without building the index again: the parts of a base, changed.

Offsets of added targets come from the correction as it was fitted. A gate or a rescorer is prepared again for the
targets that there are now, with the first query after a change.
"""

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
from hubless.search.indexed import IndexedTargets, StoredVectors
from hubless.search.matches import MatchesCache
from hubless.search.parts import Ids, Parts
from hubless.vectors.arrays import F32, I64, half_rows
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload


@dataclass(frozen=True, eq=False)
class Added:
    """Targets that stand beside the index: vectors (a, d) as they are compared, offsets (a,), ids, payload."""

    vectors: F32
    offsets: F32
    ids: pa.Array
    payload: pa.Table | None

    def joined(self, other: "Added") -> "Added":
        """These, and then the others."""
        payload = None if self.payload is None else pa.concat_tables([self.payload, other.payload])
        return Added(
            np.concatenate([self.vectors, other.vectors]),
            np.concatenate([self.offsets, other.offsets]),
            pa.concat_arrays([self.ids, other.ids]),
            payload,
        )

    def kept(self, rows: I64) -> "Added":
        """Some of them."""
        payload = None if self.payload is None else self.payload.take(rows)
        return Added(self.vectors[rows], self.offsets[rows], self.ids.take(rows), payload)


@dataclass(frozen=True, eq=False)
class Changes:
    """A base, what is left of it, and what was added. Never changed: `adding` and `removing` give new ones.

    Parameters
    ----------
    base : parts whose targets lie in an index
    known : what filters matched in the base; None without payload
    left : rows of the base that are left, ascending; None for all
    folded : (a, d') the added targets with their offsets folded in, as in the base
    """

    base: Parts
    targets: IndexedTargets
    ids: IdTable
    payload: Payload | None
    known: MatchesCache | None
    left: I64 | None
    added: Added
    folded: F32

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
        none = None if payload is None else payload.schema.empty_table()
        added = Added(np.empty((0, targets.dim), np.float32), np.empty(0, np.float32), ids.array[:0], none)
        folded = np.empty((0, augmented_dim(targets.dim)), np.float32)
        return cls(base, targets, ids, payload, known, None, added, folded)

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
        _check_new(more.ids, known)
        half = self.targets.kind.precision == "float16"
        if half:
            more = replace(more, vectors=half_rows(more.vectors, "vectors"))
        folded = augment_targets(more.vectors, more.offsets, self.targets.pivot, half=half)
        return replace(self, added=self.added.joined(more), folded=np.concatenate([self.folded, folded]))

    def removing(self, rows: I64) -> "Changes":
        """Without some of the rows that there are now."""
        of_base = self._numbering.of_base
        inside = rows < of_base
        kept = np.delete(np.arange(self.targets.index.ntotal) if self.left is None else self.left, rows[inside])
        some = np.delete(np.arange(len(self.added.ids)), rows[~inside] - of_base)
        left = None if len(kept) == self.targets.index.ntotal else kept
        return replace(self, left=left, added=self.added.kept(some), folded=self.folded[some])

    @property
    def _numbering(self) -> Numbering:
        return Numbering(self.targets.index.ntotal, self.left, len(self.added.ids))

    @property
    def next_id(self) -> int:
        """A whole number above all ids."""
        largest = [pc.max(ids).as_py() for ids in (self.ids.array, self.added.ids) if len(ids)]
        return max(largest, default=-1) + 1

    @property
    def note(self) -> str:
        """What changed, in words, for the manifest of a version that is made of this."""
        removed = self.targets.index.ntotal - self._numbering.of_base
        return f"{len(self.added.ids):,} targets were added and {removed:,} removed after the correction was fitted"

    def parts(self) -> Parts:
        """What a collection of these targets is made of."""
        base, numbering, added = self.base, self._numbering, self.added
        targets = ChangedTargets(self.targets, numbering, added.vectors, self.folded)
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
        )

    def _prepared(self, targets: ChangedTargets) -> QueryTime | None:
        if self.base.prepared() is None or not len(targets):
            return None
        return self.base.correction().query_time(StoredVectors(targets, "targets"))

    def _occurrence(self, numbering: Numbering) -> Any:
        if self.base.occurrence is None:
            return None
        return numbering.joined(self.base.occurrence.astype(np.int32), np.full((2, numbering.added), -1, np.int32))


def _check_new(ids: pa.Array, known: Ids) -> None:
    IdTable.of(ids)
    for wanted in ids.to_pylist():
        try:
            row = known.row(wanted)
        except PointNotFound:
            continue
        raise DuplicateIds("ids", "ids that no target has", f"{wanted!r}, the id of row {row}")
