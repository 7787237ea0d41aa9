"""The collections that are served: opened in the background, proved by their canaries, searched off the event loop."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TypeVar

import faiss
from fastapi import Request

import hubless
from hubless.errors import BundleError, CollectionNotFound, HublessError, StorageError
from hubless_service.batching import Batcher
from hubless_service.problems import RETRY_AFTER, Problem, from_library
from hubless_service.queries import Query
from hubless_service.search import Hits, search
from hubless_service.settings import Settings
from hubless_service.source import Source
from hubless_service.trace import Trace

log = logging.getLogger("hubless.engine")
STATES = ("loading", "ready", "failed")
T = TypeVar("T")


@dataclass(frozen=True)
class Entry:
    """One collection as far as it has come: ready, failed, or neither yet."""

    collection: hubless.Collection | None = None
    failure: Exception | None = None

    @property
    def state(self) -> str:
        """One of `STATES`."""
        if self.failure:
            return "failed"
        return "ready" if self.collection else "loading"

    def details(self) -> dict[str, object]:
        """What /readyz says about the collection."""
        if self.collection:
            return {"status": self.state, "version": self.collection.version, "count": self.collection.count}
        if self.failure:
            problem = as_problem(self.failure)
            return {"status": self.state, "code": problem.code, "detail": problem.detail}
        return {"status": self.state}


class Engine:
    """Holds what is loaded, says what is not, and runs searches in threads of its own."""

    def __init__(self, source: Source, settings: Settings) -> None:
        self._source = source
        self._entries: dict[str, Entry] = {}
        self._failure: Exception | None = None  # of the whole catalog
        self._loading = True
        self._stopping = False
        self._draining = False
        self._timeout = settings.default_timeout_ms / 1000
        # OpenMP counts threads per calling thread: set in the main thread it would not hold in those
        self._prepare = partial(faiss.omp_set_num_threads, settings.openmp_threads)
        self._batcher = Batcher(settings.search_threads, settings.max_waiting, self._prepare)

    def start(self) -> None:
        """Begin to open all collections; returns at once."""
        self._batcher.start()
        # a daemon, as reading a large file cannot be interrupted and must not hold up the end of the process
        threading.Thread(target=self._load, name="load", daemon=True).start()

    def stop(self) -> None:
        """Let the searches that run finish, and open nothing more."""
        self._stopping = True
        self._batcher.stop()

    def drain(self) -> None:
        """Say that no more requests are wanted; those that come are answered all the same."""
        self._draining = True

    @property
    def draining(self) -> bool:
        """Whether the process is about to end."""
        return self._draining

    def on_batch(self, observe: Callable[[int], None]) -> None:
        """Have a function called with the number of queries of each batch, from search threads."""
        self._batcher.observe = observe

    @property
    def waiting(self) -> int:
        """How many queries wait for a search thread."""
        return self._batcher.waiting

    @property
    def loading(self) -> bool:
        """Whether some collection may still become ready."""
        return self._loading

    @property
    def ready(self) -> bool:
        """Whether loading is over and has not failed altogether; what loaded is served beside what failed."""
        states = {entry.state for entry in self._entries.values()}
        return not self._loading and not self._failure and states != {"failed"}

    def verdict(self) -> str:
        """Say in a sentence why the server is not ready though nothing is being loaded."""
        return as_problem(self._failure).detail if self._failure else "No collection can be served."

    def details(self) -> dict[str, dict[str, object]]:
        """Each collection's state, for people who ask why the server is not ready."""
        return {name: entry.details() for name, entry in self._entries.items()}

    def count(self, state: str) -> int:
        """How many collections are in a state."""
        return sum(entry.state == state for entry in self._entries.values())

    def collections(self) -> list[hubless.Collection]:
        """All collections that are ready, by name."""
        self._check_loaded()
        return [entry.collection for entry in self._entries.values() if entry.collection]

    def collection(self, name: str) -> hubless.Collection:
        """Return a collection that is ready.

        Raises
        ------
        Problem
            `not_ready` while it, or the list of all, is being loaded; the reason if it cannot be served.
        CollectionNotFound
            if there is none of that name.
        """
        entry = self._entries.get(name, Entry())
        if entry.collection:
            return entry.collection
        if entry.failure:
            raise as_problem(entry.failure)
        self._check_loaded()
        raise CollectionNotFound(f'There is no collection "{name}".')

    def check_room(self) -> None:
        """Raise `too_many_requests` if too many queries wait already: before anything is done for one more."""
        self._batcher.check_room()

    async def search(self, request: Request, collection: hubless.Collection, queries: Sequence[Query]) -> list[Hits]:
        """Answer queries in a search thread, together with others that wait; of their timeouts the shortest holds."""
        seconds = min(query.timeout_ms for query in queries) / 1000
        return await search(request, self._batcher, collection, queries, seconds)

    async def run(self, trace: Trace, work: Callable[[], T]) -> T:
        """Do work in a search thread; the time until one is free counts as `queue`."""

        def answer(nothing: Sequence[None]) -> list[T]:
            return [work()]

        result: T = await self._batcher.submit(trace, trace.started + self._timeout, answer, None)
        return result

    def _check_loaded(self) -> None:
        if self._loading:
            raise Problem("not_ready", "Collections are being loaded.", headers=RETRY_AFTER)
        if self._failure:
            raise as_problem(self._failure)

    def _load(self) -> None:
        try:
            self._entries = {name: Entry() for name in sorted(self._source.names())}
            for name in self._entries:
                if not self._stopping:
                    self._entries[name] = self._open(name)
        except Exception as error:
            _log_failure("the catalog", error)
            self._failure = error
        self._loading = False

    def _open(self, name: str) -> Entry:
        started = perf_counter()
        try:
            collection = self._source.open(name)
            collection.check_canaries()
        except Exception as error:
            _log_failure(f'collection "{name}"', error)
            return Entry(failure=error)
        log.info(
            'collection "%s" is ready: version %s, %d targets of %d dimensions, in %.1f s',
            name,
            collection.version,
            collection.count,
            collection.dim,
            perf_counter() - started,
        )
        return Entry(collection)


def as_problem(failure: Exception) -> Problem:
    """Tell clients why something cannot be served; of an unforeseen reason only the log does."""
    if isinstance(failure, BundleError | StorageError):
        return from_library(failure)
    return Problem("internal_error", "It could not be opened; the log of the server says why.")


def _log_failure(what: str, error: Exception) -> None:
    # an error that the library foresaw says all in one line; any other needs its traceback
    log.error("%s cannot be served: %s", what, error, exc_info=not isinstance(error, HublessError))
