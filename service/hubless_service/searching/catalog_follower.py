"""Follows the catalog and the logs of its collections, so that every worker serves what any process wrote."""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from time import monotonic, perf_counter

import numpy as np

from hubless import Collection
from hubless.deadline import within
from hubless.errors import (
    BundleError,
    EngineError,
    EngineTimeout,
    EngineUnavailable,
    HublessError,
    StorageError,
    names_of,
)
from hubless.kernels.pools import start_all
from hubless.search.transaction import WritableCollection, open_with_log
from hubless.store.catalog import Marks
from hubless_service.searching.collection_sources import CatalogSource
from hubless_service.searching.freshness import Freshness
from hubless_service.searching.log_follower import LogFollower, catch_up
from hubless_service.searching.room import NoRoom, most_collections
from hubless_service.searching.shelf import NOTHING_TO_SERVE, Shelf, Slot
from hubless_service.settings import Settings

_log = logging.getLogger("hubless.catalog")

FOLLOW_SECONDS = 0.1
"""Between two looks at the numbers that tell of changes and writes."""
LOADING_SECONDS = 0.01
"""Between two looks whether all collections were opened."""
OPENED_TOGETHER = 4
"""Collections that are opened at the same time."""
_ENGINE_SECONDS = 2.0  # that an engine may take to fetch a vector by its row


