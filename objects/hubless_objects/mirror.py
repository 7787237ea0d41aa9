"""Catalogs in object storage: their versions and aliases, and a folder that holds copies of versions.

A version is complete when its manifest is there, which is pushed last. `CURRENT` is replaced only if it still is what
it was. What is pulled is checked against the manifest before it gets its name. A file that is damaged here is deleted,
and pulled again; one that comes damaged twice is not asked for any more until the object is another.
"""

import errno
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from hubless.errors import (
    BundleDamaged,
    BundleError,
    CollectionNotFound,
    HublessError,
    InputError,
    PreconditionFailed,
    StorageError,
    VersionNotFound,
    storage_errors,
)
from hubless.store.address import copy_folder, storage_address
from hubless.store.addressed import Working
from hubless.store.aliases import ALIASES, Alias, Table
from hubless.store.bundle import (
    FITS,
    MANIFEST,
    SEGMENTS,
    FileRecord,
    Manifest,
    path_of,
    read_manifest,
    record_of,
    verify,
)
from hubless.store.catalog import (
    CURRENT,
    LOCK,
    VERSIONS,
    Catalog,
    VersionInfo,
    superfluous,
    version_before,
)
from hubless.store.durable import link, locked, make_folder, move, put_text
from hubless.store.locks import forget_outside, noted_outside
from hubless.store.log import Log
from hubless.store.names import check_name, is_file_name, is_name
from hubless_objects.objects import Objects

PULLING = ".pulling-"


TRIES = 8
_TIMES = 2
"""So often a file is fetched that comes damaged."""
_log = logging.getLogger("hubless.catalog")


class _Copies(Catalog):
    """Copies of versions. There is no log beside them, whatever writes they have."""

    def log(self, name: str, until: int | None = None) -> Log:
        return super().log(name, 0)


