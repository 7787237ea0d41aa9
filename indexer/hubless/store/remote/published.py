"""The catalog at an address, changed there: aliases, roll back, prune, delete.

Each change is one small object that is replaced with a precondition, or goes first: `.aliases.json` has all aliases,
`CURRENT` makes a collection, and `manifest.json` makes a version. What is killed half way is finished when it is asked
for again.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hubless.errors import (
    BundleDamaged,
    BundleError,
    InputError,
    PreconditionFailed,
    VersionNotFound,
)
from hubless.store.address import address_of, copy_folder
from hubless.store.aliases import Alias, Table, parsed_aliases
from hubless.store.bundle import MANIFEST
from hubless.store.catalog import CURRENT, VERSIONS, VersionInfo, check_name, superfluous, version_before
from hubless.store.remote.mirror import ALIASES, Mirror
from hubless.store.remote.objects import Objects

TRIES = 8
"""How often a change of the aliases is tried while others change them, too."""
UNFINISHED = timedelta(days=1)
"""What came within this time may belong to a build that is about to publish it."""


class RemoteCatalog:
    """A catalog in object storage: what `Catalog` does, at an address such as s3://bucket/prefix.

    Raises
    ------
    InputError
        for what is no address, and if the extra for it is not installed.
    StorageError
        from every method, if the store refuses or cannot be reached.
    """

    def __init__(self, address: str | Path) -> None:
        if (found := address_of(address)) is None:
            raise InputError("catalog", "an address that begins with s3://, gs:// or az://", address)
        self._objects = Objects(found)
        self._mirror = Mirror(self._objects, copy_folder(found, "read"))

    @property
    def address(self) -> str:
        """Where the catalog is."""
        return self._mirror.address

    def collections(self) -> list[str]:
        """Return the names of all collections, in order."""
        return self._mirror.collections()

    def current(self, name: str) -> str:
        """Return the id of the current version. Raises `CollectionNotFound`."""
        return self._mirror.current(name)

    def version_ids(self, name: str) -> list[str]:
        """Return the ids of all versions, oldest first. Raises `CollectionNotFound`."""
        self.current(name)
        return self._mirror.version_ids(name)

    def versions(self, name: str) -> list[VersionInfo]:
        """Return all versions, oldest first. Raises `CollectionNotFound`."""
        return self._mirror.versions(name)

    def rollback(self, name: str, version: str | None = None) -> str:
        """Make a version current: the named one, or the one before the current one. Return its id.

        Raises
        ------
        CollectionNotFound, VersionNotFound
        BundleDamaged
            if a file of the version is not there, or has another size than its manifest says.
        PreconditionFailed
            if another version has become current meanwhile.
        """
        tag, current = self._mirror.tag(name), self.current(name)
        if version is None:
            version = version_before(name, current, self._mirror.version_ids(name))
        self._check_whole(name, version)
        self._objects.replace(f"{name}/{CURRENT}", version.encode(), tag)
        if version != current and not self._mirror.is_complete(name, version):  # it was pruned meanwhile
            self._objects.replace(f"{name}/{CURRENT}", current.encode(), self._mirror.tag(name))
            raise self._no_version(name, version)
        return version

    def aliases(self) -> dict[str, Alias]:
        """Return all aliases by name, in order."""
        return dict(sorted(self._table()[0].aliases.items()))

    def set_alias(self, alias: str, collection: str, *, expected: int | None = None) -> Alias:
        """Let a name stand for a collection, also if it stood for another one.

        Parameters
        ----------
        expected : revision that the alias must have; 0 if it must not exist, None for any

        Raises
        ------
        InputError
            if the name is not allowed, or a collection has it.
        CollectionNotFound
        PreconditionFailed
            if the alias has another revision.
        """
        check_name(alias, "alias")
        self.current(collection)
        if self._mirror.tag(alias) is not None:
            raise InputError("alias", "a name that no collection has", repr(alias))
        return self._changed(lambda table: table.with_alias(alias, collection, expected))

    def remove_alias(self, alias: str, *, expected: int | None = None) -> Alias:
        """Remove an alias. Return what it stood for.

        Raises
        ------
        AliasNotFound
        PreconditionFailed
            if the alias has another revision, as in `set_alias`.
        """
        return self._changed(lambda table: table.without_alias(alias, expected))

    def prune(self, name: str, keep: int) -> list[str]:
        """Delete all versions but the newest `keep` and the current one. Return the deleted ids.

        A version that is newer than the current one stays for a day: somebody may be about to make it current.

        Raises
        ------
        InputError
            if `keep` is below 1.
        CollectionNotFound
        """
        current = self.current(name)
        known = sorted({*self._mirror.version_ids(name), current})  # a late listing may lack it
        deleted = [
            version
            for version in superfluous(known, keep, {current})
            if not (version > current and self._is_recent(name, version)) and self._take_out(name, version)
        ]
        self._remove_left(name, current, known)
        return deleted

    def delete(self, name: str, *, aliases: bool = False) -> None:
        """Delete a collection with all its versions. It is gone when its `CURRENT` is; the rest is removed after that.

        Parameters
        ----------
        aliases : remove the aliases that stand for it, too

        Raises
        ------
        CollectionNotFound
            if there is none, and nothing is left of one that was deleted.
        CollectionAliased
            if aliases stand for it, unless they are to be removed.
        """
        check_name(name)
        left = self._objects.names(f"{name}/{VERSIONS}")
        if self._mirror.tag(name) is None and not left:
            self.current(name)
        for alias in self._table()[0].standing_for(name, allowed=aliases):
            self.remove_alias(alias)
        # a late listing may lack the current version
        versions = {*left, *([self.current(name)] if self._mirror.tag(name) is not None else [])}
        self._objects.remove(f"{name}/{CURRENT}")
        for version in sorted(versions):
            self._remove_version(name, version)
        self._mirror.forget(name)

    def _table(self) -> tuple[Table, str | None]:
        """All aliases, and the tag of their object."""
        tag = self._objects.tag(ALIASES)
        content = None if tag is None else self._objects.read(ALIASES)
        if content is None:
            return Table(), None
        return parsed_aliases(content, f"{self.address}/{ALIASES}"), tag

    def _changed(self, change: Callable[[Table], tuple[Table, Alias]]) -> Alias:
        for left in reversed(range(TRIES)):
            table, tag = self._table()
            new, alias = change(table)
            try:
                self._objects.replace(ALIASES, f"{new.model_dump_json(indent=2)}\n".encode(), tag)
            except PreconditionFailed:
                if not left:
                    raise
            else:
                return alias
        raise AssertionError

    def _check_whole(self, name: str, version: str) -> None:
        if not self._mirror.is_complete(name, version):
            raise self._no_version(name, version)
        for file, record in self._mirror.manifest(name, version).files.items():
            key = f"{name}/{VERSIONS}/{version}/{file}"
            if (size := self._objects.size(key)) != record.size:
                came = "is not there" if size is None else f"has {size} bytes, and not {record.size}"
                raise BundleDamaged(Path(f"{self.address}/{key}"), came)

    def _take_out(self, name: str, version: str) -> bool:
        """Delete a version, unless somebody makes it current at this moment."""
        there = f"{name}/{VERSIONS}/{version}"
        files, manifest = self._files(name, version), self._objects.read(f"{there}/{MANIFEST}")
        self._objects.remove(f"{there}/{MANIFEST}")
        if self.current(name) == version and manifest is not None:
            self._objects.write(f"{there}/{MANIFEST}", manifest)
            return False
        for file in sorted(files):
            self._objects.remove(f"{there}/{file}")
        return True

    def _remove_left(self, name: str, current: str, complete: list[str]) -> None:
        """Remove what killed pushes and prunes left: older than the current version, and no manifest for a day."""
        for version in self._objects.names(f"{name}/{VERSIONS}"):
            if version < current and version not in complete and not self._is_recent(name, version):
                self._remove_version(name, version)

    def _remove_version(self, name: str, version: str) -> None:
        there = f"{name}/{VERSIONS}/{version}"
        files = self._files(name, version)
        for file in [MANIFEST, *sorted(files - {MANIFEST})]:  # without the first, the version is not there
            self._objects.remove(f"{there}/{file}")

    def _files(self, name: str, version: str) -> set[str]:
        files = set(self._objects.names(f"{name}/{VERSIONS}/{version}"))
        with suppress(BundleError):  # a late listing may lack some
            files.update(self._mirror.manifest(name, version).files)
        return files

    def _is_recent(self, name: str, version: str) -> bool:
        there = f"{name}/{VERSIONS}/{version}"
        times = [self._objects.modified(f"{there}/{file}") for file in self._objects.names(there)]
        return any(time is not None and datetime.now(UTC) - time < UNFINISHED for time in times)

    def _no_version(self, name: str, version: str) -> VersionNotFound:
        return VersionNotFound(f"collection {name!r} has no version {version!r} at {self.address}")
