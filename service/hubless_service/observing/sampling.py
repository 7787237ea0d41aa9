"""Keeps a sample of the queries that people ask in files, for the next query bank. Off unless a folder is set.

A request only notes its queries. A thread draws from them, and adds what was drawn to the files, which all workers
share. Whatever the disk does, no query fails.
"""

import logging
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import time
from typing import NamedTuple

import numpy as np
from fastapi import Request

import hubless
from hubless.errors import StorageError
from hubless.store.query_sample import DRAWS, LONGEST_TEXT, Limits, LiveQueries, SampleWriter, Summary
from hubless.vectors.arrays import F32
from hubless_service.access.attempts import address_of
from hubless_service.access.authentication import ACCESS
from hubless_service.access.keys import Access
from hubless_service.http.queries import Query, Stored
from hubless_service.settings import Settings

NO_SAMPLE = "x-no-sample"
"""The header of a request whose queries are not to be kept."""

log = logging.getLogger("hubless.sample")

_SECONDS = 0.5  # between two looks at what was asked
_FLUSH_SECONDS = 15.0  # from a query that was drawn until it is in the file
_COUNT_SECONDS = 600.0  # until counts are, if nothing else is new
_OLD_SECONDS = 3600.0  # between two looks for files that are too old
_MOST_NOTED = 10_000  # queries that wait for the thread; of more the oldest are not looked at
_MOST_FRESH = 1000  # queries that are drawn before they are written


class Noted(NamedTuple):
    """A query that was answered: its vector (1, d), its text if it had one, and who asked it."""

    collection: str
    metric: str
    vector: F32
    text: str | None
    client: str | bytes


@dataclass
class _Drawn:
    """A query with a low draw, and how often it was asked since the last flush."""

    noted: Noted
    asked: int
    count: int = 1


@dataclass
class _Period:
    """What a worker knows of a collection in the period that runs.

    Attributes
    ----------
    start : of the period
    fresh : queries to be added, by draw
    again : how often those of the file were asked since, by draw
    known : draws of the file
    below : only queries with a lower draw get into the file
    of_client : the same for clients that fill their share
    """

    start: int
    metric: str
    dim: int
    below: int
    fresh: dict[int, _Drawn] = field(default_factory=dict)
    again: dict[int, int] = field(default_factory=dict)
    known: frozenset[int] = frozenset()
    of_client: dict[str, int] = field(default_factory=dict)
    seen: int = 0
    flushed: float = 0.0

    def is_due(self, now: float, failing: bool) -> bool:
        """Whether there is something to write, for long enough; it fails if the last try did."""
        wait = _FLUSH_SECONDS if self.fresh else _COUNT_SECONDS
        full = len(self.fresh) >= _MOST_FRESH and not failing
        return full or (self.seen > 0 and now - self.flushed >= wait)


