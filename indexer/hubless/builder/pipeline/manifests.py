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
from hubless.encoders import Encoder
from hubless.knn.flat import FLAT_KIND
from hubless.measures.confidence.cut import Cut
from hubless.search.engines.embedded import FaissIndex
from hubless.search.parts import Parts
from hubless.search.segments.segment import SegmentView
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.bundle import (
    FORMAT_VERSION,
    ConfidenceRecord,
    CorrectionRecord,
    IndexRecord,
    InputRecord,
    Manifest,
    Provenance,
    SegmentRecord,
)
from hubless.vectors.basis import Basis
from hubless.vectors.comparing import Metric, comparison

UNNAMED, UNSAVED = "index", "unsaved"
"""The collection, and the version, of what is in memory only."""


def new_manifest(
    targets: Targets,
    basis: Basis | None,
    *,
    metric: Metric,
    correction: CorrectionRecord,
    index: IndexRecord,
    **more: Any,
) -> Manifest:
    """Return the manifest of targets and a fit that no version has; the rest is for `described` to say."""
    inputs, seed = more.pop("inputs", {}), more.pop("seed")
    return Manifest(
        **{"dims": stored_dims(targets, basis), "measured": None, **more},
        format_version=FORMAT_VERSION,
        collection=UNNAMED,
        version=UNSAVED,
        fit=UNSAVED,
        built=UNSAVED,
        created="",
        count=len(targets),
        dim=targets.dim - comparison(metric).lifted if basis is None else basis.dim,
        id_type="int64",
        payload_columns=[],
        encoder=None,
        metric=metric,
        correction=correction,
        index=index,
        provenance=provenance(inputs, seed, correction.name),
        segments=[SegmentRecord(name=UNSAVED, index=index.type, count=len(targets))],
        files={},
    )


def stored_dims(targets: Targets, basis: Basis | None) -> int | None:
    """Return the dimensions of stored vectors, or of an index beside whole ones, if they are fewer than given."""
    index = targets.first.index
    if isinstance(index, FaissIndex) and index.whole is not None:
        return index.whole.basis.kept
    return None if basis is None else basis.kept


def provenance(inputs: Mapping[str, InputRecord], seed: int, correction: str) -> Provenance:
    """Return the origin of a version that is made now."""
    return Provenance(inputs=dict(inputs), seed=seed, versions=_versions(correction))


@cache
def _versions(correction: str) -> dict[str, str]:
    """Return the versions of the packages that make a version, and of the one that brings its correction."""
    brought_by, _, version = registered(correction).package.partition(" ")
    own = {package: installed_version(package) for package in bundle.BUILT_WITH}
    return own | ({brought_by: version} if version else {})


def described(parts: Parts, name: str, version: str, **more: Any) -> Manifest:
    """Return the manifest of parts that become a version of a collection, but for its files, with `more` fields."""
    known = parts.manifest
    fields: dict[str, Any] = {}
    if known.fit == UNSAVED:
        encoder = None if parts.encoder is None else {"dim": parts.encoder.dim}
        fields = {"fit": version, "encoder": encoder, "confidence": confidence_record(parts.confidence)}
    schema = parts.payload_schema
    fields |= {
        "collection": name,
        "version": version,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "built": version if known.built == UNSAVED else known.built,
        "count": len(parts.targets),
        "vectorless": sum(view.vectorless for view in parts.targets.views),
        "id_type": parts.ids.type,
        "payload_columns": [] if schema is None else schema.names,
        "segments": [_record(view, known.index.type, version) for view in parts.targets.stored],
        "log_seq": parts.seq,
    }
    return known.model_copy(update=fields | more)


def other_numbers(parts: Parts, *, encoder: Encoder | None = None, model: Cut | None = None, **more: Any) -> Parts:
    """Return a collection whose fit keeps its state and has another encoder or model of confidence. It has no name yet.

    `more` are fields of the manifest, such as the strength.
    """
    if model is not None:
        more["confidence"] = confidence_record(model)
    known = parts.manifest.model_copy(update={**more, "fit": UNSAVED})
    return replace(parts, manifest=known, encoder=encoder or parts.encoder, confidence=model or parts.confidence)


def confidence_record(model: Cut | None) -> ConfidenceRecord | None:
    """Return what a manifest says of a model of confidence."""
    if model is None:
        return None
    return ConfidenceRecord(calibrated=model.pairs > 0, pairs=model.pairs, accuracies=model.accuracies, lean=model.lean)


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
