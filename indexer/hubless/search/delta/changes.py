"""The parts of a base, changed without building the index again.

Offsets of added targets come from the correction as it was fitted. A gate or a rescorer is prepared again for the
targets that there are now, with the first query after a change.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import numpy as np
import pyarrow.compute as pc

from hubless.corrections import QueryTime
from hubless.errors import PointNotFound
from hubless.knn.augment import augment_targets, augmented_dim
from hubless.search.delta.memtable import Memtable, NewTargets
from hubless.search.delta.overlay import DeltaIds, DeltaPayload, DeltaTargets
from hubless.search.engines.base import StoredTargets, StoredVectors
from hubless.search.matches import MatchesCache
from hubless.search.parts import Ids, Numbering, Parts
from hubless.vectors.comparing import comparison
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload


@dataclass(frozen=True, eq=False)
class Delta:
    """A base, the rows that are left of it, and what was added. Never changed: its methods give new ones."""

    base: Parts
    targets: StoredTargets
    ids: IdTable
    payload: Payload | None
    known: MatchesCache | None
    numbering: Numbering
    added: Memtable

    @classmethod
    def of(cls, base: Parts, filter_cache: int) -> "Delta":
        """No changes yet. `filter_cache` is bytes to keep of what filters matched in the base."""
        targets, ids, payload = base.targets, base.ids, base.payload
        if isinstance(targets, DeltaTargets) or not isinstance(ids, IdTable):
            raise TypeError("the base is changed already")
        if not (payload is None or isinstance(payload, Payload)):
            raise TypeError("the base is changed already")
        known = None if payload is None else MatchesCache(payload, filter_cache)
        schema = None if payload is None else payload.schema
        added = Memtable.empty(targets.dim, augmented_dim(targets.dim), ids.array.type, schema)
        return cls(base, cast(StoredTargets, targets), ids, payload, known, Numbering(len(targets)), added)

    def with_more(self, more: NewTargets) -> "Delta":
        half = self.targets.kind.precision == "float16"
        if half:
            made = comparison(self.base.manifest.metric)
            more = replace(more, vectors=made.halved(more.vectors, "vectors"))
        folded = augment_targets(more.vectors, more.offsets, self.targets.pivot, half=half)
        return self._changed(self.numbering, self.added.with_more(more, folded))

    def _changed(self, numbering: Numbering, added: Memtable) -> "Delta":
        return replace(self, numbering=numbering.with_added(len(added)), added=added)

    def without(self, ids: Iterable[str | int]) -> "Delta":
        """Without the targets of some ids; ids that no target has are passed over."""
        slots, rows = [], []
        for wanted in ids:
            if (slot := self.added.slot(wanted)) >= 0:
                slots.append(slot)
            elif (row := self._row_in_base(wanted)) is not None:
                rows.append(row)
        if not (slots or rows):
            return self
        left = self.numbering.without(np.array(rows, np.int64))
        return self._changed(left, self.added.without(np.array(slots, np.int64)))

    def has(self, wanted: str | int) -> bool:
        return self.added.slot(wanted) >= 0 or self._row_in_base(wanted) is not None

    def _row_in_base(self, wanted: str | int) -> int | None:
        row = _row_of(wanted, self.ids)
        return row if row is not None and self.numbering.has(row) else None

    @property
    def count_added(self) -> int:
        return len(self.added)

    @property
    def next_id(self) -> int:
        largest = [pc.max(ids).as_py() for ids in (self.ids.array, self.added.id_array()) if len(ids)]
        return max(largest, default=-1) + 1

    @property
    def note(self) -> str:
        added, removed = self.count_added, self.numbering.removed
        return f"{added:,} targets were added and {removed:,} removed after the correction was fitted"

    def parts(self) -> Parts:
        base, numbering, added = self.base, self.numbering, self.added
        targets = DeltaTargets(self.targets, numbering, added)
        payload = None
        if self.payload is not None and self.known is not None and added.payload is not None:
            payload = DeltaPayload(self.payload, self.known, numbering, added.payload, added.slots)
        return replace(
            base,
            manifest=base.manifest.model_copy(update={"count": numbering.count}),
            targets=targets,
            offsets=np.concatenate([numbering.kept("offsets", base.offsets), added.rows("offsets")[added.slots]]),
            ids=DeltaIds(self.ids, numbering, added),
            payload=payload,
            prepared=cache(lambda: self._prepared(targets)),
            occurrence=cache(lambda: self._occurrence(numbering)),
            folder=None,
            numbering=numbering,
        )

    def _prepared(self, targets: DeltaTargets) -> QueryTime | None:
        if self.base.prepared() is None or not len(targets):
            return None
        return self.base.correction().query_time(StoredVectors(targets, "targets"))

    def _occurrence(self, numbering: Numbering) -> Any:
        if (of_base := self.base.occurrence()) is None:
            return None
        added = np.full((2, numbering.added), -1, np.int32)
        return np.concatenate([numbering.of(of_base).astype(np.int32), added], axis=-1)


def rows_of(ids: Sequence[str | int], known: Ids) -> list[int | None]:
    """The rows of some ids; None for an id that no target has."""
    return [_row_of(wanted, known) for wanted in ids]


def _row_of(wanted: str | int, known: Ids) -> int | None:
    try:
        return known.row(wanted)
    except PointNotFound:
        return None
