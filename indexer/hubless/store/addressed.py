"""Catalogs in a folder, or at an address in object storage, which another package brings."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from hubless.errors import BundleError, StorageError, brought
from hubless.store.address import copy_folder, storage_address
from hubless.store.aliases import Alias
from hubless.store.catalog import Catalog, VersionInfo
from hubless.store.names import check_name


@dataclass(frozen=True)
class Working:
    """A catalog to change a collection in.

    `publish` makes what is current there current at its address, too; on a disk there is nothing to do.
    """

    catalog: Catalog
    publish: Callable[[], None] = lambda: None


class AddressedCatalog(Protocol):
    """A catalog at an address, and a folder with copies of its versions; made from the address, and the folder."""

    address: str

    def working(self, name: str, *, pull: bool) -> AbstractContextManager[Working]:
        """Give the folder to change a collection in; with `pull` it has the current version."""

    def readable(self, name: str, version: str | None) -> Catalog:
        """Return the folder, with the current version of a collection and another."""

    def pull(self, name: str) -> str:
        """Bring the current version of a collection into the folder, and return its id."""

    def pull_aliases(self) -> None:
        """Bring the aliases into the folder."""

    def forget(self, name: str) -> None:
        """Remove a collection from the folder."""

    def mend(self, name: str, version: str | None, damage: BundleError | StorageError) -> None:
        """Bring those files of a version again that are damaged in the folder."""

    def collections(self) -> list[str]:
        """See `Catalog`, as for all that follows."""

    def versions(self, name: str) -> Sequence[VersionInfo]: ...

    def rollback(self, name: str, version: str | None = None) -> str: ...

    def prune(self, name: str, keep: int) -> list[str]: ...

    def aliases(self) -> dict[str, Alias]: ...

    def set_alias(self, alias: str, collection: str, *, expected: int | None = None) -> Alias: ...

    def remove_alias(self, alias: str, *, expected: int | None = None) -> Alias: ...


Managed: TypeAlias = Catalog | AddressedCatalog


def at_address(address: str, folder: Path | None = None) -> AddressedCatalog:
    """Return the catalog at an address. Raises `HublessError` if the package for it is not installed: names it."""
    scheme = address.partition(":")[0]
    found: AddressedCatalog = brought("catalogs", scheme, f"{scheme}://…", "objects")(address, folder)
    return found


def managed(catalog: str | Path) -> Managed:
    """Return a catalog whose versions and aliases are listed or changed, on a disk or at an address."""
    address = storage_address(catalog)
    return Catalog(catalog) if address is None else at_address(address)


def readable(catalog: str | Path | Catalog, name: str, version: str | None = None) -> Catalog:
    """Return a catalog to open a collection from. From an address its current version and `version` are pulled."""
    found = catalog if isinstance(catalog, Catalog) else managed(catalog)
    return found if isinstance(found, Catalog) else found.readable(name, version)


@contextmanager
def working(catalog: str | Path, name: str, *, pull: bool = False) -> Iterator[Working]:
    """Give a catalog to change a collection in. At an address, one process of this machine at a time gets it."""
    check_name(name)
    if (address := storage_address(catalog)) is None:
        yield Working(Catalog(catalog))
        return
    with at_address(address, copy_folder(address, "work")).working(name, pull=pull) as work:
        yield work
