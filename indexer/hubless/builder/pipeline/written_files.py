"""The files of a version: those of its segments, of its fit, and which rows are gone."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import count, filterfalse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.builder.shards import segment_name
from hubless.corrections import QueryTime
from hubless.search.engines.embedded import FaissIndex
from hubless.search.parts import Parts
from hubless.search.segments.segment import Segment, SegmentView
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.catalog import Staging
from hubless.vectors.ids import write_ids
from hubless.vectors.npy import write_array, write_arrays
from hubless.vectors.plain_arrow import write_arrow


def write_segment(folder: Path, segment: Segment) -> None:
    """Write the files of a segment that are not in its folder yet."""
    index = segment.index
    arrays: dict[str, NDArray[Any] | None] = {
        bundle.OFFSETS: segment.offsets,
        bundle.OCCURRENCE: segment.occurrence,
        bundle.STAMPS: segment.stamps,
        bundle.BARE: segment.bare if len(segment.bare) and len(index) == len(segment) else None,
    }
    if isinstance(index, FaissIndex):
        index.write(folder)
    for name, array in arrays.items():
        if array is not None:
            write_array(folder / name, array)
    if segment.columns.by_role:
        known = {name: column.values for name, column in segment.columns.by_role.items()}
        write_arrays(folder / bundle.COLUMNS, known)
    if not (folder / bundle.IDS).exists():
        write_ids(segment.ids.array, folder / bundle.IDS)
    if segment.payload is not None and not (folder / bundle.PAYLOAD).exists():
        write_arrow(segment.payload.table(), folder / bundle.PAYLOAD)


def write_segments(targets: Targets, staged: Staging, seq: int) -> Targets:
    """Write the segments of a version that have no name yet, and name them. One that is built has writes up to `seq`.

    Ids and payload that lie in the folder of the version already go to the segment, if it is the only one.
    """
    held = [staged.folder / name for name in (bundle.IDS, bundle.PAYLOAD) if (staged.folder / name).exists()]
    known = {view.segment.name for view in targets.stored}
    free = filterfalse(known.__contains__, (segment_name(staged.version, number) for number in count()))
    named = []
    for view in targets.stored:
        if not (segment := view.segment).name:
            name = next(free)
            segment = replace(segment, name=name, seq=seq if segment.stamps is None else segment.seq)
            folder = staged.made(bundle.SEGMENTS, name)
            if len(targets.stored) == 1:
                held = [path.replace(folder / path.name) for path in held]
            write_segment(folder, segment)
        named.append(replace(view, segment=segment))
    if len(named) > 1:
        for path in held:
            path.unlink()
    return targets.of_views(named)


def write_gone(folder: Path, views: Iterable[SegmentView]) -> None:
    """Write the rows that are gone of segments, by their names; nothing if all are there."""
    bits = {}
    for view in views:
        if len(view.gone):
            mask = np.zeros(len(view.segment), np.bool_)
            mask[view.gone] = True
            bits[view.segment.name] = np.packbits(mask, bitorder="little")
    if bits:
        write_arrays(folder / bundle.GONE, bits)


def write_query_time(folder: Path, query_time: QueryTime | None) -> None:
    """Write what the correction does with a query beyond the offsets; nothing if that is nothing."""
    if query_time is not None:
        write_arrays(folder / bundle.QUERY_TIME, query_time.arrays())


def write_fit(folder: Path, parts: Parts) -> None:
    """Write the fitted correction and what belongs to it."""
    write_arrays(folder / bundle.CORRECTION, parts.correction().state())
    if parts.cut is not None:
        write_arrays(folder / bundle.CONFIDENCE, parts.cut.state())
    for name, array in ((bundle.BANK_SAMPLE, parts.bank_sample), (bundle.BASIS, parts.space.directions)):
        if array is not None:
            write_array(folder / name, array)
    if parts.encoder is not None:
        parts.encoder.save(folder)