class CatalogFollower:
    """A thread that looks at the catalog and the logs again and again, and puts on the shelf what it finds."""

    def __init__(
        self,
        source: CatalogSource,
        shelf: Shelf,
        freshness: Freshness,
        settings: Settings,
        prepare: Callable[[], object],
    ) -> None:
        """`freshness` hears of what was seen. `prepare` is called in each thread that looks, or opens collections."""
        self._source = source
        self._shelf = shelf
        self._fresh = freshness
        self._seconds = settings.poll_seconds
        self._prepare = prepare
        self._logs = LogFollower(source.written, shelf)
        self._stopping = False
        self._opening, self._wanted = freshness.opening, freshness.wanted
        self._lock = threading.Lock()  # of the two sets
        self._again = set[str]()  # of those that are being opened, the ones that were to be looked at meanwhile
        self._openers = ThreadPoolExecutor(OPENED_TOGETHER, "open", prepare)
        self._marks = dict[str, Marks | None]()  # of the versions that are served, when they were looked at
        self._unsound: dict[str, Exception] = {}  # versions that are served, and whose hashes turned out to be wrong
        self._alias_error = ""
        self._room = 0  # so many more collections may be opened now
        self._left_out = set[str]()  # those that were not

    def start(self, on_loaded: Callable[[], None]) -> None:
        """Begin to open all collections; returns at once."""
        start_all(self._openers, OPENED_TOGETHER)
        # a daemon, as reading a large file cannot be interrupted and must not hold up the end of the process
        self._thread = threading.Thread(target=self._run, args=[on_loaded], name="follow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Open nothing more, and look no more."""
        self._stopping = True
        self._openers.shutdown(wait=False, cancel_futures=True)
        self._wanted.set()

    def _run(self, on_loaded: Callable[[], None]) -> None:
        """Look at the numbers that tell of changes, and now and then at everything, until this stops."""
        self._prepare()
        next_look = next_follow = 0.0
        seen = 0, 0
        while not self._stopping:
            if self._shelf.loading and next_look and not self._opening:
                self._openers.submit(self._check_hashes, self._shelf.served())
                self._shelf.loading = False
                if self._shelf.empty:
                    _log.warning("%s It is served within %g s.", NOTHING_TO_SERVE, self._seconds)
                on_loaded()
            changes = self._source.changes.stamp()
            if self._wanted.is_set() or changes != seen or monotonic() >= next_look:
                self._wanted.clear()
                self._look()
                next_look = monotonic() + self._seconds
                seen = changes
            if not self._shelf.loading or monotonic() >= next_follow:
                next_follow = monotonic() + FOLLOW_SECONDS
                if self._logs.look():
                    next_look = monotonic()
            self._wanted.wait(min(LOADING_SECONDS if self._shelf.loading else FOLLOW_SECONDS, self._seconds))

    # the catalog

    def _look(self) -> None:
        """Have opened what is new in the catalog, and serve everything else as it is there."""
        self._source.answered.glance()  # makes the file, before its number is seen
        self._source.written.glance()
        seen = self._source.answered.stamp()  # before anything is read
        self._take_in()
        self._fresh.seen = seen
        self._ask_engines()

    def _take_in(self) -> None:
        """Take in the names, the aliases and the current versions."""
        shelf = self._shelf
        try:
            names = sorted(self._source.names())
        except Exception as error:
            if str(error) != str(shelf.failure):
                _log_failure("the catalog", error)
            shelf.failure = error
            return
        shelf.failure = None
        self._read_aliases()
        for gone in shelf.keep(names):
            _log.info('collection "%s" is gone', gone)
            self._fresh.told.pop(gone, None)
            self._marks.pop(gone, None)
        self._room = most_collections() - len(shelf.living()) - len(self._opening)
        for name in names:
            with self._lock:
                opening = name in self._opening
                if opening:
                    self._again.add(name)
            if not opening:
                self._renew(name)
        left_out = {name for name, slot in shelf.slots.items() if isinstance(slot.failure, NoRoom)}
        if left_out - self._left_out:  # a new one
            _log.error("collections %s (/readyz names all)", NoRoom(names_of(sorted(left_out))))
        self._left_out = left_out

    def _read_aliases(self) -> None:
        try:
            self._shelf.aliases = self._source.aliases()
            self._alias_error = ""
        except Exception as error:
            if str(error) != self._alias_error:
                _log.warning("aliases stay as they were: %s", error)
            self._alias_error = str(error)

    def _ask_engines(self) -> None:
        """Note on the shelf whose engine, outside of this process, does not answer, so that /readyz can tell."""
        dead: EngineError | None = None
        for collection in self._shelf.served():
            if not collection.parts.remote:
                continue
            # all are in one engine: if it is dead for one, the others need not wait for it
            error = dead or _engine_error(collection)
            if isinstance(error, EngineTimeout | EngineUnavailable):
                dead = error
            name = collection.name
            before = self._shelf.known(name).silent
            if error and not before:
                _log.error('collection "%s": %s', name, error)
            elif before and not error:
                _log.info('collection "%s": its engine answers again', name)
            if error or before:
                self._shelf.note(name, error)

    def _open(self, name: str) -> None:
        again = True
        while again:
            if not self._stopping:
                self._renew(name, here=True)
            with self._lock:
                again = name in self._again
                self._again.discard(name)
                if not again:
                    self._opening.discard(name)

    def _renew(self, name: str, *, here: bool = False) -> None:
        """Look at one collection. If its current version is another than the one that is served, it is to be opened.

        That is done `here`, or by a thread of those that open collections.
        """
        slot, version, marks = self._shelf.known(name), None, self._source.marks(name)
        is_same = marks and marks == self._marks.get(name) and slot.failure is None
        if is_same and slot.collection and slot.collection.version not in self._unsound:
            return
        told = self._source.answered_of(name).stamp()  # before the version is read
        try:
            version = self._source.current(name)
            slot = slot._replace(version_ids=self._source.version_ids(name))
            if version in self._unsound:  # opened again: another copy may be had
                slot = Slot(failure=self._unsound.pop(version), version_ids=slot.version_ids)
            if slot.collection and version == slot.collection.version:
                renewed = slot._replace(tried=version, failure=None)
                self._marks[name] = marks
            elif version == slot.tried and slot.settled:
                renewed = slot
            elif here:
                renewed = self._opened(name)
            else:
                self._have_opened(name, slot)
                return
        except Exception as error:
            if not self._fresh.is_there(name):  # deleted since its name was read
                self._shelf.drop(name)
                return
            renewed = self._refused(name, slot, version, error)
        self._put(name, slot, renewed._replace(version_ids=slot.version_ids))
        self._fresh.told[name] = told

    def _have_opened(self, name: str, slot: Slot) -> None:
        """Have a thread open the current version of a collection. Raises `NoRoom`."""
        if slot.living is None and self._room < 1:
            raise NoRoom(name)
        self._room -= 1
        self._shelf.put(name, slot)
        self._opening.add(name)
        with suppress(RuntimeError):  # this stops
            self._openers.submit(self._open, name)

    def _refused(self, name: str, slot: Slot, version: str | None, error: Exception) -> Slot:
        """Return the slot of a version that cannot be served: the one before is served on, if there is one."""
        if not isinstance(error, NoRoom) and (version != slot.tried or str(error) != str(slot.failure)):
            _log_failure(f'collection "{name}"', error)
        # its traceback would hold on to collections
        return Slot(slot.living, version or slot.tried, error.with_traceback(None), slot.seconds)

    def _put(self, name: str, before: Slot, renewed: Slot) -> None:
        if renewed.living is None or before.living in (None, renewed.living):
            self._shelf.put(name, renewed)
        else:
            # nothing is written to the version before it meanwhile, so that no write is missing in the one after it
            with before.living.changing:
                catch_up(renewed.living)
                self._shelf.put(name, renewed)
        if renewed.living is not before.living:
            self._logs.forget()

    def _opened(self, name: str) -> Slot:
        """Return the current version, opened and checked; tried twice."""
        # it may pass, or another version may have become current meanwhile, and this one been pruned
        with suppress(BundleError, StorageError):
            # after the start an old version still answers, or nobody waits yet for a collection that is new
            return self._opened_once(name, hashes=not self._shelf.loading)
        return self._opened_once(name, hashes=True)

    def _opened_once(self, name: str, *, hashes: bool) -> Slot:
        """Return the current version, opened and checked, with the writes of its log."""
        started = perf_counter()
        before = self._shelf.known(name).living
        known = None if before is None else before.base.parts
        collection, written = open_with_log(
            lambda: self._source.open(name, hashes=hashes, known=known), lambda: self._source.log(name)
        )
        if known is None or known.manifest.built != collection.manifest.built:  # else little is new
            collection.check_canaries()
            collection.payload([0][: collection.count])  # Arrow's first look-up in a process takes 20 ms
        living = WritableCollection(collection, written)
        if catch_up(living):
            _log.error('collection "%s": version %s lacks writes: %s', name, collection.version, living.error)
        seconds = perf_counter() - started
        _log.info(
            'collection "%s" is ready: version %s, %d targets of %d dimensions, in %.1f s',
            name,
            collection.version,
            living.current.count,
            collection.dim,
            seconds,
        )
        return Slot(living, collection.version, seconds=seconds)

    def _check_hashes(self, collections: list[Collection]) -> None:
        """Compare files with their hashes, the smallest version first. One with a wrong file is served no longer."""
        # in place: the caller must not hold on to versions that are replaced
        collections.sort(key=lambda each: sum(file.size for file in each.manifest.files.values()), reverse=True)
        while collections and not self._stopping:
            collection = collections.pop()
            name, version = collection.name, collection.version
            try:
                try:
                    collection.parts.check_hashes()
                    _log.info('collection "%s": the files are as they were written', name)
                except BundleError as error:
                    # its files ought to be there, unless it was deleted
                    if self._source.current(name) == version and version in self._source.version_ids(name):
                        self._unsound[version] = error
                        self._wanted.set()
            except Exception as error:
                # what the disk, or the catalog, refuses to read now says nothing about what is read already
                _log.warning('collection "%s": hashes could not be compared: %s', name, error)


def _engine_error(collection: Collection) -> EngineError | None:
    try:
        with within(_ENGINE_SECONDS):
            collection.origin.vectors(np.zeros(min(1, collection.origin.count), np.int64))
    except EngineError as error:
        return error.with_traceback(None)
    except Exception:
        _log.exception('the engine of collection "%s" could not be asked', collection.name)
    return None


def _log_failure(what: str, error: Exception) -> None:
    # an error that the library foresaw says all in one line; any other needs its traceback
    _log.error("%s cannot be served: %s", what, error, exc_info=not isinstance(error, HublessError))
