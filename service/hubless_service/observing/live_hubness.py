"""Live hubness, drift and recommended strength of all that is served, and the thread that looks at queries."""

import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from time import monotonic, time
from typing import Any

import hubless
from hubless.errors import EngineError
from hubless.vectors.arrays import F32, I64
from hubless_service.observing.live_version import LiveVersion
from hubless_service.observing.sampling import QuerySampler
from hubless_service.settings import Settings

log = logging.getLogger("hubless.live")

_SECONDS = 0.25  # between two looks at what was asked
_RESTS = 30  # times as long as a look has taken: processors are for queries


class LiveHubness:
    """The live queries of all collections. Each worker has its own."""

    def __init__(
        self,
        settings: Settings,
        collections: Callable[[], list[hubless.Collection]],
        sampler: QuerySampler | None,
        prepare: Callable[[], object],
        busy: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._collections = collections
        self._sampler = sampler
        self._prepare = prepare
        self._busy = busy
        # the queries of a version go when the last request that holds the version ends
        self._by_version: weakref.WeakKeyDictionary[hubless.Collection, LiveVersion] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._came = False  # queries since the last look
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observe", daemon=True)

    def start(self) -> None:
        """Let the thread begin, if it has anything to do."""
        if self._settings.hubness or self._sampler:
            self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """Let the thread end. Return it, if it runs."""
        self._stopping.set()
        return [self._thread] if self._thread.ident else []

    def observe(
        self,
        collection: hubless.Collection,
        vectors: F32,
        found: Sequence[tuple[I64, int]],
        options: dict[str, Any],
        sure: Sequence[tuple[float, bool]],
    ) -> None:
        """Keep answers, as `LiveVersion.observe` and `LiveConfidence.observe` do."""
        if self._settings.hubness:
            live = self.of(collection)
            live.observe(collection, vectors, found, options)
            live.certainty.observe(sure)
            self._came = True

    def of(self, collection: hubless.Collection) -> LiveVersion:
        """Return what is known of the queries of a version, however many writes it has."""
        collection = collection.origin
        if live := self._by_version.get(collection):
            return live
        with self._lock:
            return self._by_version.setdefault(collection, LiveVersion(collection, self._settings.hubness_compared))

    def _run(self) -> None:
        self._prepare()
        rests_until, stopping = 0.0, False
        while not stopping:
            stopping = self._stopping.wait(_SECONDS)
            if self._sampler:
                self._sampler.look(time(), last=stopping)
            started = monotonic()
            if self._settings.hubness and started >= rests_until and not (stopping or self._busy()):
                self._came = False
                self._look_at_all()
                rests_until = monotonic() + _RESTS * (monotonic() - started)

    def _look_at_all(self) -> None:
        # a function of its own: its variables must not hold a version while the thread waits
        for collection in self._collections():
            try:
                self.of(collection).look(collection, self._others_wait, follow=self._settings.follow_strength)
            except EngineError as error:
                log.warning('collection "%s": queries were not ranked raw: %s', collection.name, error)
            except Exception:
                log.exception('the live queries of collection "%s" could not be compared', collection.name)

    def _others_wait(self) -> bool:
        return self._stopping.is_set() or self._came or self._busy()
