"""Training the index of a collection anew, while others may write to it and flush what they wrote."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hubless.builder.pipeline.flush import WASTED
from hubless.builder.pipeline.next_version import next_version, with_vector_first
from hubless.builder.pipeline.publishing import Draft
from hubless.builder.pipeline.written_files import write_segments
from hubless.builder.recipe import recipe_of
from hubless.knn import INDEXES
from hubless.knn.aims import AUTO, kinds_to_try
from hubless.knn.augment import augmented_dim
from hubless.knn.flat import FLAT_KIND
from hubless.search.parts import Parts
from hubless.search.segments.rows import UNWRITTEN
from hubless.search.segments.segment import SegmentView
from hubless.search.transaction import changed_parts
from hubless.vectors.arrays import I64

BEHIND = 1 / 10
"""With a larger share of targets that came behind the index it is trained anew, as with `WASTED` of it gone."""
MOST_TOLD = 10_000
"""An engine outside is told one by one which of its targets are gone."""


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
    recipe = recipe_of(parts)
    if recipe.index != AUTO:
        return False
    aims = replace(recipe.aims, memory=None)
    groups, _ = kinds_to_try(AUTO, INDEXES, len(parts.targets), augmented_dim(parts.targets.dim), aims)
    return groups[0][0].name != FLAT_KIND


@dataclass(frozen=True, eq=False)
class Trained:
    """A collection whose index is trained anew, with its segments written, while others may write to it.

    `before` is the collection as it was, and `stamps` (2, n) are those that its rows had.
    """

    before: Parts
    parts: Parts
    stamps: I64

    @classmethod
    def of(cls, before: Parts, draft: Draft) -> "Trained":
        """Train the index of a collection anew, and write its segments."""
        made = next_version(before, draft)
        stamps = before.targets.stamped(np.concatenate(with_vector_first(before, np.arange(len(before.targets)))))
        return cls(before, replace(made, targets=write_segments(made.targets, draft.staged, before.seq)), stamps)

    def caught_up(self, now: Parts) -> Parts | None:
        """Return the collection as it is now, with this index of what stood in it then.

        None if it did not grow from that: another fit or another order became current, or another version.
        """
        before, made = self.before, self.parts.manifest
        if (now.manifest.fit, now.manifest.built) != (before.manifest.fit, before.manifest.built):
            return None
        stamps = now.targets.stamped(np.arange(len(now.targets)))
        found = _places(stamps, self.stamps)
        later = [tuple(stamp) for stamp in stamps[:, found < 0].T.tolist()]
        # activated meanwhile: the log would put again what the index has, or it has a target that went before
        if now.seq < before.seq or any(stamp < (before.seq, UNWRITTEN) for stamp in later):
            return None
        gone = np.setdiff1d(np.arange(self.stamps.shape[1]), found)
        start = 0
        views = list[SegmentView]()
        for view in self.parts.targets.stored:
            stop = start + len(view.segment)
            views.append(SegmentView(view.segment, gone[(gone >= start) & (gone < stop)] - start))
            start = stop
        start = 0
        for view in now.targets.stored:
            there = found[start : start + len(view)] >= 0
            start += len(view)
            if not there.all():
                views.append(view.without(view.left[there]))
        targets = now.targets.of_views(views)
        new = {name: getattr(made, name) for name in ("index", "measured", "built")}
        parts = now.saying(**new, grown=len(later))
        parts = replace(parts, targets=targets, prepared=self.parts.prepared, canary=self.parts.canary)
        return parts if targets.is_as_built else changed_parts(parts, targets, now.seq)


def _places(stamps: I64, known: I64) -> I64:
    """Return the place (m,) of each of some stamps (2, m) among known ones (2, n), each of which stands once, or −1."""
    asked, codes = (
        pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(each), [None, pa.py_buffer(each)])
        for each in (np.ascontiguousarray(stamps.T), np.ascontiguousarray(known.T))
    )
    found: I64 = pc.fill_null(pc.index_in(asked, codes), -1).to_numpy().astype(np.int64)
    return found
