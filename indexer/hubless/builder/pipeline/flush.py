"""A flush: what was written becomes a flat segment on disk. The other segments stay as they are, and are named again.

Segments that were written before and are not larger than the new one go into it. So each row is written a few times in
its life, however large the collection, and there are few segments. Flat segments are exact: nothing is trained, tuned
or measured.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from hubless.builder.pipeline.manifests import UNSAVED
from hubless.builder.shards import most_in_a_shard
from hubless.knn import INDEXES
from hubless.knn.augment import AugmentedVectors, augmented_dim
from hubless.knn.flat import FLAT_KIND
from hubless.knn.index_files import make_index
from hubless.search.engines.embedded import FaissIndex
from hubless.search.parts import Parts
from hubless.search.segments.segment import Segment, SegmentView
from hubless.search.segments.targets import Targets
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload
from hubless.vectors.sources import HeldVectors

WASTED = 1 / 5
"""With a larger share of its targets gone, a flat segment is written anew."""


def flushed(targets: Targets, most: int | None = None) -> Targets:
    """Return the same targets with none in memory. A segment that is new has no name.

    Segments of more than `most` rows, if that was asked for, are not made by joining others.
    """
    left = list(targets.stored)
    taken = [targets.written] if len(targets.written) else []
    while left and _joins(left[-1], sum(map(len, taken)), most):
        taken.insert(0, left.pop())
    # built ones number their rows on from those before
    last = max((number for number, view in enumerate(left) if view.segment.stamps is None), default=0)
    for number in range(last, len(left)):
        if _is_wasteful(left[number]):
            left[number] = SegmentView(one_segment(targets, [left[number]]))
    if taken:
        left.append(SegmentView(one_segment(targets, taken)))
    some = [view for view in left if len(view) or view.segment.stamps is None] or left[-1:]
    return targets.of_views(some)


def _joins(view: SegmentView, count: int, most: int | None) -> bool:
    """Return whether a segment is written anew, with so many rows that come behind it."""
    index = view.segment.index
    if not _is_flat(view) or len(view) + count > most_in_a_shard(INDEXES[FLAT_KIND], augmented_dim(index.dim), most):
        return False
    return _is_wasteful(view) or (count > 0 and len(view) <= count)


def _is_wasteful(view: SegmentView) -> bool:
    return _is_flat(view) and len(view.gone) > WASTED * len(view.segment)


def _is_flat(view: SegmentView) -> bool:
    index = view.segment.index
    return isinstance(index, FaissIndex) and index.is_flat


def one_segment(targets: Targets, views: Iterable[SegmentView]) -> Segment:
    """Return the rows that are left of some flat segments of targets, in their order, as one in memory."""
    part = targets.of_views(views)
    rows = np.arange(len(part))
    offsets = part.offsets(rows)
    vectors = AugmentedVectors(HeldVectors(part.vectors(rows), "targets"), offsets)
    kind = INDEXES[FLAT_KIND]
    return Segment(
        index=FaissIndex(kind, make_index(kind, vectors, 0), part.dim, {}),
        offsets=offsets,
        ids=IdTable.of(part.ids.array),
        payload=None if part.payload is None else Payload(part.payload.table().unify_dictionaries().combine_chunks()),
        bare=np.flatnonzero(~part.have_vectors(rows)),
        occurrence=part.occurrence(),
        columns=part.columns(rows),
        stamps=part.stamped(rows),
    )


def as_flushed(parts: Parts) -> Parts:
    """Return a collection without targets in memory. What is new of it has no name yet."""
    known = parts.manifest
    targets = flushed(parts.targets, known.index.shard_targets)
    came = {name: min(len(targets), getattr(known, name) + parts.added) for name in ("frozen", "grown")}
    return replace(parts.saying(**came), targets=targets)


def as_copied(parts: Parts) -> Parts:
    """Return a collection of which all is new, so that it can become another one."""
    views = [replace(view, segment=replace(view.segment, name="")) for view in parts.targets.views]
    made = parts.saying(**dict.fromkeys(("version", "fit", "built"), UNSAVED), files={}, job=None)
    return replace(made, targets=replace(parts.targets, views=tuple(views)), folder=None, seq=0)
