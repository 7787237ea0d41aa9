"""Searches collections off the event loop, and starts and stops all threads of a server."""

import asyncio
import math
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from time import perf_counter
from typing import TypeVar

import faiss
import numpy as np
from fastapi import Request

import hubless
from hubless.errors import HublessError, InputError
from hubless.kernels.threads import one_blas_thread
from hubless.search.engines.external import engine_names
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless_service.access.keys import EVERYTHING
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import Query
from hubless_service.http.responses import FoundHits
from hubless_service.http.trace import SCOPE_KEY, Trace
from hubless_service.maintaining.maintainer import Maintainer
from hubless_service.observing.live import LiveVersion
from hubless_service.observing.metrics import Metrics
from hubless_service.observing.sampling import ListSampler, QuerySampler, SamplerThread
from hubless_service.observing.traffic import is_traffic
from hubless_service.searching.catalog_follower import CatalogFollower
from hubless_service.searching.collection_sources import CatalogSource
from hubless_service.searching.encoding import Encoded, Encoding
from hubless_service.searching.log_follower import catch_up
from hubless_service.searching.once import OnceAVersion
from hubless_service.searching.search import search
from hubless_service.searching.shelf import Shelf
from hubless_service.searching.work_queue import HOP, SHORT, WorkQueue
from hubless_service.searching.writer import Writer
from hubless_service.settings import Settings

_T = TypeVar("_T")
_NICER = 5
_REMOTE_THREADS = 16
"""Searches in engines outside that wait for them at the same time."""
_LOOKS, _LOOK_SECONDS = 200, 0.005
"""Seconds that a request waits for a collection that another worker may just have created."""


