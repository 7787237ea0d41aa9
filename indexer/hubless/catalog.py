"""Collections and their versions on disk: stage, publish, list, roll back, delete; and their aliases.

    <catalog>/<collection>/CURRENT               the id of the current version, replaced at once
    <catalog>/<collection>/LOCK                  held for the moments in which the folder changes
    <catalog>/<collection>/versions/<version>/   a bundle, never changed
    <catalog>/<collection>/versions/.staging-*   a build under way, and its lock, held for as long as the build lives
    <catalog>/<collection>/versions/.deleted-*   a version on its way out

A build may be killed at any moment. Its lock is then free, which tells whoever changes the collection next what to
remove.
"""

import fcntl
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hubless.aliases import Alias, Table, changing_aliases, read_aliases, write_aliases
from hubless.arrays import check_at_least
from hubless.bundle import Manifest, read_manifest, seal, verify
from hubless.errors import (
    AliasNotFound,
    BundleDamaged,
    BundleError,
    CollectionNotFound,
    InputError,
    PreconditionFailed,
    StorageError,
    VersionNotFound,
)
from hubless.storage import locked, make_folder, replace_text, storage_errors, sync

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CURRENT = "CURRENT"
_LOCK = "LOCK"
_VERSIONS = "versions"
_STAGING = ".staging-"
_STAGING_LOCK = ".lock"
_DELETED = ".deleted-"


@dataclass(frozen=True)
class VersionInfo:
    """A version of a collection; `problem` says why it cannot be opened, if so."""

    id: str
    current: bool
    manifest: Manifest | None
    problem: str | None = None


def check_name(name: str, parameter: str = "collection") -> None:
    """Raise `InputError` unless the name can stand in a path and a URL."""
    if not _is_name(name):
        raise InputError(parameter, "1 to 64 letters, digits, - or _, the first a letter or digit", repr(name))


@dataclass(frozen=True)
class Staging:
    """A version that is being written, in a folder that nobody reads."""

    version: str
    folder: Path
    _home: Path

    def publish(self, manifest: Manifest) -> Manifest:
        """Seal the folder, move it to its place, and make it the current version.

        Raises
        ------
        StorageError
            if the disk refuses; the version that was current stays so.
        """
        with storage_errors(self.folder):
            complete = seal(self.folder, manifest)
            with _changing(self._home):
                self.folder.rename(self._home / _VERSIONS / self.version)
                sync(self._home / _VERSIONS)
                replace_text(self._home / _CURRENT, self.version)
                # before another build can become current: a lock left behind says that this version never was
                _lock_of(self.folder).unlink()
        return complete


