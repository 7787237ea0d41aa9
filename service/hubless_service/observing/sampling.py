"""Samples of what people ask, on their way to files: queries for the next bank, if a folder is set; lists of scores."""

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from time import time
from typing import Any, Generic, TypeVar, cast

from hubless import Collection
from hubless.errors import StorageError
from hubless.search.kept_scores.kept_corrections import KeptCorrections
from hubless.search.kept_scores.learned_lists import AskedList
from hubless.store.kept_clicks import Click, ClickWriter
from hubless.store.query_sample import SampledQuery, SampleSummary, SampleWriter, summary_of
from hubless.vectors.arrays import F32
from hubless_service.access.attempts import client_address
from hubless_service.access.authentication import ACCESS
from hubless_service.access.keys import Access
from hubless_service.http.connection import PEER
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import Query
from hubless_service.http.trace import Trace

_log = logging.getLogger("hubless.sample")

_SECONDS, _WRITE_SECONDS = 0.25, 15.0  # between two looks, and between two writes
_OLD_SECONDS = 3600.0  # between two looks for files that are too old
MOST_BYTES = 16 * 2**20
"""Of what waits to be written in a worker; of more the oldest are lost."""
_MOST_TELLING = 16
"""Requests with clicks that wait in a worker: each may hold megabytes of vectors."""
_BESIDE = 300
"""Bytes that a query takes in memory beside its numbers."""
_T = TypeVar("_T")
_NAME = itemgetter(0)


