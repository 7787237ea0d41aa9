"""The collections that are served: opened in the background, proved by their canaries, searched off the event loop.

The catalog is watched. A new version is opened beside the old one and takes its place in one assignment; requests that
have begun end on the version that they began with, which is freed after the last of them.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from time import perf_counter
from typing import TypeVar

import faiss
from fastapi import Request

import hubless
from hubless.errors import BundleError, CollectionNotFound, HublessError
from hubless.streaming import one_blas_thread
from hubless_service.access.keys import Access
from hubless_service.http.problems import RETRY_AFTER, Problem
from hubless_service.http.queries import Query
from hubless_service.http.trace import Trace, trace_of
from hubless_service.observing.live import Live
from hubless_service.searching.batching import Batcher
from hubless_service.searching.bell import Bell
from hubless_service.searching.breakers import Breakers
from hubless_service.searching.encoding import Encoding
from hubless_service.searching.entries import Entry, as_problem
from hubless_service.searching.search import Found, search
from hubless_service.searching.source import Source
from hubless_service.settings import Settings

log = logging.getLogger("hubless.engine")
T = TypeVar("T")
_NICER = 5


class Engine:
    """Holds what is loaded, says what is not, and runs searches in threads of its own."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source = source
        self._entries: dict[str, Entry] = {}
        self._aliases: Mapping[str, hubless.Alias] = {}
        self._version_ids: dict[str, Sequence[str]] = {}
        self._trouble = ""  # with the aliases
        self._bell = Bell()
        self._failure: Exception | None = None  # of the whole catalog
        self._loading = True
        self._verify = settings.verify
        self._unsound: dict[str, Exception] = {}  # versions of which the hashes turned out to be wrong
        self._stopping = threading.Event()
        self._poll_seconds = settings.poll_seconds
        self._draining = False
        self._timeout = settings.default_timeout_ms / 1000
        self._openmp_threads = settings.openmp_threads
        self._threads_set = ExitStack()
        others = max(1, (os.cpu_count() or 1) - 1)  # processors beside the event loop's
        self._batcher = Batcher(
            settings.search_threads, settings.max_waiting, settings.max_together, self._prepare, others
        )
        self._breakers = Breakers(self._served)
        self._encoding = Encoding(settings.encoder_threads, settings.max_waiting, self._breakers.note)
        self.live = Live(settings, self._served, self._prepare, lambda: self._batcher.waiting > 0)

    def start(self, on_loaded: Callable[[], None] = lambda: None) -> None:
        """Begin to open all collections, and to watch for new versions; returns at once. In the event loop's thread.

        Parameters
        ----------
        on_loaded : called once, from another thread
        """
        faiss.omp_set_num_threads(self._openmp_threads)  # for what is answered here
        self._threads_set.enter_context(one_blas_thread)
        self._batcher.start()
        self.live.start()
        # a daemon, as reading a large file cannot be interrupted and must not hold up the end of the process
        threading.Thread(target=self._watch, args=[on_loaded], name="watch", daemon=True).start()

    def stop(self) -> None:
        """Let the searches that run finish, and open nothing more."""
        self._stopping.set()
        self._bell.wake()
        self._batcher.stop()
        self._encoding.stop()
        self.live.stop()
        self._threads_set.close()

    def drain(self) -> None:
        """Say that no more requests are wanted; those that come are answered all the same."""
        self._draining = True

    @property
    def draining(self) -> bool:
        """Whether the process is about to end."""
        return self._draining

    def report(
        self,
        on_batch: Callable[[int], None],
        on_waiting: Callable[[int], None],
        on_breaker: Callable[[str, bool], None],
    ) -> None:
        """Have functions called, from any thread.

        Parameters
        ----------
        on_batch : with the queries of each batch
        on_waiting : with those that wait now
        on_breaker : with a collection, and whether its encoder is left alone now
        """
        self._batcher.on_batch, self._batcher.on_waiting = on_batch, on_waiting
        self._breakers.on_state = on_breaker

    def answer_here_if(self, alone: Callable[[], bool]) -> None:
        """Answer cheap queries in the event loop where a function says that nothing else is to be done there."""
        self._batcher.alone = alone

    @property
    def loading(self) -> bool:
        """Whether the first look at the catalog is not over yet."""
        return self._loading

    @property
    def ready(self) -> bool:
        """Whether loading is over and has not failed altogether; what loaded is served beside what failed."""
        states = {entry.state for entry in self._entries.values()}
        return not self._loading and states != {"failed"} and not (self._failure and not states)

    def verdict(self) -> str:
        """Say in a sentence why the server is not ready though nothing is being loaded."""
        return as_problem(self._failure).detail if self._failure else "No collection can be served."

    def versions(self) -> Iterator[tuple[str, str, str]]:
        """Collection, version, and whether that is `served` or was `refused`."""
        for name, entry in self._entries.items():
            if entry.collection:
                yield name, entry.collection.version, "served"
            if entry.failure and entry.tried:
                yield name, entry.tried, "refused"

    def load_times(self) -> Iterator[tuple[str, float]]:
        """Collection, and the seconds that it took to open and prove the version that is served."""
        for name, entry in self._entries.items():
            if entry.collection:
                yield name, entry.seconds

    def details(self, access: Access) -> dict[str, dict[str, object]]:
        """The state of each collection that may be seen, for people who ask why the server is not ready."""
        return {name: entry.details() for name, entry in self._entries.items() if access.sees(name)}

    def count(self, state: str) -> int:
        """How many collections are in a state."""
        return sum(entry.state == state for entry in self._entries.values())

    def collections(self, access: Access) -> list[hubless.Collection]:
        """All collections that are ready and may be seen, by name."""
        if not self._entries or self._loading:
            self._check_loaded()
        return [collection for collection in self._served() if access.sees(collection.name)]

    @property
    def catalog(self) -> hubless.Catalog:
        """What can be changed."""
        return self._source.catalog

    def look_now(self) -> None:
        """Have all workers look at the catalog, as something in it has changed."""
        with suppress(HublessError):
            self._aliases = self._source.aliases()
        self._bell.ring()

    def version_ids(self, name: str) -> Sequence[str]:
        """The ids of all versions that are stored of a collection, oldest first."""
        return self._version_ids.get(name, ())

    def aliases_of(self, name: str) -> list[str]:
        """The other names of a collection."""
        return [alias for alias, standing in self._aliases.items() if standing.collection == name]

    def entry(self, name: str, access: Access) -> tuple[str, Entry]:
        """The own name of a collection, by which or by an alias of it somebody asks, and what is known of it.

        Raises
        ------
        Problem
            `not_ready` while the list of all is being loaded.
        CollectionNotFound
            if there is none of that name that may be seen.
        """
        alias = self._aliases.get(name)  # once, as the watch may replace them at any time
        own = alias.collection if alias and name not in self._entries else name
        entry = self._entries.get(own)
        if entry is None or not access.sees(own):
            self._check_loaded()
            raise CollectionNotFound(f'There is no collection "{name}".')
        return own, entry

    def collection(self, name: str, access: Access) -> hubless.Collection:
        """Return a collection that is ready, by its name or an alias of it.

        Raises
        ------
        Problem
            `not_ready` while it, or the list of all, is being loaded; the reason if no version of it can be served.
        CollectionNotFound
            if there is none of that name that may be seen.
        """
        _, entry = self.entry(name, access)
        if entry.collection:
            return entry.collection
        if entry.failure:
            raise as_problem(entry.failure)
        raise Problem("not_ready", "The collection is being loaded.", headers=RETRY_AFTER)

    def check_room(self) -> None:
        """Raise `too_many_requests` if too many queries wait already: before anything is done for one more."""
        self._batcher.check_room()

    def check_wait(self, trace: Trace) -> None:
        """Raise `too_many_requests` if a request that names no time of its own would spend too much of it waiting."""
        self._batcher.check_wait(trace, self._timeout)

    async def search(self, request: Request, collection: hubless.Collection, queries: Sequence[Query]) -> list[Found]:
        """Answer queries in a search thread, together with others that wait; of their timeouts the shortest holds."""
        seconds = min(query.timeout_ms for query in queries) / 1000
        deadline = trace_of(request).started + seconds
        queries = await self._encoding.encode(request, collection, queries, deadline)
        return await search(request, self._batcher, collection, queries, deadline, self.live.observe)

    async def run(self, trace: Trace, work: Callable[[], T]) -> T:
        """Do work in a search thread; the time until one is free counts as `queue`."""

        def answer(nothing: Sequence[None]) -> list[T]:
            return [work()]

        result: T = await self._batcher.submit(trace, trace.started + self._timeout, answer, None)
        return result

    def _served(self) -> list[hubless.Collection]:
        return [entry.collection for entry in self._entries.values() if entry.collection]

    def _check_loaded(self) -> None:
        if self._loading:
            raise Problem("not_ready", "Collections are being loaded.", headers=RETRY_AFTER)
        if self._failure:
            raise as_problem(self._failure)

    def _prepare(self) -> None:
        """Make a thread of ours ready to search."""
        # OpenMP counts threads per calling thread: set in the main thread it would not hold in others
        faiss.omp_set_num_threads(self._openmp_threads)
        if sys.platform == "linux":
            # the event loop, which tells requests that there is no room, must not have to wait for a processor
            usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), usual + _NICER)

    def _watch(self, on_loaded: Callable[[], None]) -> None:
        self._prepare()
        while not self._stopping.is_set():
            self._look()
            if self._loading:
                if self._verify == "background":
                    compared = self._served()
                    threading.Thread(target=self._check_hashes, args=[compared], name="hashes", daemon=True).start()
                self._loading = False
                on_loaded()
            self._bell.wait(self._poll_seconds)

    def _check_hashes(self, collections: list[hubless.Collection]) -> None:
        """Compare with their hashes the files of what is served already; what is wrong is served no longer."""
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
        """Whether its files ought to be there: they are not when it was pruned, or the catalog is out of reach."""
        try:
            return self._source.current(collection.name) == collection.version
        except HublessError as error:
            log.warning('collection "%s": hashes could not be compared: %s', collection.name, error)
            return False

    def _look(self) -> None:
        """Open what is new in the catalog beside what is served, then serve it instead."""
        try:
            names = sorted(self._source.names())
        except Exception as error:
            if str(error) != str(self._failure):
                _log_failure("the catalog", error)
            self._failure = error
            return
        self._failure = None
        self._aliases = self._read_aliases()
        for gone in self._entries.keys() - names:
            log.info('collection "%s" is gone', gone)
        self._entries = {name: self._entries.get(name, Entry()) for name in names}
        for name in names:
            if self._stopping.is_set():
                break
            self._entries[name] = self._renewed(name, self._entries[name])
        self._breakers.look()

    def _read_aliases(self) -> Mapping[str, hubless.Alias]:
        try:
            found = self._source.aliases()
        except Exception as error:
            if str(error) != self._trouble:
                log.warning("aliases stay as they were: %s", error)
            self._trouble = str(error)
            return self._aliases
        self._trouble = ""
        return found

    def _renewed(self, name: str, entry: Entry) -> Entry:
        """The entry as it is now: requests hold on to the collection that they found in the one before."""
        started = perf_counter()
        version = None
        try:
            version = self._source.current(name)
            self._version_ids[name] = self._source.version_ids(name)
            if failure := self._unsound.get(version):
                if entry.failure is not failure:
                    _log_failure(f'collection "{name}"', failure)
                return Entry(None, version, failure)
            if entry.collection and version == entry.collection.version:
                return Entry(entry.collection, version, seconds=entry.seconds)
            if version == entry.tried and entry.settled:
                return entry
            # an old version still answers, or nobody waits yet for a collection that is new
            hashes = self._verify == "first" or (self._verify == "background" and not self._loading)
            collection = self._source.open(name, hashes=hashes)
            collection.check_canaries()
        except Exception as error:
            if version != entry.tried or str(error) != str(entry.failure):
                _log_failure(f'collection "{name}"', error)
            # its traceback would hold on to collections
            return Entry(entry.collection, version or entry.tried, error.with_traceback(None), entry.seconds)
        seconds = perf_counter() - started
        log.info(
            'collection "%s" is ready: version %s, %d targets of %d dimensions, in %.1f s',
            name,
            collection.version,
            collection.count,
            collection.dim,
            seconds,
        )
        return Entry(collection, collection.version, seconds=seconds)


def _log_failure(what: str, error: Exception) -> None:
    # an error that the library foresaw says all in one line; any other needs its traceback
    log.error("%s cannot be served: %s", what, error, exc_info=not isinstance(error, HublessError))
