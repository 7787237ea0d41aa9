"""Collections and their versions on disk: stage, publish, list, roll back, delete; and their aliases.

    <catalog>/<collection>/CURRENT               the id of the current version, replaced atomically
    <catalog>/<collection>/LOCK                  held while the folder changes
    <catalog>/<collection>/log.sqlite            what was written since, see `hubless.store.log`
    <catalog>/<collection>/scan.json             what the last kept scan found, see `hubless.store.kept_scan`
    <catalog>/<collection>/versions/<version>/   a bundle, never changed; see `hubless.store.bundle`
    <catalog>/<collection>/segments/<segment>/   targets that versions name, likewise
    <catalog>/<collection>/fits/<fit>/           corrections that versions name, likewise
    <catalog>/<collection>/versions/.*           what is being built or deleted, see `hubless.store.locks`
    <catalog>/.collections.lock                  held while an empty collection is created
    <catalog>/.deleted-*                         collections that are being deleted
    <catalog>/.changes                           how many changes there were, so that servers look at once
    <catalog>/.answered                          how many of them clients were told of, so that each request looks
    <catalog>/.written                           another number after each write, see `hubless.store.log`
    <catalog>/<collection>/.answered             the same of its current version, so that requests wait for that one

You can kill a build at any time. The next change of the collection removes what it left.
"""

import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeAlias

from hubless.errors import (
    BundleDamaged,
    BundleError,
    CollectionNotFound,
    InputError,
    PreconditionFailed,
    StorageError,
    VersionNotFound,
    storage_errors,
)
from hubless.store.address import SCHEMES, storage_address
from hubless.store.aliases import DELETED, Alias, changing_aliases, read_aliases, write_aliases
from hubless.store.bundle import FITS, SEGMENTS, Manifest, read_manifest, seal, verify
from hubless.store.copies import open_plain
from hubless.store.durable import held_still, locked, make_folder, move, now, replace_text, sync
from hubless.store.locks import building, delete_folder, finish, hide, remove, remove_dead, staging_of, unfinished
from hubless.store.log import LOG, LOG_LAST, LOG_LOCK, LOG_SEEN, WRITTEN, Log
from hubless.store.names import check_name, is_name
from hubless.store.notes import Note
from hubless.vectors.arrays import check_at_least

CURRENT = "CURRENT"
LOCK = "LOCK"
VERSIONS = "versions"
CHANGES = ".changes"
_ANSWERED = ".answered"
_CREATING = ".collections.lock"
_TICK_SECONDS = 3.0
"""Two changes of a file that are no further apart may leave the same times; no file system is coarser."""
_LONGEST_ID = 1000
_AT_ADDRESSES = "there a build or a job takes in what changed, and hubless.RemoteCatalog manages versions and aliases"
_MOMENT, _MOMENT_TEXT = "%Y%m%dT%H%M%S%f", re.compile(r"\d{8}T\d{12}")


Marks: TypeAlias = tuple[tuple[int, ...], ...]
"""Of some files, their numbers, sizes and times."""


@dataclass(frozen=True)
class VersionInfo:
    """A version of a collection. `problem` says why it cannot be opened; None if it can."""

    id: str
    current: bool
    manifest: Manifest | None
    problem: str | None = None

    @classmethod
    def of(cls, id: str, current: str, read: Callable[[], Manifest]) -> "VersionInfo":
        """Return a version, given how to read its manifest."""
        try:
            return cls(id, id == current, read())
        except BundleError as error:
            return cls(id, id == current, None, str(error))


@dataclass(frozen=True)
class Staging:
    """A new version, in a folder that nobody reads yet."""

    version: str
    folder: Path
    home: Path

    def made(self, kind: str, name: str) -> Path:
        """Make a folder of a segment or a fit, and return it."""
        made = self.folder / kind / name
        with storage_errors(made):
            made.mkdir(parents=True, exist_ok=True)
        return made

    def publish(self, manifest: Manifest, over: str | None = None) -> Manifest:
        """Make the version the current one. Raises `BundleDamaged` if a file is gone that it shares with others.

        `over` is the version that it was made from: raises `PreconditionFailed` if another one is current by now, as
        somebody activated it, or built it. None for a version that stands on no other.
        """
        with storage_errors(self.folder):
            complete = seal(self.folder, manifest)
            sync(self.folder.parent)  # after a power cut the lock tells of what is moved from here
            with _changing(self.home):
                if over is not None and (current := _read_current(self.home)) != over:
                    raise overtaken(self.home.name, current)
                for kind in (SEGMENTS, FITS):
                    for made in sorted((self.folder / kind).glob("*")):
                        make_folder(self.home / kind)
                        move(made, self.home / kind / made.name)
                    with suppress(FileNotFoundError):
                        (self.folder / kind).rmdir()
                sync(self.folder)
                own = {name for name in complete.files if "/" not in name}
                verify(self.home / VERSIONS / self.version, complete, hashes=False, known=own)
                move(self.folder, self.home / VERSIONS / self.version)
                replace_text(self.home / CURRENT, self.version)
                # before another build becomes current: a lock that is left says that this version never was current
                finish(self.folder)
        Note(self.home.parent / CHANGES).raise_by_one()
        return complete