class SearchService:
    """The shelf of collections, the thread that fills it, and the threads that encode, search and count."""

    def __init__(self, source: CatalogSource, settings: Settings, metrics: Metrics | None = None) -> None:
        """Make all parts. No thread begins before `start`."""
        self.metrics = metrics = metrics or Metrics()
        self.shelf = Shelf()
        self.draining = False
        self.catalog = source
        self.scores = KeptCorrections(settings.folder)
        self.fitting = asyncio.Lock()  # of corrections of scores, one at a time
        self._timeout = settings.default_timeout_ms / 1000
        self._openmp_threads = settings.openmp_threads
        self._threads_set = ExitStack()
        counted = metrics.failures.inc, metrics.batches.observe
        limits = settings.max_waiting, settings.max_together, self._prepare
        # what takes a millisecond is left to threads only if no other worker has a processor for it
        inline = HOP if settings.workers <= 1 else SHORT
        self._queue = self._remote = WorkQueue(settings.search_threads, *limits, inline, *counted)
        self.check_room = self._queue.check_room
        if engine_names():  # other threads, as these wait for the network, and in vain if their engine is dead
            self._remote = WorkQueue(_REMOTE_THREADS, *limits, 0.0, *counted)
        self.encoding = Encoding(settings.encoder_threads, settings.max_waiting, metrics.failures.inc)
        self._follower = CatalogFollower(source, self.shelf, settings, self._prepare_behind)
        self.maintainer = Maintainer(source.path, self.shelf.living, settings, self._follower.wake)
        self.writer = Writer(
            self.shelf,
            settings.max_waiting,
            settings.max_added,
            self._prepare_behind,
            metrics.failures.inc,
            self.maintainer.written,
            self._follower.wake,
            merges=settings.merge_at > 0,
        )
        self.sampling = (
            QuerySampler(settings.query_sample, settings.query_sample_days) if settings.query_sample else None
        )
        self.learning = ListSampler(self.scores)
        self.live = OnceAVersion(lambda _: LiveVersion())  # of each worker, its own
        self._has_hubness = settings.hubness
        self.samplers = SamplerThread(
            [each.look for each in (self.learning, self.sampling) if each], self._prepare_behind
        )

    def start(self, on_loaded: Callable[[], None] = lambda: None) -> None:
        """Begin to open all collections, and to watch for new versions; returns at once. In the event loop's thread."""
        faiss.omp_set_num_threads(self._openmp_threads)  # for what is answered here
        self._threads_set.enter_context(one_blas_thread)
        for queue in self._queues:
            queue.start()
        self.writer.start()
        self.samplers.start()
        self.maintainer.start()
        self._follower.start(on_loaded)

    def stop(self) -> list[threading.Thread]:
        """Begin nothing more. Return the threads that end when they have finished what somebody still needs."""
        self.encoding.stop()
        self._follower.stop()
        self._threads_set.close()
        written = [*self.writer.stop(), *self.maintainer.stop()]
        searching = [thread for queue in self._queues for thread in queue.stop()]
        return [*searching, *written, *self.samplers.stop()]

    def close(self) -> None:
        """Close the logs, once all threads have ended: what stands in their WALs is moved into them."""
        for living in self.shelf.living():
            if living.log is not None:
                living.log.close()

    @property
    def waiting(self) -> int:
        """The number of queries that wait."""
        return sum(queue.waiting for queue in self._queues)

    async def appears(self, name: str) -> bool:
        """Return True if a collection is there that this worker did not serve. Waits a little until it does."""
        if self.shelf.loading:
            return False
        if name not in self.shelf.slots:
            if not await asyncio.to_thread(self._follower.has, name):
                return False
            self._follower.wake()
        for _ in range(_LOOKS):
            if name in self.shelf.slots and self.shelf.known(name).state != "loading":
                return True
            await asyncio.sleep(_LOOK_SECONDS)
        return name in self.shelf.slots

    async def up_to_date(self, trace: Trace, name: str | None = None) -> None:
        """Wait until this worker serves all changes of the catalog that any client was told of.

        `name` is the collection or alias that is asked for, None for all. Costs 3 µs where there is nothing to wait
        for. Raises the problem `not_ready` when the time of the request is over.
        """
        if self.shelf.loading or not self._follower.owes(name):
            return
        self._follower.wake()
        deadline = trace.started + self._timeout
        while self._follower.owes(name):
            if perf_counter() > deadline:
                raise HttpProblem("not_ready", "A change is being opened that was answered.")
            await asyncio.sleep(_LOOK_SECONDS)

    async def serves_current(self, trace: Trace, name: str) -> bool:
        """Wait until the current version of a collection is served or refused here, as long as the request may take."""
        if await self._has_tried_current(name):
            return True
        self._follower.wake()
        while perf_counter() < trace.started + self._timeout:
            await asyncio.sleep(_LOOK_SECONDS)
            if await self._has_tried_current(name):
                return True
        return False

    async def _has_tried_current(self, name: str) -> bool:
        with suppress(HublessError):  # what is served is described all the same
            return self.shelf.known(name).tried == await asyncio.to_thread(self.catalog.current, name)
        return True

    async def answers_change(self, name: str | None = None) -> None:
        """Have each request to any worker see the catalog as it is from now on: before a change is answered.

        `name` is a collection whose current version is answered; requests wait until their worker serves it.
        """
        await asyncio.to_thread(self.catalog.answer, name)

    async def search(
        self, request: Request, collection: hubless.Collection, queries: Sequence[Query]
    ) -> list[FoundHits]:
        """Answer queries in a search thread, together with others that wait; the shortest of their timeouts holds."""
        trace: Trace = request.scope[SCOPE_KEY]
        seconds = math.inf
        encodes = False
        for query in queries:
            seconds = min(seconds, query.timeout_ms / 1000)
            encodes = encodes or isinstance(query.asked, Encoded)
        deadline = trace.started + seconds
        queue = self._remote if collection.parts.remote else self._queue
        encoded = queries
        if encodes:
            queue.check_room(perf_counter(), trace.late, seconds)  # before something is encoded in vain
            encoded = await self.encoding.encode(trace, collection, queries, deadline)
        found = await search(trace, queue, collection, encoded, deadline)
        answered = [
            (query, hits)
            for query, hits in zip(encoded, found, strict=True)
            # what is asked like a target is not what people look for
            if isinstance(query.asked, np.ndarray) and is_traffic(request, query.options, collection.strength)
        ]
        if self._has_hubness:
            self.live(collection).observe(collection, answered)
        if self.sampling:
            self.sampling.note(request, collection, [query for query, _ in answered])
        return found

    async def reach(self, trace: Trace, collection: hubless.Collection, seq: int | None) -> hubless.Collection:
        """Return the collection with a write in it, which another worker may have written.

        Raises `InputError` if there is no such write yet.
        """
        if not seq or collection.seq >= seq:
            return collection
        name = collection.name
        if living := self.shelf.known(name).living:
            await self.run(trace, living.catch_up)
        found = self.shelf.collection(name, EVERYTHING)
        if found.seq < seq:
            raise InputError("min_seq", f"at most {found.seq}, the last write to the collection", str(seq))
        return found

    async def latest(self, trace: Trace, collection: hubless.Collection) -> hubless.Collection:
        """Return the collection with all writes of its log that can be followed, whichever worker wrote them.

        Raises `not_ready` if a version that has them is not open in time.
        """
        name = collection.name
        if living := self.shelf.known(name).living:
            replaced = await self.run(trace, lambda: catch_up(living, wait=True))
            if replaced and not await self.serves_current(trace, name):
                raise HttpProblem("not_ready", "A version is being opened that has the writes.")
        return self.shelf.collection(name, EVERYTHING)

    async def run(
        self, trace: Trace, work: Callable[[], _T], collection: hubless.Collection | None = None, share: float = 1.0
    ) -> _T:
        """Do work in a search thread, one for the collection, in a share of the time that the request may take.

        The time until a thread is free counts as `queue`.
        """
        queue = self._remote if collection and collection.parts.remote else self._queue
        deadline = trace.started + share * self._timeout
        result: _T = await queue.submit(trace, deadline, lambda _: [work()], None)
        return result

    @property
    def _queues(self) -> set[WorkQueue]:
        return {self._queue, self._remote}

    def _prepare(self) -> None:
        """Make a thread of ours ready to search."""
        # OpenMP counts threads per calling thread: set in the main thread it would not hold in others
        faiss.omp_set_num_threads(self._openmp_threads)

    def _prepare_behind(self) -> None:
        """Make a thread of ours ready for work that no query waits for."""
        self._prepare()
        if sys.platform == "linux":
            usual = os.getpriority(os.PRIO_PROCESS, os.getpid())
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), usual + _NICER)
