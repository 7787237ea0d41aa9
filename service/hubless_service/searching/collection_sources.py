"""The collections of a catalog on disk, or in object storage with a folder of copies. Tests have others, in memory."""

import json
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hubless import Catalog, Collection
from hubless.errors import HublessError, storage_errors
from hubless.search.collection import open_collection
from hubless.search.parts import Parts
from hubless.store.addressed import at_address
from hubless.store.bundle import warm
from hubless.store.durable import is_locked, locked, make_folder, put_text

EncoderChanges = Mapping[str, Mapping[str, Any]]
"""By collection, fields that replace those of its encoder."""


class CatalogSource(Catalog):
    """A catalog on disk, and how its collections are opened to be served. Tests have others, in memory."""

    def __init__(self, path: Path, encoders: EncoderChanges | None = None) -> None:
        super().__init__(path)
        self._encoders = encoders or {}

    def names(self) -> list[str]:
        """Return the names of all collections that are to be served."""
        return self.collections()

    def open(self, name: str, *, hashes: bool, known: Parts | None = None) -> Collection:
        """Open the current version; what it shares with one that is `known` is taken from there.

        Without `hashes`, files are only read, and their sizes compared with the manifest.
        """
        if not hashes:  # which would read the files
            warm(self.folder(name))
        encoder = self._encoders.get(name)
        return open_collection(self, name, hashes=hashes, encoder=encoder, lenient=True, known=known)


_LOCK, _STATE = ".pull.lock", ".pull.json"
_KEPT = 2  # versions: the one before may still be served
_log = logging.getLogger("hubless.catalog")


class StoreState(NamedTuple):
    """Result of the last look at the store."""

    trouble: str = ""
    synced: float = 0.0


class RemoteSource(CatalogSource):
    """The collections of a catalog at an address. What is here is served, also while the store cannot be reached.

    All workers of a machine share the folder. One of them looks at the store, and the others see what it brought.
    """

    def __init__(
        self,
        address: str,
        folder: Path,
        seconds: float,
        encoders: EncoderChanges | None = None,
    ) -> None:
        super().__init__(folder, encoders)
        self._remote = at_address(address, folder)
        self.address, self.mend = self._remote.address, self._remote.mend
        self._seconds = seconds
        self._looked = False

    @property
    def state(self) -> StoreState:
        """The result of the last look, of whichever worker."""
        try:
            return StoreState(**json.loads((self.path / _STATE).read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return StoreState()

    def names(self) -> list[str]:
        """Bring here what is new, and name all collections."""
        self._look()
        return super().names()

    def log(self, name: str, until: int | None = None) -> None:  # type: ignore[override]  # it has none
        """No log: such a catalog is changed by builds."""

    def _look(self) -> None:
        with storage_errors(self.path):
            make_folder(self.path)
            lock = self.path / _LOCK
            lock.touch()
            # the first look of a worker waits for that of another, so that it does not say that there is nothing
            if self._looked and is_locked(lock):
                return
            with locked(lock):
                if not self._looked or not self._looked_lately():
                    self._bring()
        self._looked = True

    def _looked_lately(self) -> bool:
        """Return True if another worker has looked since this one did."""
        try:
            age = time.time() - (self.path / _STATE).stat().st_mtime
        except OSError:
            return False
        return 0 <= age < self._seconds / 2

    def _bring(self) -> None:
        """Bring here what the store has, forget what is gone there, and note what could not be brought."""
        before = self.state
        here = self.collections()
        troubles = []
        try:
            names = self._remote.collections()
            for gone in set(here) - set(names):
                self._remote.forget(gone)
        except HublessError as error:
            if not here:
                raise
            names, troubles = [], [str(error)]
        else:
            try:
                self._remote.pull_aliases()
            except HublessError as error:
                troubles.append(str(error))
        for name in names:
            try:  # what is damaged stops only itself
                self._remote.pull(name)
                self.prune(name, _KEPT)
            except HublessError as error:
                troubles.append(str(error))
        trouble = "; ".join(troubles)
        if trouble and trouble != before.trouble:
            _log.error("%s: what is here is served: %s", self.address, trouble)
        elif before.trouble and not trouble:
            _log.info("%s can be reached again", self.address)
        state = {"trouble": trouble, "synced": before.synced if trouble else time.time()}
        put_text(self.path / _STATE, json.dumps(state))
