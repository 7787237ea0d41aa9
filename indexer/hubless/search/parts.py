"""The parts of a collection: read from the files of a version, or made in memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.corrections import QueryTime, corrected_scores
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.grouped import NO_GROUP, group_names
from hubless.corrections.prior import OWN_OFFSETS, PRIOR, NumberOfTarget
from hubless.corrections.traits import TargetTraits
from hubless.encoders import Encoder
from hubless.forks import cached_property
from hubless.measures.confidence.model import ConfidenceModel
from hubless.measures.projection import Projection, project
from hubless.search.canaries import Canary
from hubless.search.engines.base import StoredVectors, Targets
from hubless.search.matches import Matches, MatchesCache
from hubless.search.ranker import Ranker
from hubless.store.bundle import Manifest, verify, warm
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.basis import Basis
from hubless.vectors.comparing import comparison
from hubless.vectors.free_payload import is_free
from hubless.vectors.payload import PayloadRows
from hubless.vectors.sources import block_rows


class Ids(Protocol):
    """The ids of n targets."""

    def __len__(self) -> int: ...

    @property
    def type(self) -> str:
        """`int64` or `string`."""

    @property
    def array(self) -> pa.Array:
        """All of them, (n,) int64 or large_string."""

    def ids(self, rows: NDArray[np.integer]) -> list[str | int]:
        """The ids of some rows."""

    def row(self, wanted: str | int) -> int:
        """The row of an id. Raises `PointNotFound`."""

    def parse(self, text: str) -> str | int:
        """An id from its text. Raises `PointNotFound` if it cannot be one."""


@dataclass(frozen=True, eq=False)
class Numbering:
    """The rows of a base that are `left`, ascending, None for all, and then so many added ones."""

    total: int
    left: I64 | None = None
    added: int = 0
    _kept: dict[str, NDArray[Any]] = field(default_factory=dict, repr=False)

    @property
    def of_base(self) -> int:
        return self.total if self.left is None else len(self.left)

    @property
    def removed(self) -> int:
        return self.total - self.of_base

    @property
    def count(self) -> int:
        return self.of_base + self.added

    def without(self, rows: NDArray[np.integer]) -> "Numbering":
        if not len(rows):
            return self
        left = np.arange(self.total) if self.left is None else self.left
        return Numbering(self.total, np.delete(left, np.searchsorted(left, np.sort(rows))), self.added)

    def with_added(self, added: int) -> "Numbering":
        """Return the same with so many added rows. What was made of the rows that are left is not made again."""
        grown = Numbering(self.total, self.left)
        vars(grown).update(vars(self), added=added)
        return grown

    def has(self, row: int) -> bool:
        if self.left is None:
            return True
        place = int(np.searchsorted(self.left, row))
        return place < len(self.left) and int(self.left[place]) == row

    @cached_property
    def _places(self) -> I64 | None:
        """For each row of the base its place among those that are left, −1 for those that are gone; None for all."""
        if self.left is None:
            return None
        places = np.full(self.total, -1)
        places[self.left] = np.arange(len(self.left))
        return places

    @cached_property
    def gone(self) -> I64 | None:
        return None if self._places is None else np.flatnonzero(self._places < 0)

    @cached_property
    def matches(self) -> Matches | None:
        return None if self.left is None else Matches.of_rows(self.left, self.total, None, self.gone)

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the base, of the rows that are left, along the last axis."""
        return values if self.left is None else values[..., self.left]

    def kept(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        """Return the same as `of`, taken once for each name."""
        if name not in self._kept:
            self._kept[name] = self.of(values)
        return self._kept[name]

    def base_rows(self, rows: I64) -> I64:
        found = np.full(rows.shape, -1)
        inside = rows < self.of_base
        found[inside] = self.in_base(rows[inside])
        return found

    def in_base(self, rows: NDArray[np.integer]) -> NDArray[np.integer]:
        return rows if self.left is None else self.left[rows]

    def from_base(self, rows: I64) -> I64:
        return rows if self._places is None else self._places[rows]


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """The parts of a collection of n targets of d dimensions. Never changed: other targets are other parts.

    `prepared` gives what the correction does with a query beyond the offsets; `occurrence` N_10 (2, n) of the build,
    raw and corrected, −1 for targets added since, None where it is not stored; `canary` the canary queries.
    `bank_sample` are bank queries (s, d), prepared. `folder` is None for what is in memory only. `numbering` says how
    the rows came out of those of a version, None where nothing changed; `known` what filters matched; `seq` the last
    write of the log that is in here, 0 for none.
    """

    manifest: Manifest
    targets: Targets
    offsets: F32
    ids: Ids
    payload: PayloadRows | None
    encoder: Encoder | None
    prepared: Callable[[], QueryTime | None]
    occurrence: Callable[[], NDArray[np.integer[Any]] | None]
    bank_sample: F32 | None
    correction: Callable[[], CentredCorrection]
    canary: Callable[[], Canary]
    confidence: ConfidenceModel | None = None
    basis: Basis | None = None
    folder: Path | None = None
    numbering: Numbering | None = None
    known: MatchesCache | None = None
    seq: int = 0

    @property
    def added(self) -> int:
        return 0 if self.numbering is None else self.numbering.added

    @property
    def removed(self) -> int:
        """The number of targets of the version that are gone or were replaced."""
        return 0 if self.numbering is None else self.numbering.removed

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
        count = len(self.offsets)
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

    @property
    def source(self) -> StoredVectors:
        return StoredVectors(self.targets, f"collection {self.manifest.collection}")

    def base_rows(self, rows: I64) -> I64:
        """Return the rows in the version of some rows; −1 for targets that were added since."""
        return rows if self.numbering is None else self.numbering.base_rows(rows)

    def check_hashes(self) -> None:
        if self.folder is not None:
            verify(self.folder, self.manifest)

    def warm(self) -> None:
        """Read the files that queries look at into memory, unless they would take most of it. Raises `StorageError`."""
        if self.folder is not None:
            warm(self.folder, self.manifest)

    @cached_property
    def ranker(self) -> Ranker:
        return Ranker(self.targets, self.offsets, self.prepared())


def projection(parts: Parts) -> Projection | None:
    """Return where some targets and bank queries lie; None without targets."""
    plain, sample = comparison(parts.manifest.metric).plain, parts.bank_sample
    queries = None if sample is None else plain(sample)
    return project(len(parts.offsets), lambda rows: plain(parts.targets.vectors(rows)), queries, parts.occurrence())


def traits_of(manifest: Manifest, payload: pa.Table | None, count: int) -> TargetTraits:
    """Return what the payload (a rows) of so many targets says of them.

    That is how often each should be found, NaN, the median, where it does not say and None where the correction has no
    prior, or one from a file; and its group, if the correction was fitted by group.
    """
    prior, groups = None, None
    for record, kind in ((manifest.target_prior, PRIOR), (manifest.own_offsets, OWN_OFFSETS)):
        if record is not None and record.column is not None and payload is not None:
            prior = prior_of(payload, record.column, kind)
    if manifest.fit_by is not None:
        known = payload is not None
        groups = group_names(payload, manifest.fit_by, "payload") if known else np.full(count, NO_GROUP, object)
    return TargetTraits(prior, groups)


def prior_of(payload: pa.Table, column: str, kind: NumberOfTarget = PRIOR) -> F64:
    """Return the values of a payload column (n,), NaN in place of those that are no finite numbers above 0.

    Or no other kind of number.
    """
    values = payload.column(column).to_numpy().astype(np.float64)
    return np.where(kind.holds(values), values, np.nan)


def all_scores(parts: Parts, queries: F32, strengths: Sequence[float]) -> list[F32]:
    """Return the scores (m, n) of prepared queries with all targets, for each strength, as an exact index ranks."""
    count, vectors = len(parts.offsets), parts.targets.vectors
    similarities = np.empty((len(queries), count), np.float32)
    step = block_rows(parts.manifest.stored_dim)
    for start in range(0, count, step):
        rows = np.arange(start, min(start + step, count))
        similarities[:, rows[0] : rows[-1] + 1] = queries @ vectors(rows).T
    query_time = parts.ranker.query_time
    return [corrected_scores(queries, similarities, each, parts.offsets, query_time, vectors) for each in strengths]