class RemoteCatalog:
    """A catalog in object storage, at an address such as s3://bucket/prefix: its versions and aliases.

    `folder` is for copies of versions; by default below the cache of this user. Raises `InputError` for what is no
    address; `StorageError` from every method, if the store refuses or cannot be reached.
    """

    def __init__(self, address: str | Path, folder: Path | None = None) -> None:
        if (found := storage_address(address)) is None:
            raise InputError("catalog", "an address that begins with s3://, gs:// or az://", address)
        self.address = found
        self.objects = Objects(found)
        self.catalog = _Copies(folder or copy_folder(found, "read"))
        self.catalog.mend = self.mend
        self.folder = self.catalog.path
        self._refused = dict[str, str | None]()  # objects that came damaged, and their tags then

    def collections(self) -> list[str]:
        known = self.catalog.collections() if self.folder.is_dir() else []
        names = sorted({*self.objects.names(), *known})
        return [name for name in names if is_name(name) and self.tag(name) is not None]

    def current(self, name: str) -> str:
        """Return the id of the current version. Raises `CollectionNotFound`; `BundleDamaged` if it is no id."""
        current = self._named_current(name)
        if not is_file_name(current):
            raise BundleDamaged(Path(f"{self.address}/{name}/{CURRENT}"), f"names no version: {current[:80]!r}")
        return current

    def _named_current(self, name: str) -> str:
        found = self.objects.read(f"{name}/{CURRENT}") if is_name(name) else None
        if found is None:
            self.objects.names()  # says so if there is no bucket
            raise CollectionNotFound(f"there is no collection {name!r} at {self.address}")
        return found.decode("utf-8", "replace").strip()

    def version_ids(self, name: str) -> list[str]:
        """Return the ids of all complete versions, oldest first. Raises `CollectionNotFound`."""
        self._named_current(name)
        known = self.objects.names(f"{name}/{VERSIONS}")
        return [each for each in known if self.is_complete(name, each)]

    def versions(self, name: str) -> list[VersionInfo]:
        """Describe all complete versions, oldest first. Raises `CollectionNotFound`."""
        current = self._named_current(name)
        return [VersionInfo.of(each, current, partial(self.manifest, name, each)) for each in self.version_ids(name)]

    def pull(self, name: str, version: str | None = None, *, hashes: bool = False) -> str:
        """Make the current version at the address that of the folder, and return its id. Bring `version`, too.

        `hashes` compares the content of files that are here, and not only their sizes. Raises `CollectionNotFound`,
        `VersionNotFound`; `BundleError` for a damaged version.
        """
        while True:
            current = self.current(name)
            if version is not None and not self.is_complete(name, version):
                raise self._no_version(name, version)
            try:
                self._bring(name, [current, version or current], hashes)
            except (BundleError, StorageError):
                # another version may have become current meanwhile, and this one been pruned
                if self.current(name) == current:
                    raise
            else:
                return current

    def mend(self, name: str, version: str | None, damage: BundleError | StorageError) -> None:
        """Pull those files of a version again that are damaged here. None for the current version.

        Raises `StorageError` with the `damage` if they cannot be pulled, or are damaged at the address, too.
        """
        if isinstance(damage, BundleDamaged) and damage.path.name != CURRENT:  # by which the collection is known
            _remove(damage.path)
        try:
            self.pull(name, version, hashes=True)
        except HublessError as error:
            reason, _, _ = getattr(error, "problem", str(error)).partition(": ")  # what follows is for logs
            raise StorageError(damage.path, f"{damage.problem}, and it cannot be pulled again: {reason}") from error
        _log.warning("pulled again from %s: %s", self.address, damage)

    def _bring(self, name: str, versions: Sequence[str], hashes: bool) -> None:
        home = self.folder / name
        with storage_errors(home):
            make_folder(home / VERSIONS)
            with locked(home / LOCK):  # so that nobody deletes segments whose version is still to come
                for wanted in dict.fromkeys(versions):
                    if hashes or not _is_here(home / VERSIONS / wanted):
                        self._pull_version(name, wanted)
                put_text(home / CURRENT, versions[0])
                for left in home.glob(f"*/{PULLING}*"):  # of versions that are not wanted any more
                    shutil.rmtree(left, ignore_errors=True)

    def pull_aliases(self) -> None:
        found = self.objects.read(ALIASES)
        with storage_errors(self.folder):
            if found is None:
                (self.folder / ALIASES).unlink(missing_ok=True)
            else:
                put_text(self.folder / ALIASES, Table.parse(found, f"{self.address}/{ALIASES}").text)

    def tag(self, name: str) -> str | None:
        """Return what changes when another version becomes current at the address, for `push`; None without one."""
        return self.objects.tag(f"{name}/{CURRENT}")

    def push(self, name: str, version: str, tag: str | None) -> None:
        """Copy a version to the address, and make it current if `tag` is still what `RemoteCatalog.tag` gives.

        Raises `BundleDamaged`; `PreconditionFailed` if another one has become current meanwhile.
        """
        folder = self.folder / name / VERSIONS / version
        manifest = read_manifest(folder)
        verify(folder, manifest)
        for file, record in manifest.files.items():
            if self.objects.size(key := _key(name, version, file)) != record.size:
                self.objects.put(key, path_of(folder, file))
        self.objects.put(_key(name, version, MANIFEST), folder / MANIFEST)
        self.objects.replace(f"{name}/{CURRENT}", version.encode(), tag)

    @contextmanager
    def working(self, name: str, *, pull: bool = False) -> Iterator[Working]:
        """Give the folder to change a collection in, to one process at a time; with `pull` it has what is current."""
        with storage_errors(self.folder):
            make_folder(self.folder)
            with locked(self.folder / f".{name}.lock"):
                self.pull_aliases()  # so that no collection gets the name of one
                tag = self.tag(name)  # before the version that is pulled, so that none in between is lost
                if tag is None:
                    self.objects.names()  # says so now if there is no bucket
                    # what an unfinished job has done stays
                    (self.folder / name / CURRENT).unlink(missing_ok=True)
                elif pull:
                    self.pull(name)
                yield Working(self.catalog, partial(self._publish, name, tag))

    def _publish(self, name: str, tag: str | None) -> None:
        """Push the version that is current here, and make it current at the address."""
        self.push(name, self.catalog.current(name), tag)
        versions = self.folder / name / VERSIONS
        for version in noted_outside(versions):  # the others are at the address still
            if (versions.parent / SEGMENTS / version).is_dir():
                forget_outside(versions, version)
        self.catalog.prune(name, 1)

    def readable(self, name: str, version: str | None = None) -> Catalog:
        """Pull the current version of a collection, and `version`, and return the folder."""
        with storage_errors(self.folder):
            make_folder(self.folder)
            with locked(self.folder / ".lock"):
                self.pull_aliases()
                name = self.catalog.resolve(name)
                check_name(name)
                self.pull(name, version)
        return self.catalog

    def forget(self, name: str) -> None:
        """Remove a collection from the folder. Who has its files open keeps them."""
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def is_complete(self, name: str, version: str) -> bool:
        return is_file_name(version) and self.objects.size(_key(name, version, MANIFEST)) is not None

    def manifest(self, name: str, version: str) -> Manifest:
        """Read the manifest of a version. Raises `BundleError` if there is none, or it is damaged."""
        with TemporaryDirectory() as folder:
            return self._pull_manifest(name, version, Path(folder))

    def _no_version(self, name: str, version: str) -> VersionNotFound:
        return VersionNotFound(f"collection {name!r} has no version {version!r} at {self.address}")

    def _pull_version(self, name: str, version: str) -> None:
        """Bring a version, with those files of its segments and its fit that are not here, or are damaged."""
        home = self.folder / name
        own = home / VERSIONS / version
        staging = own.with_name(f"{PULLING}{version}")
        make_folder(staging)
        manifest = self._pull_manifest(name, version, staging)
        places = {own: {MANIFEST: record_of(staging / MANIFEST)}}
        for file, record in manifest.files.items():
            path = path_of(own, file)
            places.setdefault(path.parent, {})[path.name] = record
        changed = False
        for place, files in reversed(places.items()):  # the manifest last
            changed = self._fetch(place, files, changed) or changed

    def _fetch(self, place: Path, files: Mapping[str, FileRecord], again: bool) -> bool:
        """Bring those files of a folder that are not here as they should be; return whether there were any.

        Then the folder is another one, as it is if that is to be done `again`.
        """
        wrong = [file for file, record in files.items() if not _has(place / file, record)]
        if not wrong and not again:
            return False
        made = place.with_name(f"{PULLING}{place.name}")
        make_folder(made)
        for file in wrong:
            _remove(place / file)
        for file, record in files.items():
            if file not in wrong:
                link(place / file, made / file)
            elif not _has(made / file, record):
                self._fetch_file((place / file).relative_to(self.folder).as_posix(), made / file, record)
        _remove(place)
        move(made, place)
        return True

    def _fetch_file(self, key: str, path: Path, record: FileRecord) -> None:
        """Bring a file. Raises `BundleDamaged` if it is not what its manifest says, also the second time."""
        if key not in self._refused or self._refused[key] != self.objects.tag(key):
            for _ in range(_TIMES):
                self.objects.fetch(key, path, record.size)
                if _has(path, record):
                    return
                _remove(path)
            self._refused[key] = self.objects.tag(key)
        raise BundleDamaged(Path(key), f"its hash differs from that of its manifest, as it comes from {self.address}")

    def _pull_manifest(self, name: str, version: str, staging: Path) -> Manifest:
        key = _key(name, version, MANIFEST)
        content = self.objects.read(key)
        if content is None:
            raise BundleDamaged(Path(f"{self.address}/{name}/{VERSIONS}/{version}"), "has no manifest")
        (staging / MANIFEST).write_bytes(content)
        try:
            return read_manifest(staging)
        except BundleDamaged as error:
            raise BundleDamaged(Path(key), f"{error.problem}, as it comes from {self.address}") from error

    def rollback(self, name: str, version: str | None = None) -> str:
        """Make a version current: the named one, or the one before the current one. Return its id.

        Raises `CollectionNotFound`; `VersionNotFound`; `BundleDamaged` if a file of the version is not there, or has
        another size than its manifest says; `PreconditionFailed` if another version has become current meanwhile.
        """
        tag = self.tag(name)
        current = self._named_current(name)
        if version is None:
            version = version_before(name, self.current(name), self.version_ids(name))
        self._check_whole(name, version)
        self.objects.replace(f"{name}/{CURRENT}", version.encode(), tag)
        if version != current and not self.is_complete(name, version):  # it was pruned meanwhile
            self.objects.replace(f"{name}/{CURRENT}", current.encode(), self.tag(name))
            raise self._no_version(name, version)
        return version

    def aliases(self) -> dict[str, Alias]:
        """Return all aliases by name, in order."""
        return dict(sorted(self._table()[0].aliases.items()))

    def set_alias(self, alias: str, collection: str, *, expected: int | None = None) -> Alias:
        """Let a name stand for a collection; see `Catalog.set_alias`."""
        check_name(alias, "alias")
        self.current(collection)
        if self.tag(alias) is not None:
            raise InputError("alias", "a name that no collection has", repr(alias))
        return self._changed(lambda table: table.with_alias(alias, collection, expected))

    def remove_alias(self, alias: str, *, expected: int | None = None) -> Alias:
        """Remove an alias, and return what it stood for; see `Catalog.remove_alias`."""
        return self._changed(lambda table: table.without_alias(alias, expected))

    def prune(self, name: str, keep: int) -> list[str]:
        """Delete all versions but the newest `keep` and the current one. Return the deleted ids.

        A version that is newer than the current one stays: somebody may be about to make it current. Raises
        `InputError` if `keep` is below 1; `CollectionNotFound`.
        """
        current = self.current(name)
        known = self.version_ids(name)
        old = [version for version in superfluous(known, keep, {current}) if version < current]
        deleted = [version for version in old if self._take_out(name, version)]
        oldest = min(version for version in known if version not in deleted)
        for version in self.objects.names(f"{name}/{VERSIONS}"):  # what interrupted prunes left
            if version < oldest:
                self._remove_version(name, version)
        self._sweep(name, current, [version for version in known if version not in deleted])
        return deleted

    def _sweep(self, name: str, current: str, versions: Sequence[str]) -> None:
        """Remove segments and fits that no version names, if they are older than the current one.

        Newer ones may be those of a version that is being pushed.
        """
        try:
            named = {file.rpartition("/")[0] for each in versions for file in self.manifest(name, each).files}
        except BundleError:
            return
        for kind in (SEGMENTS, FITS):
            for folder in self.objects.names(f"{name}/{kind}"):
                if f"{kind}/{folder}" not in named and folder < current:
                    for file in self.objects.names(f"{name}/{kind}/{folder}"):
                        self.objects.remove(f"{name}/{kind}/{folder}/{file}")

    def _table(self) -> tuple[Table, str | None]:
        tag = self.objects.tag(ALIASES)
        content = None if tag is None else self.objects.read(ALIASES)
        return (Table(), None) if content is None else (Table.parse(content, f"{self.address}/{ALIASES}"), tag)

    def _changed(self, change: Callable[[Table], tuple[Table, Alias]]) -> Alias:
        for left in reversed(range(TRIES)):
            table, tag = self._table()
            new, alias = change(table)
            try:
                self.objects.replace(ALIASES, new.text.encode(), tag)
            except PreconditionFailed:
                if not left:
                    raise
            else:
                return alias
        raise AssertionError

    def _check_whole(self, name: str, version: str) -> None:
        if not self.is_complete(name, version):
            raise self._no_version(name, version)
        for file, record in self.manifest(name, version).files.items():
            key = _key(name, version, file)
            if (size := self.objects.size(key)) != record.size:
                came = "is not there" if size is None else f"has {size} bytes, and not {record.size}"
                raise BundleDamaged(Path(f"{self.address}/{key}"), came)

    def _take_out(self, name: str, version: str) -> bool:
        key = _key(name, version, MANIFEST)
        manifest = self.objects.read(key)
        self.objects.remove(key)
        if self.current(name) == version and manifest is not None:
            self.objects.replace(key, manifest, None)
            return False
        self._remove_version(name, version)
        return True

    def _remove_version(self, name: str, version: str) -> None:
        there = f"{name}/{VERSIONS}/{version}"
        for file in [MANIFEST, *self.objects.names(there)]:  # without the first, the version is not there
            self.objects.remove(f"{there}/{file}")


def _key(name: str, version: str, file: str) -> str:
    """Return the key of a file of a version, as its manifest names it."""
    return f"{name}/{file}" if "/" in file else f"{name}/{VERSIONS}/{version}/{file}"


def _has(path: Path, record: FileRecord) -> bool:
    try:
        return path.is_file() and path.stat().st_size == record.size and record_of(path) == record
    except OSError as error:
        if error.errno == errno.EMFILE:  # which says nothing about the file
            raise
        return False


def _remove(path: Path) -> None:
    """Remove what stands at a path, be it a file or a folder, or nothing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


def _is_here(folder: Path) -> bool:
    try:
        verify(folder, read_manifest(folder), hashes=False)
    except (BundleError, StorageError):
        return False
    return True
