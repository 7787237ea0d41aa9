"""Backs catalogs up while they are served, written to and merged, and restores from a backup.

A version never changes, and the log has all writes that any version lacks. So the collection is locked while the files
of its versions are opened and the log is copied: they belong together. What was opened can be read after that, also if
the versions are pruned. What is damaged is left out of the copy and named; the rest is copied.
"""

import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from hubless.builder.verification import Problem, Verdict, verify_catalog
from hubless.errors import (
    BundleDamaged,
    CollectionNotFound,
    HublessError,
    InputError,
    StorageError,
    storage_errors,
)
from hubless.search.kept_scores.kept_corrections import SCORES, KeptCorrections
from hubless.store.aliases import ALIASES, Table, changing_aliases, read_aliases, write_aliases
from hubless.store.bank_order import copy_bank
from hubless.store.bundle import MANIFEST, path_of, read_manifest
from hubless.store.catalog import CURRENT, LOCK, VERSIONS, Catalog
from hubless.store.copies import copy_open, copy_plain, mode_of, open_plain
from hubless.store.durable import held_still, make_folder, move, replace_text, sync
from hubless.store.kept_scan import SCAN
from hubless.store.log import LOG, LOG_LAST

_UNFINISHED = ".unfinished-"


def back_up(catalog: Catalog, folder: Path, *, only: Sequence[str] = (), skip: Sequence[str] = ()) -> Verdict:
    """Copy collections, each as it is at one moment, into a new folder that appears when the copy is verified.

    Versions and collections that are damaged are left out; the verdict on the copy names them. If nothing is sound, no
    folder is made. Raises `InputError` if the folder is there, or is one of the catalog's own; `CollectionNotFound`;
    `StorageError` if the copy cannot be written.

    Parameters
    ----------
    only : names of the collections to copy; without, all, and all corrections of scores
    skip : names of collections to leave out
    """
    check_absent(folder)
    catalog.check_exists()
    _check_apart(catalog, folder)
    names = _chosen(catalog, only, skip)
    with half_made(folder) as made:
        aliases, troubles = _sound_aliases(catalog)
        verdict = _copied(catalog, names, made, changing=True)
        verdict.problems += troubles
        if not only:
            verdict.problems += _copy_scores(catalog.path, made)
        copy = Catalog(made)
        kept = copy.collections()
        if names and not kept:
            return verdict
        with changing_aliases(copy.path) as table:
            write_aliases(copy.path, _joined(table, aliases, kept, kept))
        with storage_errors(folder):
            made.chmod(mode_of(catalog.path))
            move(made, folder)
    return verdict


def restore(folder: Path, catalog: Catalog, *, only: Sequence[str] = (), skip: Sequence[str] = ()) -> Verdict:
    """Copy collections of a backup, verified, into a catalog, with aliases and scores unless their names are taken.

    What is damaged is left out and named, as in `back_up`. The collections and their aliases appear at the end; if that
    fails, none of them stays. Raises `InputError` if the catalog has one of the names, or if the folder has nothing to
    restore; `CollectionNotFound`; `StorageError`.
    """
    backup = Catalog(folder)
    backup.check_exists()
    names = _chosen(backup, only, skip)
    if not names and not KeptCorrections(folder).names():
        raise InputError("folder", "a backup with collections or scores to restore", f"{folder}, which has none")
    new = not catalog.path.exists()
    for name in names:
        _check_free(catalog, name)
    with half_made(catalog.path / "restored") as made:
        aliases, troubles = _sound_aliases(backup)
        verdict = _copied(backup, names, made, changing=False)
        verdict.problems += troubles
        _place(catalog, made, aliases)
        if not only:
            verdict.problems += _copy_scores(backup.path, catalog.path)
        if new:
            catalog.path.chmod(mode_of(backup.path))
    return verdict


def check_absent(folder: Path, parameter: str = "folder") -> None:
    """Raise `InputError` about a parameter if something has the name of the folder that it says is to be made."""
    if os.path.lexists(folder):
        raise InputError(parameter, "a new folder", f"{folder}, which is there")


def _check_apart(catalog: Catalog, folder: Path) -> None:
    """Raise `InputError` for a folder in a collection, where the catalog looks for versions."""
    place = Path(os.path.realpath(folder))
    inside = place.relative_to(catalog.path).parts if place.is_relative_to(catalog.path) else ()
    if len(inside) > 1 and (catalog.path / inside[0] / VERSIONS).exists():
        raise InputError("folder", "a folder outside of the catalog's collections", folder)


