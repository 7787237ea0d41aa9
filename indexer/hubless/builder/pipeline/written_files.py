"""The files of a version: those of its segments, of its fit, and which rows are gone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.builder.indexing import kept_full, write_whole
from hubless.builder.shards import segment_name
from hubless.corrections import QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.encoders import Encoder
from hubless.measures.confidence.cut import Cut
from hubless.search.engines.embedded import FaissIndex
from hubless.search.segments.segment import Segment, SegmentView
from hubless.store import bundle
from hubless.store.bundle import SegmentRecord
from hubless.store.catalog import Staging
from hubless.vectors.arrays import F32
from hubless.vectors.basis import Basis
from hubless.vectors.ids import write_ids
from hubless.vectors.npy import write_array
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
        arrays[bundle.PIVOT] = index.pivot
        if not (folder / bundle.INDEX).exists():
            write_whole(index.index, folder / bundle.INDEX)
        if index.whole is not None:
            arrays[bundle.BASIS] = index.whole.basis.directions
            if not (folder / bundle.FULL).exists():
                kept_full(index.whole.full, index.kind.precision, folder)
    for name, array in arrays.items():
        if array is not None:
            write_array(folder / name, array)
    if not (folder / bundle.IDS).exists():
        write_ids(segment.ids.array, folder / bundle.IDS)
    if segment.payload is not None and not (folder / bundle.PAYLOAD).exists():
        write_arrow(segment.payload.table(), folder / bundle.PAYLOAD)


def write_segments(
    views: Iterable[SegmentView], staged: Staging, kind: str, kinds: Mapping[str, str], *, first: int = 0
) -> dict[str, Any]:
    """Write the segments of a version that have no name yet, and which rows are gone. Return the manifest's fields.

    New segments are named on from number `first`. `kinds` has the kind of index of known segments, `kind` that of
    others.
    """
    named = list[SegmentView]()
    numbers = count(first)
    for view in views:
        if not view.segment.name:
            name = segment_name(staged.version, next(numbers))
            view = replace(view, segment=replace(view.segment, name=name))
            write_segment(staged.made(bundle.SEGMENTS, name), view.segment)
        named.append(view)
    _write_gone(staged.folder, named)
    return {
        "segments": [_record(view, kinds.get(view.segment.name, kind)) for view in named],
        "count": sum(map(len, named)),
        "vectorless": sum(view.vectorless for view in named),
    }


def _record(view: SegmentView, kind: str) -> SegmentRecord:
    """Return what a manifest says of a segment."""
    segment = view.segment
    return SegmentRecord(
        name=segment.name,
        index=kind,
        count=len(segment),
        bare=len(segment.bare),
        removed=len(view.gone),
        seq=segment.seq if segment.stamps is None else int(segment.stamps[0].max(initial=0)),
    )


def _write_gone(folder: Path, views: Sequence[SegmentView]) -> None:
    """Write the rows that are gone of segments, by their names; nothing if all are there."""
    bits = {}
    for view in views:
        if len(view.gone):
            mask = np.zeros(len(view.segment), np.bool_)
            mask[view.gone] = True
            bits[view.segment.name] = np.packbits(mask, bitorder="little")
    if bits:
        np.savez(folder / bundle.GONE, allow_pickle=False, **bits)


def write_query_time(folder: Path, query_time: QueryTime | None) -> None:
    """Write what the correction does with a query beyond the offsets; nothing if that is nothing."""
    if query_time is not None:
        np.savez(folder / bundle.QUERY_TIME, allow_pickle=False, **query_time.arrays())


def write_fit(
    folder: Path,
    correction: CentredCorrection,
    confidence: Cut | None,
    bank_sample: F32 | None,
    basis: Basis | None,
    encoder: Encoder | None,
) -> None:
    """Write the fitted correction and what belongs to it."""
    np.savez(folder / bundle.CORRECTION, allow_pickle=False, **correction.state())
    if confidence is not None:
        np.savez(folder / bundle.CONFIDENCE, allow_pickle=False, **confidence.state())
    for name, array in ((bundle.BANK_SAMPLE, bank_sample), (bundle.BASIS, None if basis is None else basis.directions)):
        if array is not None:
            write_array(folder / name, array)
    if encoder is not None:
        encoder.save(folder)