class Waiting(Generic[_T]):
    """Queries or lists that are not written yet, 16 MB at most. Safe to use from several threads."""

    def __init__(self) -> None:
        self._noted: deque[tuple[_T, int]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._written = 0.0

    def note(self, asked: _T, weight: int) -> None:
        """Keep what takes so many bytes, at next to no cost."""
        with self._lock:
            self._noted.append((asked, weight))
            self._bytes += weight
            while self._bytes > MOST_BYTES:
                self._bytes -= self._noted.popleft()[1]

    def due(self, now: float, *, last: bool) -> list[_T]:
        """Return all that waits, and forget it; nothing before 15 s have passed, unless it is the last call."""
        if now - self._written < _WRITE_SECONDS and not last:
            return []
        self._written = now
        with self._lock:
            noted, self._noted, self._bytes = self._noted, deque(), 0
        return [asked for asked, _ in noted]


class QuerySampler:
    """The queries that wait to be sampled, and what became of those before."""

    def __init__(self, folder: Path, days: float) -> None:
        self._folder = folder
        self._days = days
        self._writer = SampleWriter(folder)
        self._clicks = ClickWriter(folder)
        self._turn, self._telling = asyncio.Lock(), 0
        self._waiting = Waiting[SampledQuery]()
        self.summaries: dict[str, SampleSummary | None] = {}
        self.failures: dict[str, StorageError | None] = {}
        self._looked = 0.0

    def note(self, trace: Trace, collection: Collection, queries: Sequence[Query]) -> None:
        """Note queries by vector of a request that has been answered."""
        client = client_of(trace)
        metric = collection.manifest.metric
        for query in queries:
            vector = compared_query(collection, cast(F32, query.asked))
            self._waiting.note(SampledQuery(collection.name, metric, vector, client), vector.nbytes + _BESIDE)

    async def keep_clicks(self, trace: Trace, collection: Collection, clicks: Sequence[Click]) -> None:
        """Write clicks, whose queries are prepared (1, d), those of one request after the other.

        Raises `StorageError`, and the problem `too_many_requests` if too many others wait.
        """
        if self._telling >= _MOST_TELLING:
            raise HttpProblem("too_many_requests", f"{self._telling} requests with clicks wait already.")
        manifest, key = collection.manifest, client_of(trace)

        def write() -> None:
            compared = [each._replace(query=compared_query(collection, each.query)) for each in clicks]
            self._clicks.add(collection.name, manifest.metric, manifest.id_type, compared, key, time())

        self._telling += 1
        try:
            async with self._turn:
                await asyncio.to_thread(write)
        finally:
            self._telling -= 1

    def summary(self, collection: str) -> SampleSummary | None:
        """Return what is kept of a collection; None if nothing."""
        if collection not in self.summaries:
            self.summaries[collection] = summary_of(self._folder / collection)
        return self.summaries[collection]

    def look(self, now: float, *, last: bool = False) -> None:
        """Write the queries that were noted, if that is due, and remove old files. Fails never."""
        try:
            if noted := self._waiting.due(now, last=last):
                self._write(noted, now)
            if now - self._looked >= _OLD_SECONDS:
                self._looked = now
                self._writer.forget_old(now, self._days)
                self.summaries.clear()
        except StorageError as error:
            _log.warning("old queries cannot be removed: %s", error)
        except Exception:
            _log.exception("queries could not be sampled")

    def _write(self, noted: Sequence[SampledQuery], now: float) -> None:
        for name, failure in self._writer.add(noted, now).items():
            before = self.failures.get(name)
            if failure and (before is None or before.problem != failure.problem):
                _log.warning('queries of collection "%s" cannot be kept: %s', name, failure)
            if before and not failure:
                _log.info('queries of collection "%s" are kept again', name)
            self.failures[name] = failure
            self.summaries[name] = summary_of(self._folder / name)


class ListSampler:
    """The lists that wait to be written. It is told what was answered, at next to no cost."""

    def __init__(self, scores: KeptCorrections) -> None:
        self._scores = scores
        self._waiting = Waiting[tuple[str, AskedList]]()

    def note(self, trace: Trace, name: str, ids: Sequence[Any], scores: Sequence[float]) -> None:
        """Note a list that was corrected, if the correction learns."""
        if heard := self._scores.heard(name, ids, scores, client_of(trace)):
            self._waiting.note((name, heard), heard.weight)

    def look(self, now: float, *, last: bool = False) -> None:
        """Write the lists if that is due. Fails never."""
        for name, some in groupby(sorted(self._waiting.due(now, last=last), key=_NAME), _NAME):
            try:
                self._scores.add(name, [each for _, each in some], now)
            except StorageError as error:
                _log.warning('lists of scores "%s" cannot be kept: %s', name, error)
            except Exception:
                _log.exception('lists of scores "%s" cannot be kept', name)


class SamplerThread(threading.Thread):
    """Has samplers write what is due, again and again, and all that is left when it is to stop."""

    def __init__(self, looks: Sequence[Callable[..., None]], prepare: Callable[[], object]) -> None:
        """`looks` are the samplers' methods; `prepare` is called in the thread first."""
        # a daemon, as a disk that hangs must not hold up the end of the process
        super().__init__(name="observe", daemon=True)
        self._looks = looks
        self._prepare = prepare
        self._stopping = threading.Event()

    def run(self) -> None:
        """Look until stopped."""
        self._prepare()
        stopping = False
        while not stopping:
            stopping = self._stopping.wait(_SECONDS)
            for look in self._looks:
                look(time(), last=stopping)

    def stop(self) -> list[threading.Thread]:
        """Let the thread end. Return it, started or not."""
        self._stopping.set()
        return [self]


def compared_query(collection: Collection, asked: F32) -> F32:
    """Return a query (d,) as it is compared, of one that was prepared (1, d)."""
    vector: F32 = collection.parts.space.restored(asked)[0].copy()
    return vector


def client_of(trace: Trace) -> str | bytes:
    """Return the name of the key of a request, or the key's digest; without keys the address.

    An address that a proxy says counts only if the proxy is named: who is on this machine could say any.
    """
    scope = trace.scope
    access: Access | None = scope.get(ACCESS)
    if access is not None:
        return access.name or access.digest
    return client_address((scope.get(PEER) or scope.get("client") or [""])[0]).encode()