def _chosen(catalog: Catalog, only: Sequence[str], skip: Sequence[str]) -> list[str]:
    """Return the names of collections to copy, those that have no current version too."""
    known = sorted({*catalog.collections(), *catalog.strays()})
    for name in (*only, *skip):
        if name not in known:
            raise CollectionNotFound(f"there is no collection {name!r} in {catalog.path}")
    return [name for name in known if (not only or name in only) and name not in skip]


def _copy_scores(source: Path, new: Path) -> list[Problem]:
    """Copy corrections of scores, verified, unless their names are taken. Return what is wrong with others."""
    kept = KeptCorrections(source)
    copy = KeptCorrections(new)
    problems = []
    taken = copy.names()
    for name in kept.names():
        if name in taken:
            continue
        try:
            with storage_errors(source), TemporaryDirectory() as folder:
                read = KeptCorrections(Path(folder))
                make_folder(read.path(name).parent)
                copy_plain(kept.path(name), read.path(name), source)
                correction = read.get(name)
        except HublessError as error:
            problems.append(Problem(f"{SCORES}/{name}", None, f"it is left out: {error}"))
        else:
            copy.put(name, correction)
    return problems


def _sound_aliases(catalog: Catalog) -> tuple[Table, list[Problem]]:
    try:
        return read_aliases(catalog.path), []
    except StorageError as error:
        return Table(), [Problem(ALIASES, None, str(error))]


def _check_free(catalog: Catalog, name: str) -> None:
    if (catalog.path / name).exists():
        raise InputError("catalog", f"one without collection {name!r}", "one that has it: delete it first")
    if name in read_aliases(catalog.path).aliases:
        raise InputError("catalog", f"one without alias {name!r}", "one that has it: remove it first")


def _place(catalog: Catalog, made: Path, aliases: Table) -> None:
    """Move what was copied into the catalog, all or nothing. The aliases come first, as they need room on the disk."""
    names = Catalog(made).collections()
    with changing_aliases(catalog.path) as table:
        for name in names:
            _check_free(catalog, name)
        joined = _joined(table, aliases, names, [*catalog.collections(), *names])
        if joined != table:
            write_aliases(catalog.path, joined)
        try:
            for name in names:
                move(made / name, catalog.path / name)
        except BaseException:
            for name in names:
                if not (made / name).exists():
                    move(catalog.path / name, made / name)
            if joined != table:
                write_aliases(catalog.path, table)
            raise
    catalog.changes.raise_by_one()


def _joined(table: Table, more: Table, collections: Collection[str], taken: Collection[str]) -> Table:
    """Return a table with the other's aliases of some collections too, unless their names are taken."""
    new = {
        alias: stands
        for alias, stands in more.aliases.items()
        if stands.collection in collections and alias not in table.aliases and alias not in taken
    }
    return Table(revision=max(table.revision, more.revision), aliases=table.aliases | new) if new else table


@contextmanager
def half_made(folder: Path) -> Iterator[Path]:
    """Give a folder beside another one; it is removed at the end, and what a kill left of it at the next time."""
    made = folder.with_name(f"{_UNFINISHED}{folder.name}-{secrets.token_hex(4)}")
    with storage_errors(folder):
        for left in folder.parent.glob(f"{_UNFINISHED}{folder.name}-*"):
            shutil.rmtree(left, ignore_errors=True)
        make_folder(made)
        made.chmod(0o700)
        try:
            yield made
        finally:
            shutil.rmtree(made, ignore_errors=True)


def _copied(catalog: Catalog, names: Sequence[str], made: Path, *, changing: bool) -> Verdict:
    """Copy collections, verify the copies, and take out what is not sound. Return the verdict on all of it."""
    problems = []
    for name in names:
        try:
            problems += _copy_collection(catalog, name, made / name, changing=changing)
        except HublessError as error:
            if isinstance(error, StorageError) and made in (error.path, *error.path.parents):
                raise
            shutil.rmtree(made / name, ignore_errors=True)
            if (catalog.path / name).exists():  # or else it was deleted meanwhile
                problems.append(Problem(name, None, f"it is left out: {error}"))
    copy = Catalog(made)
    verdict = verify_catalog(copy)
    for name in copy.collections():
        problems += _taken_out(copy, name, verdict)
    verdict.problems = problems
    return verdict


