"""Places for the vectors of a version: the file of a Faiss index, or an engine outside of this process.

A job goes on if an engine does not answer when something is to be dropped: the next job tries again.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hubless.builder.indexing.index_choice import IndexOrder, build_index, index_record, tuning_record
from hubless.builder.pipeline.checkpoints import Checkpoints
from hubless.builder.recipe import FAISS, Recipe
from hubless.errors import NoEngine, storage_errors
from hubless.knn import cheapest_setting, recall_curve
from hubless.progress import Steps
from hubless.search.canaries import stored_scores
from hubless.search.engines.base import StoredTargets
from hubless.search.engines.external import Content, Engine, engine
from hubless.store import bundle
from hubless.store.bundle import IndexRecord, Manifest
from hubless.store.catalog import VERSIONS, Catalog, Staging
from hubless.store.locks import forget_outside, note_outside, noted_outside, orphaned_outside
from hubless.store.remote.mirror import RemoteCatalog
from hubless.vectors.arrays import F32, I64

log = logging.getLogger("hubless.engines")


class Placement(NamedTuple):
    """Targets as they will be served, what the manifest says of their index, and its recall."""

    targets: StoredTargets
    record: IndexRecord
    recall: float


class Place(Protocol):
    """Takes the vectors of one version."""

    def put(self, order: IndexOrder, steps: Steps) -> Placement:
        """Take the corrected targets, index them, and choose the search parameters by the answers."""


@dataclass(frozen=True)
class Workbench:
    """The recipe of a version, the place of its vectors, the steps to report, and what a killed build has kept."""

    recipe: Recipe
    place: Place
    steps: Steps
    checkpoints: Checkpoints = field(default_factory=Checkpoints)


@dataclass(frozen=True)
class InFile:
    """The file of a Faiss index; None keeps the index in memory."""

    path: Path | None = None

    def put(self, order: IndexOrder, steps: Steps) -> Placement:
        """Build the index."""
        made = build_index(order, self.path, steps)
        return Placement(made.targets, index_record(made, order.aims, order.shard_targets), made.setting.recall)


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
        yield InFile(staged.folder / bundle.INDEX)
        return
    versions, found = staged.folder.parent, engine(recipe.engine)
    name = found.reserve(collection, staged.version)
    _clear(versions)  # what builds that died have left
    try:
        yield InEngine(found, recipe.engine, name, collection, staged)
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

    def put(self, order: IndexOrder, steps: Steps) -> Placement:
        """Store the targets, and choose the search parameters."""
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
        made = IndexRecord(type=self.engine_name, notes=notes, engine=record, **tuning_record(curve, setting, aims))
        return Placement(targets.tuned(setting.parameters), made, setting.recall)


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
    kept = noted_outside(catalog.path / name / VERSIONS)
    catalog.delete(name, aliases=aliases)
    _drop(name, kept)


def _clear(versions: Path, only: str | None = None) -> None:
    """Drop what engines hold of versions that are not there, or of one of them."""
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
    """Return by version what an engine holds for it, of those at an address."""
    records = {each.id: each.manifest.index.engine for each in catalog.versions(name) if each.manifest}
    return {version: f"{made.engine} {made.name}" for version, made in records.items() if made and made.name}
