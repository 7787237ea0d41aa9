"""A flush: what was written becomes a flat segment on disk. The other segments stay as they are, and are named again.

Segments that were written before and are not larger than the new one go into it. So each row is written a few times in
its life, however large the collection, and there are few segments. Flat segments are exact: nothing is trained, tuned
or measured.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from hubless.builder.pipeline.written_files import write_fit, write_query_time, write_segments
from hubless.builder.shards import most_in_a_shard
from hubless.knn import INDEXES
from hubless.knn.augment import AugmentedVectors, augmented_dim
from hubless.knn.flat import FLAT_KIND
from hubless.knn.index_files import make_index
from hubless.progress import Silent
from hubless.search.engines.embedded import FaissIndex
from hubless.search.parts import Parts
from hubless.search.segments.segment import Segment, SegmentView
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.bundle import FITS, SEGMENTS, FileRecord, Manifest, SegmentRecord
from hubless.store.catalog import Staging
from hubless.store.durable import link
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
            left[number] = SegmentView(joined([left[number]]))
    if taken:
        left.append(SegmentView(joined(taken)))
    some = [view for view in left if len(view) or view.segment.stamps is None] or left[-1:]
    return Targets.of([view.segment for view in some], targets.dim, [view.gone for view in some])


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
    return isinstance(index, FaissIndex) and index.whole is None and index.kind.name == FLAT_KIND


def joined(views: Sequence[SegmentView]) -> Segment:
    """Return the rows that are left of some flat segments, in their order, as one in memory."""
    parts = [(view.segment, view.left) for view in views]
    index = parts[0][0].index
    vectors = np.concatenate([segment.index.vectors(rows) for segment, rows in parts])
    offsets = np.concatenate([segment.offsets[rows] for segment, rows in parts])
    ids = pa.concat_arrays([segment.ids.array.take(pa.array(rows)) for segment, rows in parts])
    bare = np.concatenate([segment.have_vectors[rows] for segment, rows in parts])
    occurrence = None
    if any(segment.occurrence is not None for segment, _ in parts):
        known = [
            np.full((2, len(rows)), -1) if segment.occurrence is None else segment.occurrence[:, rows]
            for segment, rows in parts
        ]
        occurrence = np.concatenate(known, axis=1).astype(np.int32)
    made = make_index(INDEXES[FLAT_KIND], AugmentedVectors(HeldVectors(vectors, "targets"), offsets), 0, Silent())
    return Segment(
        index=FaissIndex(INDEXES[FLAT_KIND], made, index.dim, {}),
        offsets=offsets,
        ids=IdTable.of(ids),
        payload=_payload(parts),
        bare=np.flatnonzero(~bare),
        occurrence=occurrence,
        stamps=np.concatenate([segment.stamps_of(rows) for segment, rows in parts], axis=1),
    )


def _payload(parts: Sequence[tuple[Segment, Any]]) -> Payload | None:
    tables = [segment.payload.table().take(pa.array(rows)) for segment, rows in parts if segment.payload is not None]
    return Payload(pa.concat_tables(tables).unify_dictionaries().combine_chunks()) if tables else None


def write_flushed(parts: Parts, staged: Staging, *, here: bool = True, **more: Any) -> Manifest:
    """Write what is new of a collection as a version, and return its manifest. `more` are fields of it that change.

    `here` says that the version is of the same collection. In another one all is new.
    """
    before = parts.manifest
    folder = parts.folder
    if here:
        views = flushed(parts.targets, before.index.shard_targets).stored
    else:
        views = tuple(replace(view, segment=replace(view.segment, seq=0, name="")) for view in parts.targets.stored)
    kinds = {each.name: each.index for each in before.segments}
    fields = write_segments(views, staged, FLAT_KIND if here else before.index.type, kinds)
    if here and folder is not None:
        for file in (bundle.CANARY, bundle.SOURCES):
            if file in before.files and not (staged.folder / file).exists():
                link(folder / file, staged.folder / file)
    else:
        np.savez(staged.folder / bundle.CANARY, allow_pickle=False, **parts.canary())
    write_query_time(staged.folder, parts.prepared())
    fields |= {
        "version": staged.version,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "log_seq": parts.seq,
        "frozen": min(fields["count"], before.frozen + parts.added),
        "grown": min(fields["count"], before.grown + parts.added),
        "files": carried_files(before, fields["segments"], more.get("fit", before.fit)) if here else {},
    }
    return before.model_copy(update=fields | more)


def carried_files(before: Manifest, segments: Sequence[SegmentRecord], fit: str) -> dict[str, FileRecord]:
    """Return the files of some segments and of a fit, of those that a version names."""
    named = {f"{SEGMENTS}/{each.name}" for each in segments} | {f"{FITS}/{fit}"}
    return {file: record for file, record in before.files.items() if file.rpartition("/")[0] in named}


def write_refitted(parts: Parts, staged: Staging) -> dict[str, Any]:
    """Write the fit of a collection, with its encoder, anew. Return the fields of a manifest that name it."""
    fit = staged.made(FITS, staged.version)
    write_fit(fit, parts.correction(), parts.confidence, parts.bank_sample, parts.basis, parts.encoder)
    return {"fit": staged.version, "encoder": None if parts.encoder is None else {"dim": parts.encoder.dim}}