def _taken_out(copy: Catalog, name: str, verdict: Verdict) -> list[Problem]:
    """Remove the versions of a copy that are not sound, and the copy if none is left. Return what is to be said."""
    found = [each for each in verdict.problems if each.collection == name]
    current = copy.current(name)
    versions = copy.version_ids(name)
    damaged = {each.version for each in found}
    left = [version for version in versions if version not in damaged]
    problems = [each for each in found if each.version in versions or each.version is None]
    for version in set(versions) & damaged:
        shutil.rmtree(copy.path / name / VERSIONS / version)
        verdict.versions -= 1
    copy.sweep(name)
    if None in damaged or not left:  # its log, or all versions
        shutil.rmtree(copy.path / name)
        verdict.versions -= len(left)
        verdict.writes.pop(name, None)
        return [*problems, Problem(name, None, "it is left out: no version and log of it are sound")]
    if current not in left:
        replace_text(copy.path / name / CURRENT, left[-1])
        why = "it was to be current" if current else "no version was current"
        problems.append(Problem(name, current or None, f"{why}: the copy has {left[-1]} in its place"))
    return problems


def _copy_collection(catalog: Catalog, name: str, home: Path, *, changing: bool) -> list[Problem]:
    """Copy versions, log, waiting bank and kept scan. Return the problems of versions that are left out.

    `changing` says that the collection is ours, and others may change it meanwhile. Else it is a stranger's:
    nothing below the catalog is opened through a link, also not by SQLite, so that the files of the log are copied.
    """
    source = catalog.path / name
    root = None if changing else catalog.path
    problems = []
    with storage_errors(source), ExitStack() as opened:
        mode = mode_of(source)
        with storage_errors(home):
            make_folder(home / VERSIONS)
        copy_bank(source, home, root)  # before the versions, as it goes when one has it
        for each in (SCAN,) if changing else (SCAN, LOG, f"{LOG}-wal", LOG_LAST):
            with suppress(FileNotFoundError):
                copy_plain(source / each, home / each, root)
        with held_still(source / LOCK) if changing else nullcontext():
            current = catalog.named_current(name) or ""
            files: dict[str, BinaryIO] = {}
            for folder in catalog.version_folders(name):
                try:
                    files |= _opened_files(folder, opened, files, root)
                except HublessError as error:
                    problems.append(Problem(name, folder.name, f"it is left out: {error}"))
            modes = {folder: mode_of(source / folder) for folder in {Path(path).parent for path in files}}
            if changing:
                with closing(catalog.log(name)) as log:
                    log.copy(home).close()
        _write_files(files, home, modes)
        with storage_errors(home):
            replace_text(home / CURRENT, current)
            home.chmod(mode)
    return problems


def _opened_files(
    folder: Path, opened: ExitStack, known: Mapping[str, BinaryIO], root: Path | None
) -> dict[str, BinaryIO]:
    """Open the files of a version, which have the sizes that its manifest says, by path from the collection's folder.

    Those that other versions have, too, are `known`. `root` is as in `open_plain`.
    """
    home = folder.parents[1]
    with storage_errors(folder):
        named = read_manifest(folder).files
        sizes = {path_of(folder, each).relative_to(home): record.size for each, record in named.items()}
        files = {
            str(path): known.get(str(path)) or opened.enter_context(open_plain(home / path, root))
            for path in (*sizes, folder.relative_to(home) / MANIFEST)
        }
    for path, size in sizes.items():
        if (found := os.fstat(files[str(path)].fileno()).st_size) != size:
            raise BundleDamaged(home / path, f"has {found} bytes, the manifest says {size}")
    return files


def _write_files(files: Mapping[str, BinaryIO], home: Path, modes: Mapping[Path, int]) -> None:
    """Write each file once, however many versions have it, at its path in the folder of a collection."""
    for folder in sorted(modes):
        with storage_errors(home / folder):
            make_folder(home / folder)
    for path, file in files.items():
        with storage_errors(home / path):
            copy_open(file, home / path)
    for folder, mode in modes.items():
        with storage_errors(home / folder):
            (home / folder).chmod(mode)
            sync(home / folder)
