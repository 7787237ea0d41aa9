"""Folders that stand for a catalog, wherever it is: a local catalog itself, or a copy of one in object storage."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hubless.errors import storage_errors
from hubless.store.address import address_of, copy_folder
from hubless.store.catalog import CURRENT, VERSIONS, Catalog, check_name
from hubless.store.durable import locked, make_folder
from hubless.store.locks import forget_outside, noted_outside
from hubless.store.remote.mirror import Mirror, RemoteCatalog
from hubless.store.remote.objects import Objects


@dataclass(frozen=True)
class Working:
    """A catalog to change a collection in. `catalog`: where to make the version."""

    catalog: Catalog
    _name: str
    _mirror: Mirror | None = None
    _tag: str | None = None

    def publish(self) -> None:
        """Push the version that is current now, and make it current at the address. Does nothing on a disk."""
        if self._mirror is not None:
            self._mirror.push(self._name, self.catalog.current(self._name), self._tag)
            versions = self.catalog.path / self._name / VERSIONS
            for version in noted_outside(versions):  # the others are at the address still
                if (versions / version).is_dir():
                    forget_outside(versions, version)
            self.catalog.prune(self._name, 1)


@contextmanager
def working(catalog: str | Path, name: str, *, pull: bool = False) -> Iterator[Working]:
    """Give a catalog to change a collection in. At an address, one process of this machine at a time gets it."""
    check_name(name)
    if (address := address_of(catalog)) is None:
        yield Working(Catalog(catalog), name)
        return
    mirror = _mirror(address, "work")
    with storage_errors(mirror.folder):
        make_folder(mirror.folder)
        with locked(mirror.folder / f".{name}.lock"):
            mirror.pull_aliases()  # so that no collection gets the name of one
            tag = mirror.tag(name)  # before the version that is pulled, so that none in between is lost
            if tag is None:
                mirror.objects.names()  # says so now if there is no bucket
                # what an unfinished job has done stays
                (mirror.folder / name / CURRENT).unlink(missing_ok=True)
            elif pull:
                mirror.pull(name)
            yield Working(mirror.catalog, name, mirror, tag)


def readable(catalog: str | Path | Catalog, name: str, version: str | None = None) -> Catalog:
    """Return a catalog to open a collection from. From an address its current version is pulled.

    `version`: pull this one too. Raises `InputError`, `StorageError`, `BundleError`, `CollectionNotFound`,
    `VersionNotFound`.
    """
    if isinstance(catalog, Catalog):
        return catalog
    if (address := address_of(catalog)) is None:
        return Catalog(catalog)
    mirror = _mirror(address, "read")
    with storage_errors(mirror.folder):
        make_folder(mirror.folder)
        with locked(mirror.folder / ".lock"):
            mirror.pull_aliases()
            name = mirror.catalog.resolve(name)
            check_name(name)
            mirror.pull(name, version)
    return mirror.catalog


def managed(catalog: str | Path) -> Catalog | RemoteCatalog:
    """Return a catalog whose versions and aliases are listed or changed, on a disk or at an address."""
    return Catalog(catalog) if address_of(catalog) is None else RemoteCatalog(catalog)


def _mirror(address: str, purpose: str) -> Mirror:
    return Mirror(Objects(address), copy_folder(address, purpose))
