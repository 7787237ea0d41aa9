"""The parts of a collection: read from the files of a version, or made in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections import QueryTime, corrected_scores
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.folded.none import FittedNone
from hubless.corrections.target_columns import TargetColumns
from hubless.encoders import Encoder
from hubless.encoders.base import PictureEncoder
from hubless.errors import BundleDamaged
from hubless.kernels.forks import cached_property
from hubless.measures.confidence.cut import Cut
from hubless.measures.projection import Projection, project
from hubless.search.canaries import Canary
from hubless.search.older_cuts import cut_state
from hubless.search.ranker import Ranker
from hubless.search.segments.contents import TargetIds, TargetPayload
from hubless.search.segments.role_columns import columns_of
from hubless.search.segments.targets import Targets
from hubless.store.bundle import FITS, ConfidenceRecord, Manifest, Roles, read_arrays, reading, verify
from hubless.vectors.arrays import F32, I64
from hubless.vectors.free_payload import is_free
from hubless.vectors.sources import block_rows
from hubless.vectors.space import Space


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """The parts of a collection of n targets of d dimensions. Never changed: other targets are other parts.

    `prepared` gives what the correction does with a query beyond the offsets; `canary` the canary queries.
    `bank_sample` are bank queries (s, d), prepared. `folder` is that of the version; None for what is in memory only.
    `seq` is the last write of the log that is in here, 0 for none. `inode` is that
    of the folder.
    """

    manifest: Manifest
    space: Space
    targets: Targets
    encoder: Encoder | None = None
    prepared: Callable[[], QueryTime | None] = lambda: None
    bank_sample: F32 | None = None
    correction: Callable[[], CentredCorrection] = lambda: CentredCorrection(FittedNone(), 0.0)
    canary: Callable[[], Canary] = dict
    cut: Cut | None = None
    folder: Path | None = None
    seq: int = 0
    inode: int | None = None

    @property
    def told(self) -> dict[str, Any]:
        """The fields of the manifest that say how sure answers are."""
        cut = self.cut
        record = cut and ConfidenceRecord(
            calibrated=cut.pairs > 0, pairs=cut.pairs, accuracies=cut.accuracies, lean=cut.lean
        )
        return {"confidence": record}

    @property
    def ids(self) -> TargetIds:
        return self.targets.ids

    @property
    def payload(self) -> TargetPayload | None:
        return self.targets.payload

    @property
    def offsets(self) -> F32:
        """Offsets h (n,) of all targets."""
        return self.targets.every_offset

    def occurrence(self) -> NDArray[np.integer[Any]] | None:
        """N_10 (2, n) of the build, raw and corrected; see `Targets.occurrence`."""
        return self.targets.occurrence()

    def columns(self, rows: I64) -> TargetColumns:
        """Return what is known of some rows (r,) for the correction: of their payload, or kept apart from it."""
        payload = None if self.payload_table is None else self.payload_table.take(rows)
        return columns_of(self.roles, payload, self.targets.columns(rows))

    @cached_property
    def roles(self) -> Roles:
        return self.manifest.roles

    def saying(self, **fields: Any) -> "Parts":
        """Return the same with other fields of the manifest."""
        return replace(self, manifest=self.manifest.model_copy(update=fields))

    @property
    def added(self) -> int:
        """The number of targets that were written since the version."""
        return len(self.targets.written)

    @property
    def removed(self) -> int:
        """The number of targets of the version that are gone or were replaced."""
        return sum(len(view.gone) for view in self.targets.stored) - sum(
            each.removed for each in self.manifest.segments
        )

    @property
    def payload_schema(self) -> pa.Schema | None:
        return None if self.payload is None else self.payload.schema

    @property
    def payload_table(self) -> pa.Table | None:
        """The payload of all targets, mapped where nothing was written; None without payload."""
        return None if self.payload is None else self.payload.table()

    @property
    def payload_kind(self) -> Literal["columns", "json"] | None:
        """`columns`, or `json` for objects with any keys; None without payload."""
        if self.payload is None:
            return None
        return "json" if is_free(self.payload.schema) else "columns"

    @property
    def payload_types(self) -> dict[str, str]:
        """Arrow's name of the type of each payload column; nothing for free payload."""
        if self.payload is None or is_free(self.payload.schema):
            return {}
        return {field.name: str(field.type) for field in self.payload.schema}

    @property
    def takes_pictures(self) -> bool:
        """Return True if the encoder makes vectors of pictures, too."""
        return isinstance(self.encoder, PictureEncoder) and self.encoder.takes_pictures

    @property
    def encodes_quickly(self) -> bool:
        """Return True if encoding a short text costs less than handing it to another thread."""
        return self.encoder is None or self.encoder.quick

    @property
    def encoder_left_alone(self) -> bool | None:
        """Return True if the encoder is skipped for now because it failed repeatedly. None if it never is."""
        return None if self.encoder is None else self.encoder.left_alone

    @property
    def frozen_share(self) -> float:
        """Share of the targets that came after the correction was fitted, at most; 0 without a correction."""
        count = len(self.targets)
        if not count or self.manifest.correction.name == "none":
            return 0.0
        return min(1.0, (self.manifest.frozen + self.added) / count)

    @property
    def is_folded(self) -> bool:
        """True if the correction is an offset for each target and nothing more: then targets can come one by one."""
        return self.prepared() is None

    @cached_property
    def remote(self) -> bool:
        return self.manifest.index.engine is not None

    def check_hashes(self) -> None:
        """Compare the files with the manifest. Raises `BundleDamaged`, also of files that took their place since."""
        if self.folder is not None:
            verify(self.folder, self.manifest)
            if self.folder.stat().st_ino != self.inode:
                raise BundleDamaged(self.folder, "was replaced since it was opened")

    @cached_property
    def ranker(self) -> Ranker:
        return Ranker(self.targets, self.prepared())


def stored_cut(path: Path, manifest: Manifest, dim: int) -> Cut | None:
    """Return the model of confidence for d dimensions that a version keeps, if it does. Raises `BundleDamaged`."""
    if f"{FITS}/{manifest.fit}/{path.name}" not in manifest.files:
        return None
    state = read_arrays(path)
    with reading(path):
        return Cut.from_state(cut_state(state), dim)


def projection(parts: Parts) -> Projection | None:
    """Return where some targets and bank queries lie; None without targets."""
    plain = parts.space.plain
    sample = parts.bank_sample
    queries = None if sample is None else plain(sample)
    return project(len(parts.targets), lambda rows: plain(parts.targets.vectors(rows)), queries, parts.occurrence())


def all_scores(parts: Parts, queries: F32, strengths: Sequence[float]) -> list[F32]:
    """Return the scores (m, n) of prepared queries with all targets, for each strength, as an exact index ranks."""
    count = len(parts.targets)
    vectors = parts.targets.vectors
    similarities = np.empty((len(queries), count), np.float32)
    step = block_rows(parts.space.width)
    for start in range(0, count, step):
        rows = np.arange(start, min(start + step, count))
        similarities[:, rows[0] : rows[-1] + 1] = queries @ vectors(rows).T
    query_time = parts.prepared()
    return [corrected_scores(queries, similarities, each, parts.offsets, query_time, vectors) for each in strengths]
