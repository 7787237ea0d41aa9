"""A version before it is published: its parts, their files, and its manifest."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.builder.indexing.shards import write_whole
from hubless.builder.inputs.build_inputs import Contents
from hubless.corrections import QueryTime
from hubless.corrections.centred import CentredCorrection
from hubless.knn import INDEXES, augment
from hubless.measures.confidence.model import ConfidenceModel
from hubless.search.canaries import Canary
from hubless.search.engines.base import StoredTargets
from hubless.search.engines.embedded import IndexedTargets
from hubless.search.engines.full import FullTargets
from hubless.store import bundle
from hubless.store.bundle import (
    FORMAT_VERSION,
    ConfidenceRecord,
    IndexRecord,
    InputRecord,
    Manifest,
    Measured,
    Provenance,
)
from hubless.vectors.arrays import F32
from hubless.vectors.basis import Basis
from hubless.vectors.npy import write_array


@dataclass(frozen=True, kw_only=True)
class VersionDraft:
    """All parts of a version but its contents. `about` has fields of its manifest."""

    targets: StoredTargets
    offsets: F32
    correction: CentredCorrection
    query_time: QueryTime | None = None
    occurrence: NDArray[np.integer[Any]] | None = None
    bank_sample: F32 | None = None
    canary: Canary
    confidence: ConfidenceModel | None = None
    basis: Basis | None = None
    index: IndexRecord
    measured: Measured | None = None
    trained: bool = True
    about: Mapping[str, Any] = field(default_factory=dict)

    def extended(self, count: int) -> "VersionDraft":
        """Return the draft with further targets that have no vector, to make so many in all."""
        more = count - len(self.offsets)
        occurrence = None if self.occurrence is None else np.pad(self.occurrence, ((0, 0), (0, more)))
        return replace(self, offsets=np.pad(self.offsets, (0, more)), occurrence=occurrence) if more else self

    def write(self, folder: Path) -> None:
        """Write all files but those of the index, whole vectors beside it, and the contents."""
        pivot, basis = self.targets.pivot, self.basis
        if isinstance(self.targets, FullTargets):
            pivot, basis = self.targets.index.pivot, self.targets.basis
        arrays = {
            bundle.OFFSETS: self.offsets,
            bundle.PIVOT: pivot,
            bundle.BANK_SAMPLE: self.bank_sample,
            bundle.OCCURRENCE: self.occurrence,
            bundle.BASIS: None if basis is None else basis.directions,
        }
        for name, array in arrays.items():
            if array is not None:
                write_array(folder / name, array)
        np.savez(folder / bundle.CORRECTION, allow_pickle=False, **self.correction.state())
        np.savez(folder / bundle.CANARY, allow_pickle=False, **self.canary)
        if self.confidence is not None:
            np.savez(folder / bundle.CONFIDENCE, allow_pickle=False, **self.confidence.state())
        if self.query_time is not None:
            np.savez(folder / bundle.QUERY_TIME, allow_pickle=False, **self.query_time.arrays())

    def manifest(
        self, contents: Contents, inputs: Mapping[str, InputRecord], collection: str, version: str, **more: Any
    ) -> Manifest:
        """Return the manifest, without the record of the files. `more` fields come on top of those of `about`."""
        fields = {**self.about, **more}
        dims = fields.pop("dims", None) if self.basis is None else self.basis.kept
        if isinstance(self.targets, FullTargets):
            dims = self.targets.basis.kept
        return Manifest(
            format_version=FORMAT_VERSION,
            collection=collection,
            version=version,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            count=len(self.offsets),
            dim=self.targets.dim if self.basis is None else self.basis.dim,
            dims=dims,
            index=self.index,
            id_type="int64" if pa.types.is_integer(contents.ids.type) else "string",
            payload_columns=contents.payload_columns,
            encoder=None if contents.encoder is None else {"dim": contents.encoder.dim},
            measured=self.measured,
            confidence=confidence_record(self.confidence),
            provenance=Provenance(inputs=dict(inputs), seed=fields.pop("seed"), versions=_versions()),
            files={},
            vectorless=len(self.offsets) - self.targets.room(None),
            **fields,
        )


def confidence_record(model: ConfidenceModel | None) -> ConfidenceRecord | None:
    """Return what a manifest says of a model of confidence."""
    return None if model is None else ConfidenceRecord(calibrated=model.pairs > 0, pairs=model.pairs)


def empty_draft(
    dim: int, correction: CentredCorrection, sample: F32 | None, path: Path, about: Mapping[str, Any]
) -> VersionDraft:
    """Return a version without vectors of d dimensions, to be written to. Write its index."""
    kind = INDEXES["flat"]
    index = kind.new(0, augment.augmented_dim(dim), 0, None)
    write_whole(index, path)
    return VersionDraft(
        targets=IndexedTargets(kind, index, dim, {}),
        offsets=np.empty(0, np.float32),
        correction=correction,
        bank_sample=sample,
        canary={
            "queries": np.empty((0, dim), np.float32),
            "rows": np.empty((0, 0), np.int64),
            "scores": np.empty((0, 0), np.float32),
            "recall": np.array(1.0),
        },
        index=IndexRecord(type=kind.name, parameters={}),
        about=about,
    )


@cache
def _versions() -> dict[str, str]:
    return {package: installed_version(package) for package in ("hubless", "faiss-cpu", "numpy", "pyarrow")}
