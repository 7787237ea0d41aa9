"""The manifest of a version, from the parts of a collection.

What no version has yet, such as a segment or a fit, is unnamed in them, and gets the name of the version.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version as installed_version
from typing import Any

from hubless.corrections import registered
from hubless.knn.flat import FLAT_KIND
from hubless.search.engines.full import WholeIndex
from hubless.search.parts import Parts
from hubless.search.segments.segment import SegmentView
from hubless.store import bundle
from hubless.store.bundle import (
    FORMAT_VERSION,
    InputRecord,
    Manifest,
    Provenance,
    SegmentRecord,
)
from hubless.vectors.space import Space

UNNAMED, UNSAVED = "index", "unsaved"
"""The collection, and the version, of what is in memory only."""


def new_manifest(space: Space, **known: Any) -> Manifest:
    """Return the manifest of a fit that no version has, without what `described` says."""
    known |= {"dim": space.dim, "metric": space.metric, "files": {}}
    known |= dict.fromkeys(("version", "fit", "built"), UNSAVED)
    return Manifest.model_construct(**known)


def _dims(parts: Parts) -> int | None:
    """Return the dimensions of stored vectors, or of an index beside whole ones, if they are fewer than given."""
    index = parts.targets.first.index
    if isinstance(index, WholeIndex):
        return int(index.directions.shape[1])
    if parts.space.directions is not None:
        return parts.space.stored_dim
    return parts.manifest.dims if parts.manifest.keep_full else None  # asked for, and no vectors yet


def provenance(inputs: Mapping[str, InputRecord], seed: int) -> Provenance:
    """Return the origin of a version, but for the packages that make it."""
    return Provenance(inputs=dict(inputs), seed=seed, versions={})


@cache
def _versions(correction: str) -> dict[str, str]:
    """Return the versions of the packages that make a version, and of the one that brings its correction."""
    brought_by, _, version = registered(correction).package.partition(" ")
    own = {package: installed_version(package) for package in bundle.BUILT_WITH}
    return own | ({brought_by: version} if version else {})


def described(parts: Parts, name: str, version: str) -> Manifest:
    """Return the manifest of parts that become a version of a collection, but for its files."""
    known = parts.manifest
    fields: dict[str, Any] = {}
    if known.fit == UNSAVED:
        encoder = None if parts.encoder is None else {"dim": parts.encoder.dim}
        fields = {"fit": version, "encoder": encoder, **parts.told}
    schema = parts.payload_schema
    fields |= {
        "format_version": FORMAT_VERSION,
        "collection": name,
        "version": version,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "built": version if known.built == UNSAVED else known.built,
        "count": len(parts.targets),
        "dims": _dims(parts),
        "vectorless": sum(view.vectorless for view in parts.targets.views),
        "id_type": parts.ids.type,
        "payload_columns": [] if schema is None else schema.names,
        "segments": [_record(view, known.index.type, version) for view in parts.targets.stored],
        "log_seq": parts.seq,
        "provenance": known.provenance.model_copy(update={"versions": _versions(known.correction.name)}),
    }
    return known.model_copy(update=fields)


def other_numbers(parts: Parts, held: Mapping[str, Any] | None = None, **more: Any) -> Parts:
    """Return a collection whose fit keeps its state, and holds other things, such as an encoder. It has no name yet.

    `more` are fields of the manifest, such as the strength.
    """
    made = replace(parts, **(held or {}))
    return made.saying(**more, **made.told, fit=UNSAVED)


def _record(view: SegmentView, kind: str, version: str) -> SegmentRecord:
    """Return what a manifest says of a segment: one that was built is of its `kind` of index, one written flat."""
    segment = view.segment
    return SegmentRecord(
        name=segment.name or version,
        index=kind if segment.stamps is None else FLAT_KIND,
        count=len(segment),
        bare=len(segment.bare),
        removed=len(view.gone),
        seq=segment.seq if segment.stamps is None else int(segment.stamps[0].max(initial=0)),
    )
