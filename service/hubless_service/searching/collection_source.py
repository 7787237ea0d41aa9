"""The source of the collections that are served."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hubless
from hubless.search.collection import FILTER_CACHE, open_collection
from hubless.store.log import Log


@dataclass
class CatalogSource:
    """The collections of a catalog on disk, by name. Tests have others, in memory."""

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

    def log(self, name: str) -> Log | None:
        """The log of a collection; None if it cannot be written to."""
        return self.catalog.log(name)

    def version_ids(self, name: str) -> list[str]:
        """The ids of all versions, oldest first."""
        return self.catalog.version_ids(name)

    def aliases(self) -> dict[str, hubless.Alias]:
        """The aliases of the catalog."""
        return self.catalog.aliases()

    def open(self, name: str, *, hashes: bool) -> hubless.Collection:
        """Open the current version. Without `hashes`, only the sizes of files are compared with the manifest."""
        return open_collection(
            self.path,
            name,
            hashes=hashes,
            encoder=self.encoders.get(name),
            filter_cache=self.filter_cache,
            lenient=True,
        )
