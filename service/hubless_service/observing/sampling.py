"""A sample of the queries that people ask in files, for the next query bank. Off unless a folder is set."""

import logging
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from fastapi import Request

import hubless
from hubless.errors import StorageError
from hubless.store.query_sample import SampleSummary, SampleWriter, summary_of
from hubless.vectors.arrays import F32
from hubless.vectors.comparing import comparison
from hubless_service.access.attempts import client_address
from hubless_service.access.authentication import ACCESS
from hubless_service.access.keys import Access
from hubless_service.http.requests import Query

_log = logging.getLogger("hubless.sample")

_FLUSH_SECONDS = 15.0
_OLD_SECONDS = 3600.0  # between two looks for files that are too old
_MOST_NOTED = 10_000  # queries that wait for the thread; of more the oldest are not looked at


class QuerySampler:
    """The queries that wait to be sampled, and what became of those before."""

    def __init__(self, folder: Path, days: float) -> None:
        self._folder = folder
        self._days = days
        self._writer = SampleWriter(folder)
        self._answered: deque[tuple[str, str, F32, str | bytes]] = deque(maxlen=_MOST_NOTED)
        self.summaries: dict[str, SampleSummary | None] = {}
        self.failures: dict[str, StorageError | None] = {}
        self._flushed = self._looked = 0.0

    def note(self, request: Request, collection: hubless.Collection, queries: Sequence[Query]) -> None:
        """Note queries of a request that has been answered."""
        client = client_of(request)
        metric = collection.manifest.metric
        basis = collection.parts.basis
        for query in queries:
            if isinstance(query.asked, np.ndarray):
                plain = comparison(metric).plain(query.asked)
                vector = plain[0].copy() if basis is None else basis.restored(plain)[0]
                self._answered.append((collection.name, metric, vector, client))

    def summary(self, collection: str) -> SampleSummary | None:
        """Return what is kept of a collection; None if nothing."""
        if collection not in self.summaries:
            self.summaries[collection] = summary_of(self._folder / collection)
        return self.summaries[collection]

    def look(self, now: float, *, last: bool = False) -> None:
        """Take in the queries that were noted, write them if that is due, and remove old files. Fails never."""
        try:
            while self._answered:
                name, metric, vector, client = self._answered.popleft()
                self._writer.record(name, metric, vector, client, now)
            if last or now - self._flushed >= _FLUSH_SECONDS:
                self._flushed = now
                self._flush()
            if now - self._looked >= _OLD_SECONDS:
                self._looked = now
                self._writer.forget_old(now, self._days)
                self.summaries.clear()
        except StorageError as error:
            _log.warning("old queries cannot be removed: %s", error)
        except Exception:
            _log.exception("queries could not be sampled")

    def _flush(self) -> None:
        for name, failure in self._writer.flush().items():
            before = self.failures.get(name)
            if failure and (before is None or before.problem != failure.problem):
                _log.warning('queries of collection "%s" cannot be kept: %s', name, failure)
            if before and not failure:
                _log.info('queries of collection "%s" are kept again', name)
            self.failures[name] = failure
            self.summaries[name] = summary_of(self._folder / name)


def client_of(request: Request) -> str | bytes:
    """Return the name of the key of a request, or the key's digest; without keys the address."""
    access: Access | None = request.scope.get(ACCESS)
    if access is not None:
        return access.name or access.digest
    return client_address((request.scope.get("client") or [""])[0]).encode()