class Catalog:
    """A folder of collections.

    Raises
    ------
    StorageError
        from every method, if the disk refuses.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def check_exists(self) -> None:
        """Raise `StorageError` unless the folder is there."""
        with storage_errors(self.path):
            if not self.path.is_dir():
                raise StorageError(self.path, "there is no catalog here (hubless build makes one)")

    @contextmanager
    def _present(self) -> Iterator[None]:
        """Look into the folder; what is not found in one that is not there, or no longer, is no answer."""
        try:
            yield
        finally:
            self.check_exists()

    def collections(self) -> list[str]:
        """Names of the collections that have a current version, in order."""
        with self._present(), storage_errors(self.path):
            return sorted(
                entry.name for entry in self.path.iterdir() if _is_name(entry.name) and (entry / _CURRENT).is_file()
            )

    def current(self, name: str) -> str:
        """Id of the current version of a collection.

        Raises
        ------
        CollectionNotFound
            if there is no such collection, or none of its builds has been published.
        """
        with self._present():
            # a name that cannot be one never touches the file system
            current = _read_current(self.path / name) if _is_name(name) else None
        if current is None:
            raise CollectionNotFound(f"there is no collection {name!r}")
        return current

    def folder(self, name: str, version: str | None = None) -> Path:
        """The folder of a version, by default the current one.

        Raises
        ------
        CollectionNotFound, VersionNotFound
        BundleDamaged
            if the current version is not there.
        """
        current = self.current(name)
        wanted = current if version is None else version
        if wanted not in self._version_ids(name):
            if version is None:
                if self.current(name) != current:  # meanwhile another was made current, and this one pruned
                    return self.folder(name)
                raise BundleDamaged(self.path / name / _CURRENT, f"names version {current!r}, which is not there")
            raise VersionNotFound(f"collection {name!r} has no version {version!r}")
        return self.path / name / _VERSIONS / wanted

    def versions(self, name: str) -> list[VersionInfo]:
        """All versions of a collection, oldest first.

        Raises
        ------
        CollectionNotFound
        """
        current = self.current(name)
        return [self._info(name, version, version == current) for version in self._version_ids(name)]

    def version_ids(self, name: str) -> list[str]:
        """Ids of all versions of a collection, oldest first, without a look at them.

        Raises
        ------
        CollectionNotFound
        """
        self.current(name)
        return self._version_ids(name)

    def rollback(self, name: str, version: str | None = None) -> str:
        """Make another version current: the one named, or the one before the current one. Returns its id.

        Raises
        ------
        CollectionNotFound
        VersionNotFound
            if there is no such version, or none before the current one.
        BundleError
            if a file of the version is not as it was written.
        """
        self.current(name)
        home = self.path / name
        with storage_errors(home), _changing(home):
            if version is None:
                current = self.current(name)
                older = [known for known in self._version_ids(name) if known < current]
                if not older:
                    raise VersionNotFound(f"collection {name!r} has no version before the current one, {current}")
                version = older[-1]
            folder = self.folder(name, version)
            verify(folder, read_manifest(folder))
            replace_text(home / _CURRENT, version)
        return version

    def aliases(self) -> dict[str, Alias]:
        """All aliases by name, in order."""
        with self._present():
            return dict(sorted(read_aliases(self.path).aliases.items()))

    def resolve(self, name: str) -> str:
        """The collection that a name means: the one that bears it, or else the one that it is an alias of."""
        aliases = self.aliases()
        if name not in aliases or (self.path / name).exists():
            return name
        return aliases[name].collection

    def set_alias(self, alias: str, collection: str, *, expected: int | None = None) -> Alias:
        """Make a name stand for a collection, or for another one than before.

        Parameters
        ----------
        expected : the revision that the alias must have, 0 for an alias that is not there; None for any

        Raises
        ------
        InputError
            if the name cannot be one, or is that of a collection, also of one whose build has begun.
        CollectionNotFound
        PreconditionFailed
            if the alias is not as expected.
        """
        check_name(alias, "alias")
        self.current(collection)
        with changing_aliases(self.path) as table:
            _check_revision(alias, table, expected)
            if (self.path / alias).exists():
                raise InputError("alias", "a name that no collection has", repr(alias))
            changed = Alias(collection=collection, revision=table.revision + 1)
            write_aliases(self.path, Table(revision=changed.revision, aliases={**table.aliases, alias: changed}))
        return changed

    def remove_alias(self, alias: str, *, expected: int | None = None) -> Alias:
        """Let a name stand for nothing any more. Returns what it stood for.

        Raises
        ------
        AliasNotFound
        PreconditionFailed
            if the alias is not as expected, as in `set_alias`.
        """
        self.check_exists()
        with changing_aliases(self.path) as table:
            if alias not in table.aliases:
                raise AliasNotFound(f"there is no alias {alias!r}")
            _check_revision(alias, table, expected)
            left = {name: other for name, other in table.aliases.items() if name != alias}
            write_aliases(self.path, Table(revision=table.revision + 1, aliases=left))
        return table.aliases[alias]

    def prune(self, name: str, keep: int) -> list[str]:
        """Delete all but the newest `keep` versions and the current one. Returns the ids of the deleted.

        Raises
        ------
        InputError
            if `keep` is below 1.
        CollectionNotFound
        """
        check_at_least("keep", keep, 1)
        self.current(name)
        home = self.path / name
        with storage_errors(home), _changing(home):
            current = self.current(name)
            superfluous = [version for version in self._version_ids(name)[:-keep] if version != current]
            for version in superfluous:
                _delete(home / _VERSIONS / version)
        return superfluous

    @contextmanager
    def staging(self, name: str) -> Iterator[Staging]:
        """A folder to write a new version in; removed at the end, unless it was published.

        Leftovers of builds that were killed are removed first.

        Raises
        ------
        InputError
            for a name that cannot be one, or is an alias.
        """
        check_name(name)
        home = self.path / name
        version = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        folder = home / _VERSIONS / (_STAGING + version)
        try:
            with ExitStack() as alive:
                with storage_errors(home):
                    self._make_home(name)
                    with _changing(home):
                        alive.enter_context(locked(_lock_of(folder)))
                        folder.mkdir()
                yield Staging(version, folder, home)
        finally:
            # the lock is free now, so this is as after a kill; what cannot be removed waits for the next build
            with suppress(OSError), _changing(home):
                pass

    def _make_home(self, name: str) -> None:
        if (self.path / name).exists():
            make_folder(self.path / name / _VERSIONS)
            return
        with changing_aliases(self.path) as table:
            if name in table.aliases:
                raise InputError("collection", "a name that is no alias", repr(name))
            make_folder(self.path / name / _VERSIONS)

    def _version_ids(self, name: str) -> list[str]:
        with storage_errors(self.path / name):
            return sorted(
                entry.name for entry in (self.path / name / _VERSIONS).iterdir() if not entry.name.startswith(".")
            )

    def _info(self, name: str, version: str, current: bool) -> VersionInfo:
        try:
            return VersionInfo(version, current, read_manifest(self.path / name / _VERSIONS / version))
        except BundleError as error:
            return VersionInfo(version, current, None, str(error))


def _check_revision(alias: str, table: Table, expected: int | None) -> None:
    revision = table.aliases[alias].revision if alias in table.aliases else 0
    if expected is not None and revision != expected:
        raise PreconditionFailed(f"alias {alias!r} has revision {revision}, and not {expected}")


def _is_name(name: object) -> bool:
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def _read_current(home: Path) -> str | None:
    path = home / _CURRENT
    with storage_errors(path):
        try:
            # a damaged id is no reason to fail here: it names no version
            return path.read_text("utf-8", errors="replace").strip()
        except (FileNotFoundError, NotADirectoryError):
            return None


@contextmanager
def _changing(home: Path) -> Iterator[None]:
    """Hold a collection's lock while changing it; first, what dead builds left is removed."""
    with locked(home / _LOCK):
        _remove_leftovers(home)
        yield


def _lock_of(staging: Path) -> Path:
    return staging.with_name(staging.name + _STAGING_LOCK)


def _is_held(path: Path) -> bool:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def _remove_leftovers(home: Path) -> None:
    """Remove what dead builds and deletions left; with the collection locked."""
    versions = home / _VERSIONS
    for lock in sorted(versions.glob(f"{_STAGING}*{_STAGING_LOCK}")):
        if _is_held(lock):
            continue
        staging = lock.with_suffix("")
        if staging.exists():
            shutil.rmtree(staging)
        # killed after its folder was moved and before it was made current: nobody was told of this version
        version = staging.name.removeprefix(_STAGING)
        if (versions / version).exists() and version != _read_current(home):
            _delete(versions / version)
        lock.unlink()
    for doomed in versions.glob(f"{_DELETED}*"):
        shutil.rmtree(doomed)


def _delete(folder: Path) -> None:
    """Delete a version: out of sight first, so that a deletion that is cut short leaves no half version."""
    doomed = folder.with_name(_DELETED + folder.name)
    folder.rename(doomed)
    shutil.rmtree(doomed)
