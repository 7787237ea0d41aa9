"""Engines outside that hold the vectors of versions: a name is reserved, filled, told of, and dropped."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter

from hubless.builder.incompatible import FAISS
from hubless.builder.indexing import IndexOrder, IndexResult, in_segments
from hubless.errors import NoEngine, storage_errors
from hubless.knn import augment
from hubless.knn.tuning import cheapest_setting, recall_curve
from hubless.progress import Steps
from hubless.search.canaries import stored_scores
from hubless.search.engines.external import Content, Engine, engine
from hubless.store import bundle
from hubless.store.addressed import AddressedCatalog, Managed
from hubless.store.bundle import Manifest
from hubless.store.catalog import VERSIONS, Catalog, Staging
from hubless.store.locks import forget_outside, note_outside, noted_outside, orphaned_outside

_log = logging.getLogger("hubless.engines")


@contextmanager
def reserved(name: str, staged: Staging) -> Iterator["InEngine | None"]:
    """Give the place of a version's vectors in an engine; None for files. Nothing stays there of what is given up."""
    if name == FAISS:
        yield None
        return
    versions = staged.folder.parent
    found = engine(name)
    place = found.reserve(staged.home.name, staged.version)
    _clear(versions)  # what builds that died have left
    try:
        yield InEngine(found, name, place, staged)
    finally:
        if not (staged.home / bundle.SEGMENTS / staged.version).is_dir():
            _clear(versions, staged.version)


@dataclass(frozen=True)
class InEngine:
    """A name in an engine that will hold the vectors of a version. Its ids and payload lie in the folder already."""

    engine: Engine
    engine_name: str
    name: str
    staged: Staging

    def put(self, order: IndexOrder, steps: Steps) -> IndexResult:
        """Store the targets in the engine, tune its search by the held-out answers, and say what it reaches."""
        answers = order.answers
        aims = order.aims
        folder = self.staged.folder
        version = self.staged.version
        note_outside(folder.parent, version, f"{self.engine_name} {self.name}")
        content = Content(self.staged.home.name, version, folder, order.targets, order.offsets)
        index, record, notes = self.engine.store(self.name, content, order.index, steps)
        targets = in_segments([index], order.offsets)
        steps.step(f"tuning the {record.kind} index")
        exact = stored_scores(targets, answers.queries, answers.rows)
        queries = augment.folded_queries(answers.queries, 1.0)
        search = partial(index.find, only=None)
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