def overtaken(name: str, current: str | None) -> PreconditionFailed:
    """Return the error of a job that began from a version of a collection, where another one is `current` by now."""
    return PreconditionFailed(
        f"version {current} of {name!r} became current while the job ran, so nothing was published: begin again with it"
    )


class Catalog:
    """A folder of collections.

    Raises `InputError` for an address in object storage: see `hubless.store.addressed`; `StorageError` from every
    method, if the disk refuses.

    Attributes
    ----------
    path : absolute and without symbolic links, so that a catalog has one path however it was named, and keeps it when
        the process changes its folder or a link
    changes : raised by each change of what is current, of the collections and of the aliases
    answered : raised by a server before it answers such a change, see `answer`
    written : another number after each write to any collection, by whichever process
    mend : brings files of a version that are damaged from elsewhere, given its collection, its id, None for the current
        one, and the damage; None where there is nothing to bring them from
    """

    mend: Callable[[str, str | None, BundleError | StorageError], None] | None = None

    def __init__(self, path: str | Path) -> None:
        if (address := storage_address(path)) is not None:
            raise InputError("catalog", f"a folder: this does not work in object storage ({_AT_ADDRESSES})", address)
        if re.match(r"[A-Za-z][\w+.-]+:/", str(path)):
            expected = f"a folder, or an address that begins with {', '.join(f'{each}://' for each in SCHEMES)}"
            raise InputError("catalog", expected, path)
        with storage_errors(Path(path)):
            self.path = Path(os.path.realpath(path))  # not `Path.resolve`, which fails on a link to itself
        self.changes, self.answered, self.written = (Note(self.path / name) for name in (CHANGES, _ANSWERED, WRITTEN))

    def check_exists(self) -> None:
        """Raise `StorageError` unless the folder is there."""
        with storage_errors(self.path):
            if not self.path.is_dir():
                raise StorageError(self.path, "there is no catalog here (hubless build makes one)")

    @contextmanager
    def _present(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.check_exists()

    def collections(self) -> list[str]:
        """Return the names of collections with a current version, in order."""
        with self._present(), storage_errors(self.path):
            return sorted(
                entry.name for entry in self.path.iterdir() if is_name(entry.name) and (entry / CURRENT).is_file()
            )

    def strays(self) -> dict[str, str]:
        """Return the folders that hold versions or writes and are no collection, and why.

        One that is being created, or that a kill left before its first version, is none of them.
        """
        found = {}
        with self._present(), storage_errors(self.path):
            for home in sorted(self.path.iterdir()):
                if home.name.startswith(".") or not (home / VERSIONS).is_dir():
                    continue
                if not is_name(home.name):
                    found[home.name] = "its name is not one that a collection can have"
                    continue
                with suppress(FileNotFoundError, CollectionNotFound), held_still(home / LOCK):  # or it was deleted
                    held = (home / LOG).exists() or self.version_folders(home.name)
                    if held and not (home / CURRENT).is_file():
                        found[home.name] = "it has no current version: take one by hubless rollback --version"
        return found

    def version_folders(self, name: str) -> list[Path]:
        """Return the folders of all versions of a collection, oldest first, whether or not one is current."""
        return [self.path / name / VERSIONS / version for version in self._version_ids(name)]

    def named_current(self, name: str) -> str | None:
        """Return what is said to be the current version of a collection, whether or not it is there."""
        return _read_current(self.path / name)

    def current(self, name: str) -> str:
        """Return the id of the current version of a collection. Raises `CollectionNotFound` if it has none."""
        with self._present():
            # an impossible name never reaches the file system
            current = _read_current(self.path / name) if is_name(name) else None
        if current is None:
            raise CollectionNotFound(f"there is no collection {name!r}")
        return current

    def marks(self, name: str) -> Marks | None:
        """Return what is another once the versions of a collection change, or which one is current or was answered.

        None if that cannot be told, for some seconds after each change. Costs 10 µs, and reads nothing.
        """
        found: list[tuple[int, ...]] = []
        for file in (CURRENT, VERSIONS, _ANSWERED):
            try:
                stat = os.stat(f"{self.path}/{name}/{file}")  # noqa: PTH116  at half the cost
            except OSError as error:
                if file != _ANSWERED or not isinstance(error, FileNotFoundError):
                    return None
                continue
            found.append((stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
        changed = max(times[-1] for times in found) / 1e9
        return tuple(found) if changed + _TICK_SECONDS < now().timestamp() else None

    def folder(self, name: str, version: str | None = None) -> Path:
        """Return the folder of a version, by default of the current one.

        Raises `CollectionNotFound`; `VersionNotFound`; `BundleDamaged` if the current version is missing.
        """
        current = self.current(name)
        wanted = current if version is None else version
        if wanted not in self._version_ids(name):
            if version is None:
                if self.current(name) != current:  # meanwhile another became current, and this one was pruned
                    return self.folder(name)
                raise BundleDamaged(self.path / name / CURRENT, f"names version {current!r}, which is not there")
            raise VersionNotFound(f"collection {name!r} has no version {version!r}")
        return self.path / name / VERSIONS / wanted

    def home(self, name: str) -> Path:
        """Return the folder of a collection, which holds its versions. Raises `CollectionNotFound`."""
        self.current(name)
        return self.path / name

    def log_bytes(self, name: str) -> int:
        """Return how many bytes the files of the log of a collection take."""
        home = self.path / name
        size = 0
        for each in (LOG, f"{LOG}-wal", LOG_LAST, LOG_SEEN):
            with storage_errors(home), suppress(FileNotFoundError):  # it may be deleted at any moment
                size += (home / each).stat().st_size
        return size

    def log(self, name: str, until: int | None = None) -> Log:
        """Return the log of a collection, up to a write; None for all. Raises `CollectionNotFound` for no name."""
        if not is_name(name):
            raise CollectionNotFound(f"there is no collection {name!r}")
        return Log(self.path / name, until, partial(_last_merged, str(self.path / name / VERSIONS)))

    def cut_log(self, name: str) -> int:
        """Remove from the log what all versions have; return the last such write. Raises `LogDamaged`."""
        log = self.log(name)
        manifests = [version.manifest for version in self.versions(name)]
        # a version that cannot be read may be mended, and need them all
        cut = min((0 if made is None else made.log_seq for made in manifests), default=0)
        if cut >= log.first():
            with log.writing() as appender:
                appender.cut(cut)
        log.close()
        return cut

    def versions(self, name: str) -> list[VersionInfo]:
        """Return all versions of a collection, oldest first. Raises `CollectionNotFound`."""
        current = self.current(name)
        folder = self.path / name / VERSIONS
        found = [
            VersionInfo.of(each, current, partial(read_manifest, folder / each)) for each in self._version_ids(name)
        ]
        left = self.version_ids(name)  # others are not damaged, but were deleted while they were read
        return [version for version in found if version.id in left]

    def version_ids(self, name: str) -> list[str]:
        """Return the ids of all versions of a collection, oldest first, unopened. Raises `CollectionNotFound`."""
        self.current(name)
        return self._version_ids(name)

    def rollback(self, name: str, version: str | None = None) -> str:
        """Make a version current: the named one, or the one before the current one. Return its id.

        Raises `CollectionNotFound`; `VersionNotFound` if there is no such version, or none before the current one;
        `BundleError` if a file of the version was changed.
        """
        if version is None or not is_name(name) or not (self.path / name).exists():
            self.current(name)
        home = self.path / name
        with storage_errors(home), _changing(home):
            known = self._version_ids(name)
            if version is None:
                version = version_before(name, self.current(name), known)
            elif version not in known:
                raise VersionNotFound(f"collection {name!r} has no version {version!r}")
            folder = home / VERSIONS / version
            verify(folder, read_manifest(folder))
            replace_text(home / CURRENT, version)
        self.changes.raise_by_one()
        return version

    def aliases(self) -> dict[str, Alias]:
        """Return all aliases by name, in order. Raises `StorageError` if they cannot be read."""
        with self._present():
            return dict(sorted(read_aliases(self.path).aliases.items()))

    def resolve(self, name: str) -> str:
        """Return the collection of a name: the collection with that name, or the one that the alias stands for.

        Raises `StorageError` if the aliases are needed and cannot be read. The collection itself may be missing.
        """
        if is_name(name) and (self.path / name / CURRENT).exists():
            return name
        aliases = self.aliases()
        if name not in aliases or (self.path / name).exists():
            return name
        return aliases[name].collection

    def answered_of(self, name: str) -> Note:
        """Return the number that is raised when a client is told of the current version of a collection."""
        return Note(self.path / name / _ANSWERED)

    def answer(self, name: str | None = None) -> None:
        """Note, before it is answered, that a client is told of a change.

        `name` is a collection whose current version is told; None for aliases, and what was created or deleted.
        """
        if name is not None:
            self.answered_of(name).raise_by_one()
        self.answered.raise_by_one()

    def set_alias(self, alias: str, collection: str, *, expected: int | None = None) -> Alias:
        """Let a name stand for a collection, also if it stood for another one.

        Raises `InputError` if the name is not allowed, or a collection has it, even one whose build has only begun;
        `CollectionNotFound`; `PreconditionFailed` if the alias has another revision.

        Parameters
        ----------
        expected : revision that the alias must have; 0 if it must not exist, None for any
        """
        check_name(alias, "alias")
        self.current(collection)
        with changing_aliases(self.path) as table:
            self.current(collection)  # it may have been deleted before it was this one's turn
            new, changed = table.with_alias(alias, collection, expected)
            if (self.path / alias).exists():
                raise InputError("alias", "a name that no collection has", repr(alias))
            write_aliases(self.path, new)
        self.changes.raise_by_one()
        return changed

    def remove_alias(self, alias: str, *, expected: int | None = None) -> Alias:
        """Remove an alias. Return what it stood for. Raises `AliasNotFound`; `PreconditionFailed` as `set_alias`."""
        self.check_exists()
        with changing_aliases(self.path) as table:
            left, removed = table.without_alias(alias, expected)
            write_aliases(self.path, left)
        self.changes.raise_by_one()
        return removed

    @contextmanager
    def creating(self) -> Iterator[None]:
        """Wait until nobody else creates a collection in this way, and hold that off."""
        with storage_errors(self.path):
            make_folder(self.path)
            with locked(self.path / _CREATING):
                yield

    def delete(self, name: str, *, aliases: bool = False) -> None:
        """Delete a collection: all its versions, and what was written to it. A kill leaves all of it or nothing.

        Raises `CollectionNotFound`; `CollectionAliased` if aliases stand for it, unless they are to be removed.

        Parameters
        ----------
        aliases : remove the aliases that stand for it, too
        """
        self.current(name)
        home = self.path / name
        gone = self.path / f"{DELETED}{name}-{secrets.token_hex(6)}"
        with changing_aliases(self.path) as table, storage_errors(home):
            standing = table.standing_for(name, allowed=aliases)
            self.current(name)  # whoever deletes has the lock of the aliases, so it stays until it is moved here
            # whoever holds these has an answer to give first; whoever waits for them finds the folder gone
            with locked(home / LOG_LOCK), locked(home / LOCK):
                if standing:  # they go with the folder, at one moment
                    table = table.without(standing)
                    write_aliases(home, table)
                move(home, gone)
            if standing:
                write_aliases(self.path, table)
            self.changes.raise_by_one()
            for each in self.path.glob(f"{DELETED}*"):  # also what a kill left
                shutil.rmtree(each, ignore_errors=True)

    def prune(self, name: str, keep: int) -> list[str]:
        """Delete all versions but the newest `keep` and the current one. Return the deleted ids.

        A version stays too that another machine is about to make current. Raises `InputError` if `keep` is below 1;
        `CollectionNotFound`.
        """
        self.current(name)
        home = self.path / name
        with storage_errors(home), _changing(home):
            deleted = superfluous(self._version_ids(name), keep, unfinished(home / VERSIONS) | {self.current(name)})
            hidden = [hide(home / VERSIONS / version) for version in deleted]
            _sweep(home)
            for each in hidden:  # last: as long as one is there, the next change sweeps again
                remove(each)
        return deleted

    def sweep(self, name: str) -> None:
        """Delete what killed builds left, and segments and fits that no version names, unless a manifest is damaged."""
        home = self.path / name
        with storage_errors(home), _changing(home):
            _sweep(home)

    @contextmanager
    def staging(self, name: str) -> Iterator[Staging]:
        """Give a folder for a new version. It is removed at the end, unless it was published.

        What killed builds left is removed first. Raises `InputError` if the name is not allowed, or is an alias;
        `CollectionNotFound` if the collection is deleted meanwhile.
        """
        check_name(name)
        home = self.path / name
        try:
            with ExitStack() as alive:
                with storage_errors(home):
                    with nullcontext(None) if home.exists() else changing_aliases(self.path) as table:
                        if table is not None and name in table.aliases:
                            raise InputError("collection", "a name that is no alias", repr(name))
                        make_folder(home / VERSIONS)
                    with _changing(home):
                        version = _new_version(home / VERSIONS)
                        folder = staging_of(home / VERSIONS, version)
                        alive.enter_context(building(folder))
                        folder.mkdir()
                try:
                    yield Staging(version, folder, home)
                except StorageError as error:
                    if folder.exists() or (home / VERSIONS / version).exists():
                        raise
                    raise _deleted(home) from error
        finally:
            # the lock is free now, so this cleans up as after a kill; the next build removes what remains
            with suppress(OSError, CollectionNotFound), _changing(home):
                pass

    def _version_ids(self, name: str) -> list[str]:
        home = self.path / name
        with storage_errors(home):
            try:
                shown = _shown(home / VERSIONS)
            except FileNotFoundError:
                self.current(name)  # says it if the collection was deleted; another may stand in its place by now
                shown = _shown(home / VERSIONS)
            # one that is in its place and not current yet may never be
            hidden = unfinished(home / VERSIONS) - {_read_current(home)}
        return [version for version in shown if version not in hidden]


def _shown(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))


def version_before(name: str, current: str, known: Sequence[str]) -> str:
    """Return the version before the current one, of those that are known, oldest first. Raises `VersionNotFound`."""
    older = [version for version in known if version < current]
    if not older:
        raise VersionNotFound(f"collection {name!r} has no version before the current one, {current}")
    return older[-1]


def superfluous(known: Sequence[str], keep: int, spared: Set[str]) -> list[str]:
    """Return all known versions but the newest `keep` and those to spare. Raises `InputError` if `keep` is below 1."""
    check_at_least("keep", keep, 1)
    return [version for version in known[:-keep] if version not in spared]


def _new_version(versions: Path) -> str:
    """An id that sorts after all others, also if the clock was set back since."""
    moment = now()
    for entry in versions.iterdir():
        if found := _MOMENT_TEXT.search(entry.name):  # unfinished builds too
            with suppress(ValueError, OverflowError):  # a name that no build gave
                known = datetime.strptime(found[0], _MOMENT).replace(tzinfo=UTC)
                moment = max(moment, known + timedelta(microseconds=1))
    return f"{moment:{_MOMENT}}-{secrets.token_hex(3)}"


def version_at(microseconds: int) -> str:
    """Return what the ids of versions sort below that were there at a time, and above those that came since."""
    return f"{datetime.fromtimestamp(microseconds / 1e6, UTC):{_MOMENT}}"


def _last_merged(versions: str) -> int:
    """Return the last write that any version in a folder has. A version that cannot be read counts for nothing."""
    found = 0
    with suppress(FileNotFoundError, NotADirectoryError):
        for entry in os.scandir(versions):
            if not entry.name.startswith("."):
                with suppress(BundleError, StorageError):
                    found = max(found, _log_seq(entry.path))
    return found


@lru_cache(maxsize=4096)
def _log_seq(folder: str) -> int:
    return read_manifest(Path(folder)).log_seq


def _read_current(home: Path) -> str | None:
    path = home / CURRENT
    with storage_errors(path):
        try:
            with open_plain(path) as file:
                # do not fail on a damaged id: it names no version
                return file.read(_LONGEST_ID).decode(errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None


@contextmanager
def _changing(home: Path) -> Iterator[None]:
    """Hold a collection's lock to change it. First remove what dead builds left. Raises `CollectionNotFound`."""
    with ExitStack() as held:
        try:
            held.enter_context(locked(home / LOCK))
        except FileNotFoundError as error:
            raise _deleted(home) from error
        if not (home / LOCK).exists():  # while this waited
            raise _deleted(home)
        remove_dead(home / VERSIONS, _read_current(home), partial(_sweep, home))
        yield


def _sweep(home: Path) -> None:
    """Delete segments and fits of a locked collection: see `Catalog.sweep`."""
    try:
        named = {
            file.rpartition("/")[0]
            for version in _shown(home / VERSIONS)
            for file in _files_of(str(home / VERSIONS / version))
        }
    except (BundleError, StorageError):
        return
    for kind in (SEGMENTS, FITS):
        for folder in (home / kind).glob("[!.]*"):  # also those of which a part was deleted
            if f"{kind}/{folder.name}" not in named:
                delete_folder(folder)


@lru_cache(maxsize=1024)
def _files_of(folder: str) -> list[str]:
    return [*read_manifest(Path(folder)).files]


def _deleted(home: Path) -> CollectionNotFound:
    return CollectionNotFound(f"collection {home.name!r} was deleted")