class Sampling:
    """The thread that samples.

    Raises
    ------
    StorageError
        if the folder cannot be made or written.
    """

    def __init__(self, folder: Path, settings: Settings) -> None:
        self._limits = Limits(
            settings.query_sample_size,
            settings.query_sample_share,
            settings.query_sample_client_share,
            settings.query_sample_days,
        )
        self._texts = settings.query_sample_texts
        self._writer = SampleWriter(folder, self._limits)
        self._writer.open()
        self._noted: deque[Noted] = deque(maxlen=_MOST_NOTED)
        self._periods: dict[str, _Period] = {}
        self._summaries: dict[str, Summary | None] = {}
        self._failing: dict[str, str] = {}
        self._looked = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sample", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """Let the thread write what it has, and end; the thread, if it runs."""
        self._stopping.set()
        return [self._thread] if self._thread.ident else []

    def note(
        self, request: Request, collection: hubless.Collection, asked: Sequence[Query], vectors: Sequence[Query]
    ) -> None:
        """Note the queries of a request that has been answered. Costs a copy of each.

        Queries like a target and later pages do not count: people did not ask them.

        Parameters
        ----------
        asked : as they came
        vectors : the same with vectors in the place of texts
        """
        if NO_SAMPLE in request.headers:
            return
        client, metric = _client_of(request), collection.manifest.metric
        for query, encoded in zip(asked, vectors, strict=True):
            if isinstance(encoded.asked, np.ndarray) and not query.skip and not isinstance(query.asked, Stored):
                text = query.asked if self._texts and isinstance(query.asked, str) else None
                self._noted.append(Noted(collection.name, metric, encoded.asked.copy(), text, client))

    def summary(self, collection: str) -> Summary | None:
        """What is kept of a collection; None if nothing."""
        if collection not in self._summaries:
            self._summaries[collection] = self._writer.summary(collection)
        return self._summaries[collection]

    def sizes(self) -> Iterator[tuple[str, float]]:
        """Collection, and the queries that are kept of it."""
        for name, summary in list(self._summaries.items()):
            if summary:
                yield name, float(summary.queries)

    def failures(self) -> Iterator[tuple[str, float]]:
        """Collection, and 1 while its queries cannot be written, or 0."""
        for name in list(self._periods):
            yield name, float(name in self._failing)

    def _run(self) -> None:
        stopping = False
        while not stopping:
            stopping = self._stopping.wait(_SECONDS)
            try:
                self.work(time(), last=stopping)
            except Exception:
                log.exception("queries could not be sampled")
                self._periods.clear()

    def work(self, now: float, *, last: bool = False) -> None:
        """Draw from what was noted, write what is due or, at last, everything, and remove old files."""
        while self._noted:
            self._draw(self._noted.popleft(), now)
        for name, period in list(self._periods.items()):
            if last or period.is_due(now, name in self._failing):
                self._flush(name, period, now)
        if now - self._looked >= _OLD_SECONDS:
            self._looked = now
            self._forget_old(now)

    def _draw(self, noted: Noted, now: float) -> None:
        name, start, dim = noted.collection, self._start(now), noted.vector.shape[1]
        period = self._periods.get(name)
        if period and (period.start, period.metric, period.dim) != (start, noted.metric, dim):
            self._flush(name, period, now)
            period = None
        if period is None:
            below = round(self._limits.share * DRAWS)
            period = self._periods[name] = _Period(start, noted.metric, dim, below, flushed=now)
        period.seen += 1
        draw = self._writer.draw_of(noted.vector)
        if draw >= period.below:
            return
        if draw in period.known:
            period.again[draw] = period.again.get(draw, 0) + 1
        elif drawn := period.fresh.get(draw):
            drawn.count += 1
        else:
            client = noted.client if isinstance(noted.client, str) else self._writer.label_of(noted.client)
            if draw < period.of_client.get(client, DRAWS):
                period.fresh[draw] = _Drawn(noted._replace(client=client), int(now))
                if len(period.fresh) > 2 * _MOST_FRESH:  # they cannot be written
                    del period.fresh[max(period.fresh)]

    def _flush(self, name: str, period: _Period, now: float) -> None:
        period.flushed = now
        if not period.seen:
            return
        fresh, within = _queries(period), min(now, period.start + self._limits.seconds - 1)
        try:
            kept = self._writer.add(name, period.metric, fresh, period.seen, within, period.again)
        except StorageError as error:
            if self._failing.get(name) != error.problem:
                log.warning('queries of collection "%s" cannot be kept: %s', name, error)
            self._failing[name] = error.problem
            return
        if self._failing.pop(name, None):
            log.info('queries of collection "%s" are kept again', name)
        period.fresh, period.again, period.seen = {}, {}, 0
        self._learn(period, kept)
        self._summaries[name] = self._writer.summary(name)

    def _learn(self, period: _Period, kept: LiveQueries) -> None:
        """Note what the file takes from now on."""
        draws = kept.draws.tolist()
        period.known = frozenset(draws)
        period.below = round(self._limits.share * DRAWS)
        if len(draws) >= self._limits.size:
            period.below = min(period.below, draws[-1])
        highest, counts = dict[str, int](), dict[str, int]()
        for draw, client in zip(draws, kept.clients, strict=True):
            highest[client] = draw
            counts[client] = counts.get(client, 0) + 1
        most = self._limits.of_a_client
        period.of_client = {client: highest[client] for client, count in counts.items() if count >= most}

    def _forget_old(self, now: float) -> None:
        try:
            self._writer.forget_old(now)
        except StorageError as error:
            log.warning("old queries cannot be removed: %s", error)
        for name in list(self._summaries):
            self._summaries[name] = self._writer.summary(name)

    def _start(self, now: float) -> int:
        return int(now - now % self._limits.seconds)


def sampling_of(settings: Settings) -> Sampling | None:
    """The sampling that is set; None if it is off. Raises `StorageError` if the folder cannot be used."""
    return Sampling(settings.query_sample, settings) if settings.query_sample else None


def _client_of(request: Request) -> str | bytes:
    """The name of the key of a request, or the key's digest; without keys the address."""
    access: Access | None = request.scope.get(ACCESS)
    if access is not None:
        return access.name or access.digest
    return address_of((request.scope.get("client") or [""])[0]).encode()


def _queries(period: _Period) -> LiveQueries:
    drawn: Mapping[int, _Drawn] = period.fresh
    each = list(drawn.values())
    texts = [one.noted.text for one in each]
    return LiveQueries(
        np.concatenate([one.noted.vector for one in each]) if each else np.empty((0, period.dim), np.float32),
        np.array(list(drawn), np.uint64),
        np.array([one.count for one in each], np.int64),
        np.array([one.asked for one in each], np.int64),
        tuple(str(one.noted.client) for one in each),
        tuple(text if text and len(text) <= LONGEST_TEXT else None for text in texts),
    )
