"""Training the index of a collection anew, while others may write to it and flush what they wrote."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hubless.builder.pipeline.carry import CARRIED, NextTargets, carry_over
from hubless.builder.pipeline.draft import VersionDraft, Workbench
from hubless.builder.pipeline.flush import WASTED, carried_files, joined
from hubless.builder.pipeline.written_files import write_query_time, write_segments
from hubless.builder.recipe import StoredRecipe
from hubless.knn import INDEXES
from hubless.knn.aims import AUTO, kinds_to_try
from hubless.knn.augment import augmented_dim
from hubless.knn.flat import FLAT_KIND
from hubless.search.engines.base import StoredVectors
from hubless.search.parts import Parts
from hubless.search.segments.segment import Segment, SegmentView
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.bundle import Manifest, SegmentRecord
from hubless.store.catalog import Staging
from hubless.store.durable import link
from hubless.vectors.arrays import I64

BEHIND = 1 / 10
"""With a larger share of targets that came behind the index it is trained anew, as with `WASTED` of it gone."""
MOST_TOLD = 10_000
"""An engine outside is told one by one which of its targets are gone."""
_RANKS = 2**34
"""More than the rows of a write, and those of files behind them."""


def needs_training(parts: Parts) -> bool:
    """Return whether the index is to be trained anew: too many of its targets are gone, or came behind it."""
    manifest = parts.manifest
    targets = parts.targets
    built = [view for view in targets.stored if view.segment.stamps is None]
    count = len(targets)
    if not count:
        return False
    trained = sum(len(view.segment) for view in built)
    gone = sum(len(view.gone) for view in built)
    wasted = min(WASTED * trained, MOST_TOLD) if manifest.index.external else WASTED * trained
    flat = manifest.index.type == FLAT_KIND and not manifest.keep_full
    if gone > wasted and not (flat and len(built) == 1):  # that one is written anew by a flush
        return True
    behind = count - sum(map(len, built)) > BEHIND * count
    return behind and (not flat or _is_outgrown(parts))


def _is_outgrown(parts: Parts) -> bool:
    """Return whether another kind than flat is to be tried for so many targets. The build may choose flat again."""
    recipe = StoredRecipe.of(parts.manifest)
    if recipe.index != AUTO:
        return False
    aims = replace(recipe.aims, memory=None)
    groups, _ = kinds_to_try(AUTO, INDEXES, len(parts.targets), augmented_dim(parts.targets.dim), aims)
    return groups[0][0].name != FLAT_KIND


@dataclass(frozen=True, eq=False)
class Rebuilt:
    """Targets of a version in an index that was trained anew, while others may have written to the collection.

    `stamps` (2, n) are those that its rows had.
    """

    before: Parts
    rows: NextTargets
    draft: VersionDraft
    records: list[SegmentRecord]
    stamps: I64

    @classmethod
    def of(
        cls, parts: Parts, staged: Staging, bench: Workbench, *, seq: int | None = None, fit: bool = False
    ) -> "Rebuilt":
        """Train the index of a collection anew, and write its segments; `fit` says that it gets a fit of its own."""
        rows = NextTargets.of(parts)
        rows.contents.write(staged.folder)
        draft = carry_over(rows, bench, staged.folder)
        records = draft.write(staged, rows.contents, seq=parts.seq if seq is None else seq, fit=fit)
        return cls(parts, rows, draft, records, parts.targets.stamped(np.concatenate([rows.kept, rows.bare])))

    def manifest(self, now: Parts, staged: Staging) -> Manifest:
        """Return the manifest of the version that has what was written until now, too. Write its other files."""
        before = now.manifest
        folder = now.folder
        if folder is None:
            raise TypeError("not in a catalog")
        gone, later = self._since(now)
        start = 0
        views = list[SegmentView]()
        for segment in self._segments():
            inside = gone[(gone >= start) & (gone < start + len(segment))] - start
            views.append(SegmentView(segment, inside))
            start += len(segment)
        kinds = {each.name: each.index for each in self.records}
        fields = write_segments([*views, *later], staged, FLAT_KIND, kinds, first=len(views))
        views += later
        if bundle.SOURCES in before.files:
            link(folder / bundle.SOURCES, staged.folder / bundle.SOURCES)
        targets = Targets.of([view.segment for view in views], now.targets.dim, [view.gone for view in views])
        if self.draft.query_time is not None and not targets.is_as_built:
            write_query_time(staged.folder, now.correction().query_time(StoredVectors(targets, "targets")))
        fields |= {
            "log_seq": now.seq,
            "frozen": before.frozen,
            "grown": sum(map(len, later)),
            "files": carried_files(before, fields["segments"], before.fit),
        }
        made = self.draft.manifest(
            self.rows.contents, before.provenance.inputs, before.collection, staged.version, fit=before.fit
        )
        carried = {name: getattr(before, name) for name in CARRIED}
        return made.model_copy(update=carried | fields)

    def _since(self, now: Parts) -> tuple[I64, list[SegmentView]]:
        """Return which of its rows are gone since it was begun, and what came."""
        codes = Codes(self.stamps)
        there = np.zeros(self.stamps.shape[1], np.bool_)
        later = list[SegmentView]()
        for view in now.targets.stored:
            found = codes.rows(view.segment.stamps_of(view.left))
            there[found[found >= 0]] = True
            came = SegmentView(view.segment, np.setdiff1d(np.arange(len(view.segment)), view.left[found < 0]))
            if len(came):
                later.append(view if (found < 0).all() else SegmentView(joined([came])))
        return np.flatnonzero(~there), later

    def _segments(self) -> list[Segment]:
        return [
            replace(
                view.segment,
                name=record.name,
                offsets=np.zeros(record.count, np.float32),
                bare=np.arange(record.count - record.bare, record.count),
                seq=record.seq,
            )
            for view, record in zip(self.draft.targets.stored, self.records, strict=True)
        ]


class Codes:
    """The rows (n,) of some stamps (2, n), each of which stands once."""

    def __init__(self, stamps: I64) -> None:
        self._seqs = np.unique(stamps[0])
        codes = self._codes(stamps)
        self._order = np.argsort(codes, kind="stable")
        self._codes_in_order = codes[self._order]

    def rows(self, stamps: I64) -> I64:
        """Return the row of each stamp; −1 for one that is none of them."""
        if not len(self._seqs):
            return np.full(stamps.shape[1], -1)
        codes = self._codes(stamps)
        places = np.minimum(np.searchsorted(self._codes_in_order, codes), len(self._order) - 1)
        found: I64 = np.where(self._codes_in_order[places] == codes, self._order[places], -1)
        return found

    def _codes(self, stamps: I64) -> I64:
        """Return a number for each stamp; a negative one where no known write put it."""
        seqs, ranks = stamps
        places = np.minimum(np.searchsorted(self._seqs, seqs), max(0, len(self._seqs) - 1))
        known = self._seqs[places] == seqs
        codes: I64 = np.where(known, places * _RANKS + ranks, -1 - ranks)
        return codes


def write_rebuilt(parts: Parts, staged: Staging, bench: Workbench, name: str, *, here: bool, fit: bool) -> Manifest:
    """Train the index of a collection anew, and write it as a version. Return its manifest.

    `here` says that it is of the same collection, and `fit` that it has a fit of its own.
    """
    before = parts.manifest
    seq = parts.seq if here else 0
    made = Rebuilt.of(parts, staged, bench, seq=seq, fit=fit)
    more: dict[str, Any] = {"segments": made.records, "log_seq": seq, "job": before.job if here else None}
    if not fit:
        more |= {"fit": before.fit, "files": carried_files(before, [], before.fit)}
    if more["job"] is not None and parts.folder is not None:
        link(parts.folder / bundle.SOURCES, staged.folder / bundle.SOURCES)
    return made.draft.manifest(made.rows.contents, before.provenance.inputs, name, staged.version, **more)
