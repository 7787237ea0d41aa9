"""A version before it is published: its parts, their files, its manifest, and the place of its vectors."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from importlib.metadata import version as installed_version
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hubless.builder.indexing import IndexOrder, IndexResult, SegmentFolder, build_index, in_segments
from hubless.builder.inputs.bases import fit_index_basis
from hubless.builder.inputs.build_inputs import Contents
from hubless.builder.pipeline.checkpoints import Checkpoints
from hubless.builder.pipeline.written_files import write_fit, write_query_time, write_segments
from hubless.builder.recipe import FAISS, Recipe
from hubless.builder.shards import segment_name
from hubless.corrections import QueryTime, registered
from hubless.corrections.centred import CentredCorrection
from hubless.errors import NoEngine, storage_errors
from hubless.knn import INDEXES, augment
from hubless.knn.base import Found
from hubless.knn.tuning import cheapest_setting, recall_curve
from hubless.measures.confidence.cut import Cut
from hubless.progress import Steps
from hubless.search.canaries import Canary, stored_scores
from hubless.search.engines.embedded import FaissIndex
from hubless.search.engines.external import Content, Engine, engine
from hubless.search.ranker import Ranker
from hubless.search.segments.segment import Segment, SegmentIds
from hubless.search.segments.targets import Targets
from hubless.store import bundle
from hubless.store.addressed import AddressedCatalog, Managed
from hubless.store.bundle import (
    FORMAT_VERSION,
    ConfidenceRecord,
    IndexRecord,
    InputRecord,
    Manifest,
    Measured,
    Provenance,
    SegmentRecord,
)
from hubless.store.catalog import VERSIONS, Catalog, Staging
from hubless.store.locks import forget_outside, note_outside, noted_outside, orphaned_outside
from hubless.vectors.arrays import F32, I64
from hubless.vectors.basis import Basis
from hubless.vectors.comparing import comparison
from hubless.vectors.ids import IdTable
from hubless.vectors.payload import Payload


@dataclass(frozen=True, kw_only=True)
class VersionDraft:
    """All parts of a version but its contents: its targets have no ids yet. `about` has fields of its manifest.

    The last `vectorless` targets have no vector. `held_back` are rows of targets whose offset stood alone, and is held
    back.
    """

    targets: Targets
    correction: CentredCorrection
    query_time: QueryTime | None = None
    occurrence: NDArray[np.integer[Any]] | None = None
    bank_sample: F32 | None = None
    canary: Canary
    confidence: Cut | None = None
    basis: Basis | None = None
    index: IndexRecord
    measured: Measured | None = None
    vectorless: int = 0
    held_back: I64 | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ranker(self) -> Ranker:
        """Answers queries as the version will."""
        return Ranker(self.targets, self.query_time)

    @property
    def count(self) -> int:
        """The number of targets, n."""
        return len(self.targets) + self.vectorless

    def filled(
        self, ids: Callable[[int, int], SegmentIds], payload: Callable[[int, int], Payload] | None, seq: int = 0
    ) -> Targets:
        """Return the targets with their ids and payload: each is a function of the first row, and the one after."""
        segments = list[Segment]()
        start = 0
        views = self.targets.stored
        for number, view in enumerate(views):
            known = view.segment
            bare = self.vectorless if number == len(views) - 1 else 0
            stop = start + len(known) + bare
            segments.append(
                replace(
                    known,
                    offsets=np.pad(known.offsets, (0, bare)),
                    ids=ids(start, stop),
                    payload=None if payload is None else payload(start, stop),
                    bare=np.arange(len(known), len(known) + bare),
                    occurrence=self._occurrence(start, stop),
                    seq=seq,
                )
            )
            start = stop
        return Targets.of(segments, self.targets.dim)

    def _occurrence(self, start: int, stop: int) -> NDArray[np.integer[Any]] | None:
        if self.occurrence is None:
            return None
        return np.pad(self.occurrence, ((0, 0), (0, self.count - self.occurrence.shape[1])))[:, start:stop]

    def write(self, staged: Staging, contents: Contents, *, seq: int = 0, fit: bool = True) -> list[SegmentRecord]:
        """Write all files of the version but the manifest. The ids and the payload lie in its folder already.

        It has all writes up to `seq`. Without `fit` it names that of another version.
        """
        folder = staged.folder
        views = self.targets.stored
        held = [folder / name for name in (bundle.IDS, bundle.PAYLOAD) if (folder / name).exists()]
        if len(views) == 1:
            place = staged.made(bundle.SEGMENTS, staged.version)
            held = [path.replace(place / path.name) for path in held]
        ids = IdTable.open(held[0])
        payload = Payload.open(held[1]) if len(held) > 1 else None
        targets = self.filled(ids.part, None if payload is None else payload.part, seq)
        records: list[SegmentRecord] = write_segments(targets.stored, staged, self.index.type, {})["segments"]
        if len(views) > 1:
            for path in held:
                path.unlink()
        if fit:
            made = staged.made(bundle.FITS, staged.version)
            write_fit(made, self.correction, self.confidence, self.bank_sample, self.basis, contents.encoder)
        np.savez(folder / bundle.CANARY, allow_pickle=False, **self.canary)
        write_query_time(folder, self.query_time)
        return records

    def manifest(
        self, contents: Contents, inputs: Mapping[str, InputRecord], collection: str, version: str, **more: Any
    ) -> Manifest:
        """Return the manifest, without the record of the files. `more` fields come on top of those of `about`."""
        fields = {**self.about, **more}
        index = self.targets.first.index
        dims = fields.pop("dims", None)
        if isinstance(index, FaissIndex) and index.whole is not None:
            dims = index.whole.basis.kept
        elif self.basis is not None:
            dims = self.basis.kept
        fields.setdefault("segments", [SegmentRecord(name=version, index=self.index.type, count=self.count)])
        return Manifest(
            format_version=FORMAT_VERSION,
            collection=collection,
            version=version,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            count=self.count,
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
            files=fields.pop("files", {}),
            built=version,
            vectorless=self.vectorless,
            **{"fit": version, **fields},
        )


def confidence_record(model: Cut | None) -> ConfidenceRecord | None:
    """Return what a manifest says of a model of confidence."""
    if model is None:
        return None
    return ConfidenceRecord(calibrated=model.pairs > 0, pairs=model.pairs, accuracies=model.accuracies, lean=model.lean)


def empty_draft(dim: int, correction: CentredCorrection, sample: F32 | None, about: Mapping[str, Any]) -> VersionDraft:
    """Return a version without vectors of d dimensions, to be written to."""
    kind = INDEXES["flat"]
    index = kind.new(0, augment.augmented_dim(dim), None)
    return VersionDraft(
        targets=in_segments([FaissIndex(kind, index, dim, {})], np.empty(0, np.float32)),
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


_log = logging.getLogger("hubless.engines")


Placing: TypeAlias = Callable[[IndexOrder, Steps], IndexResult]
"""Takes the vectors of one version: indexes them, and chooses the search parameters by the answers."""


@dataclass(frozen=True)
class Workbench:
    """The recipe of a version, the place of its vectors, the steps to report, and what a killed build has kept."""

    recipe: Recipe
    place: Placing
    steps: Steps
    checkpoints: Checkpoints = field(default_factory=Checkpoints)


def in_index(place: SegmentFolder | None, recipe: Recipe, order: IndexOrder, steps: Steps) -> IndexResult:
    """Build Faiss indexes in files; without a place in memory."""
    return build_index(order, place, steps, fit_index_basis(recipe, order.targets, order.bank))


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
def _placing(recipe: Recipe, staged: Staging, collection: str) -> Iterator[Placing]:
    if recipe.engine == FAISS:
        yield partial(
            in_index, lambda number: staged.made(bundle.SEGMENTS, segment_name(staged.version, number)), recipe
        )
        return
    versions = staged.folder.parent
    found = engine(recipe.engine)
    name = found.reserve(collection, staged.version)
    _clear(versions)  # what builds that died have left
    try:
        yield InEngine(found, recipe.engine, name, collection, staged).put
    finally:
        if not (staged.home / bundle.SEGMENTS / staged.version).is_dir():
            _clear(versions, staged.version)


@dataclass(frozen=True)
class InEngine:
    """A name in an engine that will hold the vectors of a version. Its ids and payload lie in the folder already."""

    engine: Engine
    engine_name: str
    name: str
    collection: str
    staged: Staging

    def put(self, order: IndexOrder, steps: Steps) -> IndexResult:
        """Store the targets in the engine, tune its search by the held-out answers, and say what it reaches."""
        answers = order.answers
        aims = order.aims
        folder = self.staged.folder
        version = self.staged.version
        note_outside(folder.parent, version, f"{self.engine_name} {self.name}")
        content = Content(self.collection, version, folder, order.targets, order.offsets)
        index, record, notes = self.engine.store(self.name, content, order.index, steps)
        targets = in_segments([index], order.offsets)
        steps.step(f"tuning the {record.kind} index")

        def search(queries: F32, k: int, parameters: Mapping[str, Any]) -> Found:
            return index.find(queries, k, parameters, None)

        exact = stored_scores(targets, answers.queries, answers.rows)
        queries = augment.folded_queries(answers.queries, 1.0)
        curve = recall_curve(search, index.ladder(), queries, exact, aims.recall, perf_counter)
        setting = cheapest_setting(curve, aims)
        if setting.recall < aims.recall:
            reached = f"index {record.kind} of {self.engine_name} reaches {setting.recall:.4f}"
            notes = [*notes, f"a recall of {aims.recall:g} is not reached: {reached}"]
        tuned = in_segments([index.tuned(setting.parameters)], order.offsets)
        return IndexResult(tuned, curve, setting, list(notes), record)


def tell_engine(manifest: Manifest) -> None:
    """Tell its engine that a version has become current."""
    record = manifest.index.engine
    if record is not None and manifest.index.external:
        try:
            engine(record.engine).publish(record)
        except NoEngine as error:
            _log.warning("%s was not told of version %s: %s", record.engine, manifest.version, error)


def prune(catalog: Managed, name: str, keep: int) -> list[str]:
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
            _log.warning("left in %s: %s (%s)", known, ", ".join(names.values()), error)
    return dropped


def _published(catalog: AddressedCatalog, name: str) -> dict[str, str]:
    records = {each.id: each.manifest.index.engine for each in catalog.versions(name) if each.manifest}
    return {version: f"{made.engine} {made.name}" for version, made in records.items() if made and made.name}
