"""The one order in which a version is made: lease → parent → segments → fit → gates → manifest → CURRENT → cut the log.

Each step may be killed. Nobody sees a draft before its version is current; checkpoints keep what it computed.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from hubless.builder.executors import executing
from hubless.builder.indexing import IndexOrder, IndexResult, build_index
from hubless.builder.inputs.bases import index_directions
from hubless.builder.pipeline.checkpoints import Checkpoints
from hubless.builder.pipeline.engines import InEngine, prune, reserved, tell_engine
from hubless.builder.pipeline.manifests import UNSAVED, described
from hubless.builder.pipeline.written_files import write_fit, write_gone, write_query_time, write_segments
from hubless.builder.recipe import Recipe
from hubless.builder.shards import segment_name
from hubless.errors import storage_errors
from hubless.progress import Steps
from hubless.search.parts import Parts
from hubless.search.transaction import open_written
from hubless.store import bundle
from hubless.store.bundle import FITS, SEGMENTS, Manifest
from hubless.store.catalog import Catalog, Staging
from hubless.store.durable import link
from hubless.store.locks import lease
from hubless.vectors.npy import write_arrays

MOMENT = 2.0
"""Seconds for which a job waits for another one, such as a server that flushes writes."""


@contextmanager
def changing(
    catalog: str | Path, collection: str, work: str, keep: int | None, patience: float = MOMENT
) -> Iterator[tuple[Catalog, str]]:
    """Hold the lease of a collection. At the end delete old versions, and the writes that all others have.

    Another job is waited for so many seconds.
    """
    home = Catalog(catalog)
    name = home.resolve(collection)
    home.current(name)
    with lease(home.path / name, work, patience):
        yield home, name
        if keep is not None:
            prune(home, name, keep)
        home.cut_log(name)


def current_parts(catalog: Catalog, name: str, until: int | None = None) -> Parts:
    """Return a collection as it is now: its current version, and the writes since, up to `until`."""
    return open_written(catalog, name, until=until, lenient=True).current.parts


@dataclass(frozen=True, kw_only=True)
class Workbench:
    """The recipe of a version, the steps to report, and what a killed build has kept. What is made stays in memory."""

    recipe: Recipe
    steps: Steps
    checkpoints: Checkpoints = field(default_factory=Checkpoints)

    @property
    def folder(self) -> Path | None:
        """The folder that files are written to."""
        return None

    def place(self, order: IndexOrder) -> IndexResult:
        """Index the vectors of the version, and choose the search parameters by the answers."""
        return self._indexed(order, None)

    def _indexed(self, order: IndexOrder, place: Callable[[int], Path] | None) -> IndexResult:
        return build_index(order, place, self.steps, index_directions(self.recipe, order.targets, order.bank))


@dataclass(frozen=True, kw_only=True)
class Draft(Workbench):
    """A version that is being made, in a folder that nobody reads. What is made is written to it, or to its engine."""

    staged: Staging
    engine: InEngine | None
    executor: ExitStack

    @property
    def folder(self) -> Path:
        """The folder of the version."""
        return self.staged.folder

    def place(self, order: IndexOrder) -> IndexResult:
        """Index the vectors of the version in files, or in its engine."""
        if self.engine is not None:
            return self.engine.put(order, self.steps)
        staged = self.staged
        return self._indexed(order, lambda number: staged.made(SEGMENTS, segment_name(staged.version, number)))

    def with_segments(self, parts: Parts) -> Parts:
        """Write the segments of parts that have no name yet, and name them."""
        return replace(parts, targets=write_segments(parts.targets, self.staged, parts.seq))

    def publish(self, parts: Parts, then: Callable[[], object] | None = None) -> Manifest:
        """Write what has no name yet, make the version current, do what is to be done then, and tell its engine.

        Raises `PreconditionFailed` if another version became current since the one that the parts were made from,
        which their manifest names.
        """
        over = parts.manifest.version
        written = self._written(parts)
        self.executor.close()  # its files go
        made = self.staged.publish(written, None if over == UNSAVED else over)
        if then is not None:
            then()
        if made.built == made.version:
            tell_engine(made)
        return made

    def _written(self, parts: Parts) -> Manifest:
        """Write the files of parts that no version has yet, and return the manifest."""
        known, staged, folder = parts.manifest, self.staged, self.folder
        parts = self.with_segments(parts)
        made = described(parts, staged.home.name, staged.version)
        write_gone(folder, parts.targets.stored)
        if known.fit == UNSAVED:
            write_fit(staged.made(FITS, made.fit), parts)
        write_query_time(folder, parts.prepared())
        if known.built == UNSAVED:
            write_arrays(folder / bundle.CANARY, parts.canary())
        for file in (bundle.CANARY, bundle.SOURCES):
            if parts.folder is not None and file in known.files and not (folder / file).exists():
                link(parts.folder / file, folder / file)
        named = {f"{SEGMENTS}/{each.name}" for each in made.segments} | {f"{FITS}/{made.fit}"}
        files = {file: record for file, record in known.files.items() if file.rpartition("/")[0] in named}
        return made.model_copy(update={"files": files})


@contextmanager
def drafting(
    catalog: Catalog, collection: str, recipe: Recipe, steps: Steps, kept: Path | None = None
) -> Iterator[Draft]:
    """Give a draft of a new version, with checkpoints in `kept`. Nothing else stays, unless the block publishes it."""
    with (
        catalog.staging(collection) as staged,
        storage_errors(staged.folder),
        reserved(recipe.engine, staged) as engine,
        ExitStack() as executor,
    ):
        executor.enter_context(executing(recipe.executor, staged.folder))
        yield Draft(
            recipe=recipe,
            steps=steps,
            checkpoints=Checkpoints(kept),
            staged=staged,
            engine=engine,
            executor=executor,
        )
