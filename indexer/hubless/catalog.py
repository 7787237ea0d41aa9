"""Collections and their versions on disk: stage, publish, list, roll back, delete.

    <catalog>/<collection>/CURRENT               the id of the current version, replaced at once
    <catalog>/<collection>/LOCK                  held for the moments in which the folder changes
    <catalog>/<collection>/versions/<version>/   a bundle, never changed
    <catalog>/<collection>/versions/.staging-*   a build under way, its lock held for as long as the build lives

A build may be killed at any moment: its staging folder stays, without a living lock, and the next build removes it.
"""

import fcntl
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hubless.bundle import Manifest, read_manifest, seal
from hubless.errors import BundleError, CollectionNotFound, InputError, StorageError, VersionNotFound
from hubless.storage import replace_text, storage_errors, sync

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_CURRENT = "CURRENT"
_LOCK = "LOCK"
_VERSIONS = "versions"
_STAGING = ".staging-"
_DELETED = ".deleted-"


@dataclass(frozen=True)
class VersionInfo:
    """A version of a collection; `problem` says why it cannot be opened, if so."""

    id: str
    current: bool
    manifest: Manifest | None
    problem: str | None = None


def check_collection_name(name: str) -> None:
    """Raise `InputError` unless the name can stand in a path and a URL."""
    if not _NAME.fullmatch(name):
        raise InputError("collection", "1 to 64 letters, digits, - or _, the first a letter or digit", repr(name))


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
            with _locked(self._home):
                self.folder.rename(self._home / _VERSIONS / self.version)
                sync(self._home / _VERSIONS)
                replace_text(self._home / _CURRENT, self.version)
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
        if not self.path.is_dir():
            raise StorageError(self.path, "there is no catalog here (hubless build makes one)")

    def collections(self) -> list[str]:
        """Names of the collections that have a current version, in order."""
        self.check_exists()
        with storage_errors(self.path):
            return sorted(
                entry.name
                for entry in self.path.iterdir()
                if _NAME.fullmatch(entry.name) and (entry / _CURRENT).is_file()
            )

    def current(self, name: str) -> str:
        """Id of the current version of a collection.

        Raises
        ------
        CollectionNotFound
            if there is no such collection, or none of its builds has been published.
        """
        self.check_exists()
        # a name that cannot be one never touches the file system
        if _NAME.fullmatch(name):
            with storage_errors(self.path):
                try:
                    return (self.path / name / _CURRENT).read_text("utf-8").strip()
                except (FileNotFoundError, NotADirectoryError):
                    pass
        raise CollectionNotFound(f"there is no collection {name!r}")

    def folder(self, name: str, version: str | None = None) -> Path:
        """The folder of a version, by default the current one.

        Raises
        ------
        CollectionNotFound, VersionNotFound
        """
        current = self.current(name)
        wanted = current if version is None else version
        if wanted not in self._version_ids(name):
            raise VersionNotFound(f"collection {name!r} has no version {wanted!r}")
        return self.path / name / _VERSIONS / wanted

    def versions(self, name: str) -> list[VersionInfo]:
        """All versions of a collection, oldest first.

        Raises
        ------
        CollectionNotFound
        """
        current = self.current(name)
        return [self._info(name, version, version == current) for version in self._version_ids(name)]

    def rollback(self, name: str, version: str | None = None) -> str:
        """Make another version current: the one named, or the one before the current one. Returns its id.

        Raises
        ------
        CollectionNotFound
        VersionNotFound
            if there is no such version, or none before the current one.
        BundleError
            if the version cannot be opened.
        """
        current = self.current(name)
        if version is None:
            older = [known for known in self._version_ids(name) if known < current]
            if not older:
                raise VersionNotFound(f"collection {name!r} has no version before the current one, {current}")
            version = older[-1]
        read_manifest(self.folder(name, version))
        home = self.path / name
        with storage_errors(home), _locked(home):
            replace_text(home / _CURRENT, version)
        return version

    def prune(self, name: str, keep: int) -> list[str]:
        """Delete all but the newest `keep` versions and the current one. Returns the ids of the deleted.

        Raises
        ------
        InputError
            if `keep` is below 1.
        CollectionNotFound
        """
        if keep < 1:
            raise InputError("keep", "at least 1", keep)
        current = self.current(name)
        home = self.path / name
        with storage_errors(home), _locked(home):
            superfluous = [version for version in self._version_ids(name)[:-keep] if version != current]
            for version in superfluous:
                # out of sight first: a deletion that is cut short leaves no half version
                doomed = home / _VERSIONS / (_DELETED + version)
                (home / _VERSIONS / version).rename(doomed)
                shutil.rmtree(doomed)
        return superfluous

    @contextmanager
    def staging(self, name: str) -> Iterator[Staging]:
        """A folder to write a new version in; removed at the end, unless it was published.

        Leftovers of builds that were killed are removed first.

        Raises
        ------
        InputError
            for a name that cannot be one.
        """
        check_collection_name(name)
        home = self.path / name
        version = f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        folder = home / _VERSIONS / (_STAGING + version)
        with storage_errors(folder):
            (home / _VERSIONS).mkdir(parents=True, exist_ok=True)
            with _locked(home):
                _remove_leftovers(home / _VERSIONS)
                folder.mkdir()
                lock = _lock_of(folder).open("w")
                fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield Staging(version, folder, home)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            _lock_of(folder).unlink(missing_ok=True)
            lock.close()

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


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    with (home / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_of(folder: Path) -> Path:
    return folder.with_name(folder.name + ".lock")


def _remove_leftovers(versions: Path) -> None:
    """Remove what dead builds and deletions left; with the collection locked, so that no build is just starting."""
    for entry in sorted(versions.iterdir()):
        if entry.name.startswith(_DELETED):
            shutil.rmtree(entry)
        elif entry.name.startswith(_STAGING) and not entry.name.endswith(".lock") and not _is_alive(entry):
            shutil.rmtree(entry)
            _lock_of(entry).unlink(missing_ok=True)
    for lock in versions.glob(f"{_STAGING}*.lock"):
        if not lock.with_suffix("").exists() and not _is_held(lock):
            lock.unlink()


def _is_alive(staging: Path) -> bool:
    return _lock_of(staging).exists() and _is_held(_lock_of(staging))


def _is_held(path: Path) -> bool:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
