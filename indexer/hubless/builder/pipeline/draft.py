"""A version before it is published: its parts, their files, its manifest, and the place of its vectors."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.builder.indexing import IndexOrder, IndexResult, build_index, write_whole
from hubless.builder.inputs import Contents, fit_index_basis
from hubless.builder.pipeline.checkpoints import Checkpoints
from hubless.builder.recipe import FAISS, Recipe
from hubless.corrections import QueryTime, registered
from hubless.corrections.centred import CentredCorrection
from hubless.errors import NoEngine, storage_errors
from hubless.knn import INDEXES, augment, cheapest_setting, recall_curve
from hubless.measures.confidence.model import ConfidenceModel
from hubless.progress import Steps
from hubless.search.canaries import Canary, stored_scores
from hubless.search.engines.base import StoredTargets
from hubless.search.engines.embedded import IndexedTargets
from hubless.search.engines.external import Content, Engine, engine
from hubless.search.engines.full import Embedded, FullTargets
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
from hubless.store.catalog import VERSIONS, Catalog, Staging
from hubless.store.locks import forget_outside, note_outside, noted_outside, orphaned_outside
from hubless.store.remote.mirror import RemoteCatalog
from hubless.vectors.arrays import F32, I64
from hubless.vectors.basis import Basis
from hubless.vectors.comparing import comparison
from hubless.vectors.npy import write_array


@dataclass(frozen=True, kw_only=True)
class VersionDraft:
    """All parts of a version but its contents. `about` has fields of its manifest.

    `held_back` are rows of targets whose offset stood alone, and is held back.
    """

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
    held_back: I64 | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def extended(self, count: int) -> "VersionDraft":
        more = count - len(self.offsets)
        occurrence = None if self.occurrence is None else np.pad(self.occurrence, ((0, 0), (0, more)))
        return replace(self, offsets=np.pad(self.offsets, (0, more)), occurrence=occurrence) if more else self

    def write(self, folder: Path) -> None:
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
            dim=self.targets.dim - comparison(fields["metric"]).lifted if self.basis is None else self.basis.dim,
            dims=dims,
            index=self.index,
            id_type="int64" if pa.types.is_integer(contents.ids.type) else "string",
            payload_columns=contents.payload_columns,
            encoder=None if contents.encoder is None else {"dim": contents.encoder.dim},
            measured=self.measured,
            confidence=confidence_record(self.confidence),
            provenance=Provenance(
                inputs=dict(inputs), seed=fields.pop("seed"), versions=_versions(fields["correction"].name)
            ),
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
def _versions(correction: str) -> dict[str, str]:
    """Return the versions of the packages that make a version, and of the one that brings its correction."""
    brought_by, _, version = registered(correction).package.partition(" ")
    own = {package: installed_version(package) for package in bundle.BUILT_WITH}
    return own | ({brought_by: version} if version else {})


log = logging.getLogger("hubless.engines")


Place: TypeAlias = Callable[[IndexOrder, Steps], IndexResult[Any]]
"""Takes the vectors of one version: indexes them, and chooses the search parameters by the answers."""


@dataclass(frozen=True)
class Workbench:
    """The recipe of a version, the place of its vectors, the steps to report, and what a killed build has kept."""

    recipe: Recipe
    place: Place
    steps: Steps
    checkpoints: Checkpoints = field(default_factory=Checkpoints)


def in_index(path: Path | None, recipe: Recipe, order: IndexOrder, steps: Steps) -> IndexResult[Embedded]:
    """Build a Faiss index in a file; without a path in memory."""
    return build_index(order, path, steps, fit_index_basis(recipe, order.targets, order.bank))


@contextmanager
def drafting(
    catalog: Catalog, collection: str, recipe: Recipe, steps: Steps, checkpoints: Checkpoints | None = None
) -> Iterator[tuple[Staging, Workbench]]:
    """Give a folder for a new version, and the workbench. Nothing stays of it, unless the block publishes it."""
    with (
        catalog.staging(collection) as staged,
        storage_errors(staged.folder),
        _placing(recipe, staged, collection) as place,
    ):
        yield staged, Workbench(recipe, place, steps, checkpoints or Checkpoints())


@contextmanager
def _placing(recipe: Recipe, staged: Staging, collection: str) -> Iterator[Place]:
    if recipe.engine == FAISS:
        yield partial(in_index, staged.folder / bundle.INDEX, recipe)
        return
    versions, found = staged.folder.parent, engine(recipe.engine)
    name = found.reserve(collection, staged.version)
    _clear(versions)  # what builds that died have left
    try:
        yield InEngine(found, recipe.engine, name, collection, staged).put
    finally:
        if not (versions / staged.version).is_dir():
            _clear(versions, staged.version)


@dataclass(frozen=True)
class InEngine:
    """A name in an engine that will hold the vectors of a version. Its ids and payload lie in the folder already."""

    engine: Engine
    engine_name: str
    name: str
    collection: str
    staged: Staging

    def put(self, order: IndexOrder, steps: Steps) -> IndexResult[StoredTargets]:
        answers, aims = order.answers, order.aims
        folder, version = self.staged.folder, self.staged.version
        note_outside(folder.parent, version, f"{self.engine_name} {self.name}")
        content = Content(self.collection, version, folder, order.targets, order.offsets)
        targets, record, notes = self.engine.store(self.name, content, order.index, steps)
        steps.step(f"tuning the {record.kind} index")

        def search(queries: F32, k: int, parameters: Mapping[str, Any]) -> tuple[F32, I64]:
            return targets.find(queries, k, parameters, None)

        exact = stored_scores(targets, order.offsets, answers.queries, answers.rows)
        curve = recall_curve(search, targets.ladder(), targets.augmented(answers.queries, 1.0), exact)
        setting = cheapest_setting(curve, aims)
        if setting.recall < aims.recall:
            reached = f"index {record.kind} of {self.engine_name} reaches {setting.recall:.4f}"
            notes = [*notes, f"a recall of {aims.recall:g} is not reached: {reached}"]
        return IndexResult(targets.tuned(setting.parameters), curve, setting, list(notes), record)


def follow(manifest: Manifest) -> None:
    """Tell its engine that a version has become current."""
    record = manifest.index.engine
    if record is not None and manifest.index.external:
        try:
            engine(record.engine).publish(record)
        except NoEngine as error:
            log.warning("%s was not told of version %s: %s", record.engine, manifest.version, error)


def prune(catalog: Catalog | RemoteCatalog, name: str, keep: int) -> list[str]:
    """Delete old versions as `Catalog.prune`, and what engines hold of them."""
    if isinstance(catalog, Catalog):
        deleted = catalog.prune(name, keep)
        _clear(catalog.path / name / VERSIONS)
    else:
        kept = _published(catalog, name)
        deleted = catalog.prune(name, keep)
        _drop(name, {version: kept[version] for version in deleted if version in kept})
    return deleted


def delete(catalog: Catalog, name: str, *, aliases: bool = False) -> None:
    """Delete a collection as `Catalog.delete`, and what engines hold of its versions."""
    with storage_errors(catalog.path / name):
        kept = noted_outside(catalog.path / name / VERSIONS)
    catalog.delete(name, aliases=aliases)
    _drop(name, kept)


def _clear(versions: Path, only: str | None = None) -> None:
    gone = orphaned_outside(versions) if only is None else noted_outside(versions)
    for version in _drop(versions.parent.name, {each: kept for each, kept in gone.items() if only in (None, each)}):
        forget_outside(versions, version)


def _drop(collection: str, kept: Mapping[str, str]) -> list[str]:
    """Drop what is kept for versions, "ENGINE NAME" each. Return the versions of which nothing is left."""
    dropped = []
    split = {version: text.partition(" ") for version, text in kept.items()}
    for known in sorted({name for name, _, _ in split.values()}):
        names = {version: name for version, (of, _, name) in split.items() if of == known}
        try:
            dropped += engine(known).drop(collection, names)
        except NoEngine as error:
            log.warning("left in %s: %s (%s)", known, ", ".join(names.values()), error)
    return dropped


def _published(catalog: RemoteCatalog, name: str) -> dict[str, str]:
    records = {each.id: each.manifest.index.engine for each in catalog.versions(name) if each.manifest}
    return {version: f"{made.engine} {made.name}" for version, made in records.items() if made and made.name}
