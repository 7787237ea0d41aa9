"""Searches collections off the event loop, and starts and stops all threads of a server."""

import asyncio
import math
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import perf_counter
from typing import TypeVar

import faiss
import numpy as np

import hubless
from hubless.kernels.threads import one_blas_thread
from hubless.search.engines.external import engine_names
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless_service.http.requests import Query
from hubless_service.http.responses import FoundHits
from hubless_service.http.trace import Trace
from hubless_service.maintaining.maintainer import Maintainer
from hubless_service.observing.later import Later
from hubless_service.observing.live import LiveVersion
from hubless_service.observing.metrics import Metrics
from hubless_service.observing.sampling import ListSampler, QuerySampler, SamplerThread
from hubless_service.observing.traffic import is_traffic
from hubless_service.processes.shared import Shared, alone
from hubless_service.searching.catalog_follower import CatalogFollower
from hubless_service.searching.collection_sources import CatalogSource
from hubless_service.searching.encoding import Encoded, Encoding
from hubless_service.searching.freshness import Freshness
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


class SearchService:
    """The shelf of collections, the thread that fills it, and the threads that encode, search and count."""

    def __init__(self, source: CatalogSource, settings: Settings, shared: Shared | None = None) -> None:
        """Make all parts. No thread begins before `start`."""
        self.shared = shared = shared or alone()
        self.metrics = metrics = Metrics(shared)
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
        self._queue = self._remote = WorkQueue(settings.search_threads, *limits, inline, *counted, settings.workers)
        self.check_room = self._queue.check_room
        if engine_names():  # other threads, as these wait for the network, and in vain if their engine is dead
            self._remote = WorkQueue(_REMOTE_THREADS, *limits, 0.0, *counted)
        self._queues = {self._queue, self._remote}
        self.encoding = Encoding(settings.encoder_threads, settings.max_waiting, metrics.failures.inc)
        self.freshness = Freshness(source, self.shelf, self._timeout, self.run)
        self._follower = CatalogFollower(source, self.shelf, self.freshness, settings, self._prepare_behind)
        self.maintainer = Maintainer(source.path, self.shelf.living, settings, self.freshness.wanted.set)
        self.writer = Writer(
            self.shelf,
            settings.max_waiting,
            settings.max_added,
            self._prepare_behind,
            metrics.failures.inc,
            self.maintainer.written,
            self.freshness.wanted.set,
            merges=settings.merge_at > 0,
        )
        self.sampling = (
            QuerySampler(settings.query_sample, settings.query_sample_days) if settings.query_sample else None
        )
        self.learning = ListSampler(self.scores)
        self._live = OnceAVersion(lambda _: LiveVersion())  # of each worker, its own
        self._has_hubness = settings.hubness
        self._answered = Later(self._tell)
        self.samplers = SamplerThread(
            [each.look for each in (self.learning, self.sampling) if each], self._prepare_behind
        )

    def start(self, on_loaded: Callable[[], None]) -> None:
        """Begin to open all collections, and to watch for new versions; returns at once. In the event loop's thread."""
        self._prepare()  # for what is answered here
        self._threads_set.enter_context(one_blas_thread)
        for queue in self._queues:
            queue.start()
        self.writer.start()
        self.samplers.start()
        self.maintainer.start()
        self._follower.start(on_loaded)

    def stop(self) -> list[threading.Thread]:
        """Begin nothing more. Return the threads that end when they have finished what somebody still needs."""
        self._answered.now()
        self.encoding.stop()
        self._follower.stop()
        self._threads_set.close()
        searching = (thread for queue in self._queues for thread in queue.stop())
        return [*self.writer.stop(), *self.maintainer.stop(), *searching, *self.samplers.stop()]

    def close(self) -> None:
        """Close the logs, once all threads have ended: what stands in their WALs is moved into them."""
        for living in self.shelf.living():
            if living.log is not None:
                living.log.close()

    def waiting(self) -> int:
        """Return the number of queries that wait."""
        return sum(queue.waiting for queue in self._queues)

    async def search(self, trace: Trace, collection: hubless.Collection, queries: Sequence[Query]) -> list[FoundHits]:
        """Answer queries in a search thread, together with others that wait; the shortest of their timeouts holds."""
        seconds = math.inf
        encodes = False
        for query in queries:
            seconds = min(seconds, query.timeout_ms / 1000)
            encodes = encodes or isinstance(query.asked, Encoded)
        deadline = trace.started + seconds
        queue = self._remote if collection.parts.remote else self._queue
        if encodes:
            queue.check_room(perf_counter(), trace.late, seconds)  # before something is encoded in vain
            queries = await self.encoding.encode(trace, collection, queries, deadline)
        found = await search(trace, queue, collection, queries, deadline)
        self._answered.add((trace, collection, queries, found))
        return found

    def live(self, collection: hubless.Collection) -> LiveVersion:
        """Return the live queries of the version, in this worker."""
        self._answered.now()
        return self._live(collection)

    def _tell(self, answers: Sequence[tuple[Trace, hubless.Collection, Sequence[Query], list[FoundHits]]]) -> None:
        """Tell those who count and sample of queries that were answered."""
        of_collections = defaultdict[hubless.Collection, list[tuple[Query, FoundHits]]](list)
        for trace, collection, queries, found in answers:
            asked = of_collections[collection]
            before = len(asked)
            for query, hits in zip(queries, found, strict=True):
                # what is asked like a target is not what people look for
                if isinstance(query.asked, np.ndarray) and is_traffic(trace, query.options, collection.strength):
                    asked.append((query, hits))
            if self.sampling:
                self.sampling.note(trace, collection, [query for query, _ in asked[before:]])
        if self._has_hubness:
            for collection, asked in of_collections.items():
                self._live(collection).observe(collection, asked)

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

    def _prepare(self) -> None:
        """Make a thread of ours ready to search."""
        # OpenMP counts threads per calling thread: set in the main thread it would not hold in others
        faiss.omp_set_num_threads(self._openmp_threads)

    def _prepare_behind(self) -> None:
        """Make a thread of ours ready for work that no query waits for."""
        self._prepare()
        if sys.platform == "linux":
            os.nice(_NICER)  # of the thread alone there
