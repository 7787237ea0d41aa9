"""Verifies catalogs, backs them up while they are served, written to and merged, and restores from a backup.

A version never changes, and the log has all writes that any version lacks. So the collection is locked while the files
of its versions are opened and the log is copied: they belong together. What was opened can be read after that, also if
the versions are pruned.
"""

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from hubless.errors import BundleDamaged, CollectionNotFound, HublessError, InputError, StorageError, storage_errors
from hubless.search.soundness import collection_problem
from hubless.search.transaction import open_written
from hubless.store.aliases import Table, changing_aliases, read_aliases, write_aliases
from hubless.store.bank_order import copy_bank
from hubless.store.bundle import MANIFEST, read_manifest
from hubless.store.catalog import CURRENT, LOCK, VERSIONS, Catalog
from hubless.store.durable import locked, make_folder, move, replace_text, sync
from hubless.store.kept_scan import SCAN


@dataclass(frozen=True)
class Problem:
    """A fault of a collection, or of one version of it."""

    collection: str
    version: str | None
    problem: str


@dataclass
class Verdict:
    """The collections that were checked, and their faults."""

    versions: int = 0
    writes: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return not self.problems

    def as_json(self) -> dict[str, Any]:
        return {"sound": self.sound, **asdict(self)}


def verify_catalog(catalog: Catalog) -> Verdict:
    """Check files, index, offsets and log of all versions, and the aliases. The service can run meanwhile."""
    verdict = Verdict()
    for name in catalog.collections():
        with suppress(CollectionNotFound):  # deleted meanwhile
            _verify_collection(catalog, name, verdict)
    known = catalog.collections()
    for alias, stands in catalog.aliases().items():
        if stands.collection not in known:
            problem = f"the alias {alias!r} stands for it, and it is not there"
            verdict.problems.append(Problem(stands.collection, None, problem))
        if alias in known:
            verdict.problems.append(Problem(alias, None, "an alias has its name"))
    return verdict


def _verify_collection(catalog: Catalog, name: str, verdict: Verdict) -> None:
    current, versions = catalog.current(name), catalog.version_ids(name)
    if current not in versions and catalog.current(name) == current:
        problem = "it is current, and is not there: take another one by hubless rollback --version, or restore it"
        verdict.problems.append(Problem(name, current, problem))
    for version in versions:
        try:
            found = _version_problem(catalog, name, version)
        except HublessError as error:
            if version not in catalog.version_ids(name):
                continue  # pruned meanwhile
            found = str(error)
        verdict.versions += 1
        if found is not None:
            verdict.problems.append(Problem(name, version, found))
    try:
        with closing(catalog.log(name)) as log:
            verdict.writes[name] = log.last()
    except HublessError as error:
        verdict.problems.append(Problem(name, None, str(error)))


def _version_problem(catalog: Catalog, name: str, version: str) -> str | None:
    written = open_written(catalog, name, version=version, lenient=True)
    with written.base as opened:
        opened.check_canaries()
        if (problem := collection_problem(opened)) is not None:
            return problem
        return None if written.current is opened else collection_problem(written.current)


_UNFINISHED = ".unfinished-"
_READ_BYTES = 2**20


def back_up(catalog: Catalog, folder: Path) -> Verdict:
    """Copy all collections, each as it is at one moment, into a new folder that appears when the copy is verified."""
    if folder.exists():
        raise InputError("folder", "a new folder", f"{folder}, which is there")
    catalog.check_exists()
    with _unfinished(folder) as made:
        aliases = read_aliases(catalog.path)
        for name in catalog.collections():
            try:
                _copy_collection(catalog, name, made / name, changing=True)
            except (CollectionNotFound, StorageError):
                if name in catalog.collections():
                    raise
                shutil.rmtree(made / name, ignore_errors=True)  # deleted meanwhile
        copy = Catalog(made)
        _put_aliases(copy, aliases, copy.collections())
        verdict = _verified(copy)
        with storage_errors(folder):
            move(made, folder)
    return verdict


def restore(folder: Path, catalog: Catalog, collection: str | None = None) -> Verdict:
    """Copy collections of a backup, verified, into a catalog, with their aliases unless these are taken."""
    backup = Catalog(folder)
    names = backup.collections() if collection is None else [collection]
    with _unfinished(catalog.path / "restored") as made:
        for name in names:
            _check_free(catalog, name)
            _copy_collection(backup, name, made / name, changing=False)
        verdict = _verified(Catalog(made))
        for name in names:
            with changing_aliases(catalog.path):
                _check_free(catalog, name)
                move(made / name, catalog.path / name)
    _put_aliases(catalog, read_aliases(backup.path), names)
    return verdict


def _check_free(catalog: Catalog, name: str) -> None:
    if (catalog.path / name).exists():
        raise InputError("catalog", f"one without collection {name!r}", "one that has it: delete it first")
    if name in catalog.aliases():
        raise InputError("catalog", f"one without alias {name!r}", "one that has it: remove it first")


def _verified(copy: Catalog) -> Verdict:
    verdict = verify_catalog(copy)
    for each in verdict.problems:
        raise BundleDamaged(copy.path / each.collection / (each.version or ""), each.problem)
    return verdict


@contextmanager
def _unfinished(folder: Path) -> Iterator[Path]:
    """Give a folder beside another one; it is removed at the end, and what a kill left of it at the next time."""
    made = folder.with_name(f"{_UNFINISHED}{folder.name}-{secrets.token_hex(4)}")
    with storage_errors(folder):
        for left in folder.parent.glob(f"{_UNFINISHED}{folder.name}-*"):
            shutil.rmtree(left, ignore_errors=True)
        make_folder(made)
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _put_aliases(catalog: Catalog, found: Table, collections: Sequence[str]) -> None:
    with changing_aliases(catalog.path) as table:
        taken = {*table.aliases, *catalog.collections()}
        new = {
            alias: stands
            for alias, stands in found.aliases.items()
            if stands.collection in collections and alias not in taken
        }
        if new:
            revision = max(table.revision, found.revision)
            write_aliases(catalog.path, Table(revision=revision, aliases=table.aliases | new))


def _copy_collection(catalog: Catalog, name: str, home: Path, *, changing: bool) -> None:
    """Copy versions, log, waiting bank and kept scan; `changing` says if somebody may change them meanwhile."""
    source = catalog.home(name)
    with storage_errors(home), ExitStack() as opened:
        make_folder(home / VERSIONS)
        copy_bank(source, home)  # before the versions, as it goes when one has it
        with suppress(FileNotFoundError):
            shutil.copyfile(source / SCAN, home / SCAN)
        with locked(source / LOCK) if changing else nullcontext():
            current = catalog.current(name)
            files = {version: _opened_files(catalog, name, version, opened) for version in catalog.version_ids(name)}
            with closing(catalog.log(name)) as log:
                log.copy(home).close()
        for version, opened_files in files.items():
            _write_files(opened_files, home / VERSIONS / version)
        replace_text(home / CURRENT, current)


def _opened_files(catalog: Catalog, name: str, version: str, opened: ExitStack) -> dict[str, BinaryIO]:
    folder = catalog.folder(name, version)
    with storage_errors(folder):
        names = [*read_manifest(folder).files, MANIFEST]
        return {each: opened.enter_context((folder / each).open("rb")) for each in names}


def _write_files(files: dict[str, BinaryIO], folder: Path) -> None:
    make_folder(folder)
    for name, file in files.items():
        with (folder / name).open("wb") as copy:
            shutil.copyfileobj(file, copy, _READ_BYTES)
        sync(folder / name)
    sync(folder)
