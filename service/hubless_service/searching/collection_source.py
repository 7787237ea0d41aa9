"""The source of the collections that are served."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import hubless
from hubless.search.collection import FILTER_CACHE, open_collection
from hubless.store.log import Log


class CollectionSource(Protocol):
    """Collections by name; tests have one of their own."""

    def names(self) -> Sequence[str]:
        """Name all collections."""
        ...

    def current(self, name: str) -> str:
        """The id of the current version of one of them."""
        ...

    def open(self, name: str, *, hashes: bool) -> hubless.Collection:
        """Open that version. Without `hashes`, only the sizes of its files are compared with the manifest."""
        ...

    def log(self, name: str) -> Log | None:
        """The log of one of them; None if it cannot be written to."""
        ...

    def version_ids(self, name: str) -> Sequence[str]:
        """The ids of all versions of one of them, oldest first."""
        ...

    def aliases(self) -> Mapping[str, hubless.Alias]:
        """The aliases by name."""
        ...

    @property
    def catalog(self) -> hubless.Catalog:
        """Return the catalog to change what is served in."""
        ...


@dataclass(frozen=True)
class CatalogSource:
    """The collections of a catalog on disk."""

    path: Path
    encoders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    filter_cache: int = FILTER_CACHE

    @property
    def catalog(self) -> hubless.Catalog:
        """The catalog itself."""
        return hubless.Catalog(self.path)

    def names(self) -> list[str]:
        """Name all collections of the catalog."""
        return self.catalog.collections()

    def current(self, name: str) -> str:
        """The id of the current version."""
        return self.catalog.current(name)

    def log(self, name: str) -> Log:
        """The log in the folder of the collection."""
        return self.catalog.log(name)

    def version_ids(self, name: str) -> list[str]:
        """The ids of all versions, oldest first."""
        return self.catalog.version_ids(name)

    def aliases(self) -> dict[str, hubless.Alias]:
        """The aliases of the catalog."""
        return self.catalog.aliases()

    def open(self, name: str, *, hashes: bool) -> hubless.Collection:
        """Open the current version."""
        return open_collection(
            self.path,
            name,
            hashes=hashes,
            encoder=self.encoders.get(name),
            filter_cache=self.filter_cache,
            lenient=True,
        )
