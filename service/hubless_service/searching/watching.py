"""Watches the catalog. A new version is opened beside the old one and then takes its place on the shelf.

One thread looks, and others open what is new: a large collection holds up no other. Only the looking thread has a
collection opened, and it leaves one alone that is being opened, so that no two threads change one slot.
"""

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import perf_counter

import hubless
from hubless.errors import BundleError, CollectionNotFound, HublessError, StorageError
from hubless.search.transaction import WritableCollection, open_with_log
from hubless_service.processes.bell import Bell
from hubless_service.searching.collection_source import CollectionSource
from hubless_service.searching.log_follower import follow
from hubless_service.searching.openers import Openers
from hubless_service.searching.shelf import NOTHING_TO_SERVE, Shelf
from hubless_service.searching.slots import Slot
from hubless_service.settings import Settings

log = logging.getLogger("hubless.catalog")


class Watcher:
    """A thread that looks at the catalog again and again, and has put on the shelf what it finds."""

    def __init__(
        self, source: CollectionSource, shelf: Shelf, settings: Settings, prepare: Callable[[], object]
    ) -> None:
        """Make the thread, to be started.

        Parameters
        ----------
        prepare : called once in each thread
        """
        self.on_change: Callable[[], None] = lambda: None
        self._source = source
        self._shelf = shelf
        self._verify = settings.verify
        self._seconds = settings.poll_seconds
        self._prepare = prepare
        self._bell = Bell()
        self._openers = Openers(self._open, prepare)
        self._stopping = threading.Event()
        self._unsound: dict[str, Exception] = {}  # versions of which the hashes turned out to be wrong
        self._trouble = ""  # with the aliases

    def start(self, on_loaded: Callable[[], None]) -> None:
        """Begin to open all collections; returns at once.

        Parameters
        ----------
        on_loaded : called once, from the thread, when the first look is over
        """
        # a daemon, as reading a large file cannot be interrupted and must not hold up the end of the process
        threading.Thread(target=self._watch, args=[on_loaded], name="watch", daemon=True).start()

    def stop(self) -> None:
        """Open nothing more."""
        self._stopping.set()
        self._openers.stop()
        self._bell.wake()

    def look_now(self) -> None:
        """Have all workers look at the catalog, as something in it has changed."""
        with suppress(HublessError):
            self._shelf.aliases = self._source.aliases()
        self._bell.ring()

    def look_here(self) -> None:
        """Look at the catalog now, in this worker."""
        self._bell.wake()

    def find(self, name: str) -> bool:
        """Whether a collection is in the catalog; if so it is looked at soon."""
        try:
            self._source.current(name)
        except (HublessError, LookupError):
            return False
        self._bell.wake()
        return True

    def _watch(self, on_loaded: Callable[[], None]) -> None:
        self._prepare()
        while not self._stopping.is_set():
            self._look()
            if self._shelf.loading:
                self._openers.wait()
                if self._verify == "background":
                    compared = self._shelf.served()
                    threading.Thread(target=self._check_hashes, args=[compared], name="hashes", daemon=True).start()
                self._shelf.loading = False
                if self._shelf.empty:
                    log.warning("%s It is served within %g s.", NOTHING_TO_SERVE, self._seconds)
                on_loaded()
            self._bell.wait(self._seconds)

    def _look(self) -> None:
        """Have opened what is new in the catalog."""
        shelf = self._shelf
        try:
            names = sorted(self._source.names())
        except Exception as error:
            if str(error) != str(shelf.failure):
                _log_failure("the catalog", error)
            shelf.failure = error
            return
        shelf.failure = None
        shelf.aliases = self._read_aliases()
        for gone in shelf.keep(names):
            log.info('collection "%s" is gone', gone)
        for name in names:
            if not self._openers.is_pending(name):
                self._renew(name)
        self.on_change()

    def _read_aliases(self) -> Mapping[str, hubless.Alias]:
        try:
            found = self._source.aliases()
        except Exception as error:
            if str(error) != self._trouble:
                log.warning("aliases stay as they were: %s", error)
            self._trouble = str(error)
            return self._shelf.aliases
        self._trouble = ""
        return found

    def _open(self, name: str) -> None:
        self._renew(name, here=True)
        self.on_change()

    def _renew(self, name: str, *, here: bool = False) -> None:
        """Look at one collection. If its current version is another than the one that is served, it is to be opened.

        Parameters
        ----------
        here : whether to open it in this thread
        """
        slot, version = self._shelf.known(name), None
        ids = self._shelf.version_ids.get(name, ())
        try:
            version = self._source.current(name)
            ids = self._source.version_ids(name)
            renewed = self._renewed(name, slot, version)
            if renewed is None:
                if not here:
                    self._shelf.put(name, slot, ids)
                    self._openers.add(name)
                    return
                renewed = self._opened(name)
        except Exception as error:
            if self._is_gone(name):  # deleted since its name was read
                self._shelf.drop(name)
                return
            if version != slot.tried or str(error) != str(slot.failure):
                _log_failure(f'collection "{name}"', error)
            # its traceback would hold on to collections
            renewed = Slot(slot.living, version or slot.tried, error.with_traceback(None), slot.seconds)
        self._put(name, slot, renewed, ids)

    def _is_gone(self, name: str) -> bool:
        try:
            self._source.current(name)
        except Exception as error:
            return isinstance(error, CollectionNotFound)
        return False

    def _put(self, name: str, before: Slot, renewed: Slot, ids: Sequence[str]) -> None:
        if renewed.living is None or before.living in (None, renewed.living):
            self._shelf.put(name, renewed, ids)
            return
        # nothing is written to the version before it meanwhile, so that no write is missing in the one after it
        with before.living.changing:
            follow(renewed.living)
            self._shelf.put(name, renewed, ids)

    def _renewed(self, name: str, slot: Slot, version: str) -> Slot | None:
        """The slot as it is now; None if the version is still to be opened."""
        if failure := self._unsound.get(version):
            if slot.failure is not failure:
                _log_failure(f'collection "{name}"', failure)
            return Slot(None, version, failure)
        if slot.collection and version == slot.collection.version:
            return Slot(slot.living, version, seconds=slot.seconds, silent=slot.silent)
        if version == slot.tried and slot.settled:
            return slot
        return None

    def _opened(self, name: str) -> Slot:
        """The current version, opened and checked; tried twice."""
        tried = ""
        while True:
            version = self._source.current(name)
            try:
                return self._opened_now(name)
            except (BundleError, StorageError):
                # it may pass, or another version may have become current meanwhile, and this one been pruned
                if tried == version:
                    raise
                tried = version

    def _opened_now(self, name: str) -> Slot:
        started = perf_counter()
        # after the start an old version still answers, or nobody waits yet for a collection that is new
        hashes = self._verify == "first" or (self._verify == "background" and not self._shelf.loading)
        collection, written = open_with_log(
            lambda: self._source.open(name, hashes=hashes), lambda: self._source.log(name)
        )
        if not hashes:  # which would have read the files
            collection.warm()
        collection.check_canaries()
        living = WritableCollection(collection, written)
        if follow(living):
            log.error('collection "%s": version %s lacks writes: %s', name, collection.version, living.error)
        seconds = perf_counter() - started
        log.info(
            'collection "%s" is ready: version %s, %d targets of %d dimensions, in %.1f s',
            name,
            collection.version,
            living.current.count,
            collection.dim,
            seconds,
        )
        return Slot(living, collection.version, seconds=seconds)

    def _check_hashes(self, collections: list[hubless.Collection]) -> None:
        """Compare files with their hashes while they are served. A version with a wrong file is served no longer.

        The smallest comes first, so that a large one delays no other. One is read at a time: searches need the disk.
        """
        # in place: the caller must not hold on to versions that are replaced
        collections.sort(key=_bytes_of, reverse=True)
        while collections and not self._stopping.is_set():
            collection = collections.pop()
            try:
                collection.check_hashes()
            except BundleError as error:
                if self._is_current(collection):
                    self._unsound[collection.version] = error.with_traceback(None)
                    self._bell.ring()
            except Exception as error:
                # what the disk refuses to read now says nothing about what is read already
                log.warning('collection "%s": hashes could not be compared: %s', collection.name, error)
            else:
                log.info('collection "%s": the files are as they were written', collection.name)

    def _is_current(self, collection: hubless.Collection) -> bool:
        """Whether its files ought to be there: they are not when it was deleted, or the catalog is out of reach."""
        name, version = collection.name, collection.version
        try:
            return self._source.current(name) == version and version in self._source.version_ids(name)
        except HublessError as error:
            log.warning('collection "%s": hashes could not be compared: %s', collection.name, error)
            return False


def _bytes_of(collection: hubless.Collection) -> int:
    return sum(file.size for file in collection.manifest.files.values())


def _log_failure(what: str, error: Exception) -> None:
    # an error that the library foresaw says all in one line; any other needs its traceback
    log.error("%s cannot be served: %s", what, error, exc_info=not isinstance(error, HublessError))
