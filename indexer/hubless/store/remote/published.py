"""The catalog at an address, changed there: aliases, roll back, prune.

Each change is one small object that is replaced with a precondition, or goes first: `.aliases.json` has all aliases,
`CURRENT` makes a collection, and `manifest.json` makes a version. What is killed half way is finished when it is asked
for again.
"""

from collections.abc import Callable
from pathlib import Path

from hubless.errors import BundleDamaged, InputError, PreconditionFailed
from hubless.store.address import address_of, copy_folder
from hubless.store.aliases import ALIASES, Alias, Table
from hubless.store.bundle import MANIFEST
from hubless.store.catalog import CURRENT, VERSIONS, check_name, superfluous, version_before
from hubless.store.remote.mirror import Mirror
from hubless.store.remote.objects import Objects

TRIES = 8
"""Number of tries to change the aliases while others change them, too."""


class RemoteCatalog(Mirror):
    """A catalog in object storage, at an address such as s3://bucket/prefix: its versions and aliases.

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
        super().__init__(Objects(found), copy_folder(found, "read"))

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
        tag, current = self.tag(name), self.current(name)
        if version is None:
            version = version_before(name, current, self.version_ids(name))
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

        A version that is newer than the current one stays: somebody may be about to make it current.

        Raises
        ------
        InputError
            if `keep` is below 1.
        CollectionNotFound
        """
        current, known = self.current(name), self.version_ids(name)
        old = [version for version in superfluous(known, keep, {current}) if version < current]
        deleted = [version for version in old if self._take_out(name, version)]
        oldest = min(version for version in known if version not in deleted)
        for version in self.objects.names(f"{name}/{VERSIONS}"):  # what interrupted prunes left
            if version < oldest:
                self._remove_version(name, version)
        return deleted

    def _table(self) -> tuple[Table, str | None]:
        """Return all aliases, and the tag of their object."""
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
            key = f"{name}/{VERSIONS}/{version}/{file}"
            if (size := self.objects.size(key)) != record.size:
                came = "is not there" if size is None else f"has {size} bytes, and not {record.size}"
                raise BundleDamaged(Path(f"{self.address}/{key}"), came)

    def _take_out(self, name: str, version: str) -> bool:
        """Delete a version, unless somebody makes it current at this moment."""
        key = f"{name}/{VERSIONS}/{version}/{MANIFEST}"
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
