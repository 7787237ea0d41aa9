"""Live hubness, drift and recommended strength of all versions that are served, and the thread that searches again."""

import logging
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Any

import hubless
from hubless.errors import EngineError
from hubless.measures.evenness import ChosenStrength
from hubless.vectors.arrays import F32, I64
from hubless_service.observing.followed_strength import FollowedStrength
from hubless_service.observing.live_version import RANKINGS, WINDOW, K, LiveVersion, QueryDrift
from hubless_service.processes.shared import shared_folder
from hubless_service.settings import Settings

log = logging.getLogger("hubless.live")

FIGURES = {
    "queries": "Queries that the live hubness is made of",
    "skewness": "Skewness of how often each target is found",
    "top_hub_share": "Share of the places in the answers that the target found most often takes",
    "antihub_share": "Share of the targets that are never found",
}
_SECONDS = 0.05  # from an answer to the look whether there is time to spare
_RESTS = 30  # times as long as it took to search again, to choose strengths and to measure the drift


class _Watched:
    """A version, the strength that it serves, and whether its queries left the bank."""

    def __init__(self, collection: hubless.Collection, settings: Settings) -> None:
        self.queries = LiveVersion(collection, settings.hubness_share) if settings.hubness else None
        self.following = FollowedStrength(collection, shared_folder())
        self._is_stale = False

    def drift(self, collection: hubless.Collection) -> QueryDrift | None:
        """Return the drift of the queries, where it is known. Log when they leave the bank, and when they are back."""
        found = self.queries.drift(collection) if self.queries else None
        stale = found is not None and found.advice is not None
        if found and stale != self._is_stale:
            self._is_stale = stale
            if stale:
                log.warning('collection "%s", version %s: %s', collection.name, collection.version, found.advice)
            else:
                log.info('collection "%s": the queries are like those of the query bank again', collection.name)
        return found


class LiveHubness:
    """The live queries of all collections. Each worker has its own.

    Parameters
    ----------
    collections : says what is served now
    prepare : called once in the thread
    busy : says whether queries wait
    """

    def __init__(
        self,
        settings: Settings,
        collections: Callable[[], list[hubless.Collection]],
        prepare: Callable[[], object],
        busy: Callable[[], bool],
    ) -> None:
        self._settings = settings
        self._collections = collections
        self._prepare = prepare
        self._busy = busy
        # the queries of a version go when the last request that holds the version ends
        self._by_version: weakref.WeakKeyDictionary[hubless.Collection, _Watched] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._something = threading.Event()
        self._came = False  # answers since the last look
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """Let the thread end. Return it, if it runs."""
        self._stopping.set()
        self._something.set()
        return [self._thread] if self._thread.ident else []

    def observe(
        self,
        collection: hubless.Collection,
        vectors: F32,
        found: Sequence[tuple[I64, int]],
        options: dict[str, Any],
    ) -> None:
        """Keep answers, as `LiveVersion.observe` does."""
        if queries := self._of(collection).queries:
            self._came = True
            due = queries.observe(collection, vectors, found, options) or queries.drift_is_due
            if due and not self._something.is_set():
                self._something.set()

    def figures(self, figure: str) -> Iterator[tuple[tuple[str, str], float]]:
        """Yield collection and ranking, and one of `FIGURES`, of all that have any."""
        for collection in self._collections():
            for ranking, described in self._rankings(collection).items():
                if described:
                    yield (collection.name, ranking), described[figure]

    def drift(self) -> Iterator[tuple[str, float]]:
        """Yield each collection, and how far its queries are from its bank, where that is known."""
        for collection in self._collections():
            if found := self._of(collection).drift(collection):
                yield collection.name, found.drift

    def strength(self, collection: hubless.Collection) -> float:
        """Return the strength of queries that give none."""
        return self._of(collection).following.strength

    def recommended(self, collection: hubless.Collection) -> ChosenStrength | None:
        """Return the strength that the live queries speak for; None before any query, or if it is off."""
        queries = self._of(collection).queries
        return queries.chosen if queries else None

    def strengths(self) -> Iterator[tuple[str, float]]:
        """Yield each collection, and the strength of queries that give none."""
        for collection in self._collections():
            yield collection.name, self.strength(collection)

    def recommended_strengths(self) -> Iterator[tuple[str, float]]:
        """Yield each collection, and the strength that its live queries speak for, where there are enough of them."""
        for collection in self._collections():
            chosen = self.recommended(collection)
            if chosen and chosen.state == "enough":
                yield collection.name, chosen.strength

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
        """Return the answer to `GET .../hubness`."""
        watched = self._of(collection)
        found = watched.drift(collection)
        return {
            "k": K,
            "window": WINDOW,
            "seen": watched.queries.seen if watched.queries else 0,
            **self._rankings(collection),
            "drift": found and found._asdict() | {"advice": found.advice},
        }

    def _rankings(self, collection: hubless.Collection) -> dict[str, Any]:
        queries = self._of(collection).queries
        return queries.describe(collection) if queries else dict.fromkeys(RANKINGS)

    def _of(self, collection: hubless.Collection) -> _Watched:
        collection = collection.origin
        if watched := self._by_version.get(collection):
            return watched
        with self._lock:
            if collection not in self._by_version:
                self._by_version[collection] = _Watched(collection, self._settings)
            return self._by_version[collection]

    def _run(self) -> None:
        self._prepare()
        rests_until = 0.0
        while True:
            self._something.wait()
            self._stopping.wait(_SECONDS)  # for more to come, which is then searched together
            if self._stopping.is_set():
                return
            came, self._came, started = self._came, False, monotonic()
            if self._busy() or (came and started < rests_until):  # processors are for queries, as long as any come
                continue
            self._something.clear()
            self._look_at_all()
            ended = monotonic()
            rests_until = ended + _RESTS * (ended - started)

    def _look_at_all(self) -> None:
        # a function of its own: its variables must not hold a version while the thread waits
        for collection in self._collections():
            try:
                if self._look(collection, self._of(collection)):
                    self._something.set()  # others are left, but first it is looked whether queries wait
            except EngineError as error:
                log.warning('collection "%s": queries were not ranked raw: %s', collection.name, error)
            except Exception:
                log.exception('the live queries of collection "%s" could not be compared', collection.name)

    def _look(self, collection: hubless.Collection, watched: _Watched) -> bool:
        """Search drawn queries again, choose the strength, and measure the drift. Return whether work is left."""
        if not (queries := watched.queries):
            return False
        left = queries.compare(collection)
        self._choose(collection, queries, watched.following)
        if queries.drift_is_due:
            watched.drift(collection)
        return left

    def _choose(self, collection: hubless.Collection, queries: LiveVersion, following: FollowedStrength) -> None:
        """Choose the strength again if there are new answers, and follow it if that is wanted."""
        if self._settings.follow_strength:
            following.look()
        before = queries.chosen
        if not queries.choose(following.strength) or not (chosen := queries.chosen):
            return
        same = before and (before.state, before.strength) == (chosen.state, chosen.strength)
        if chosen.state == "enough" and not same:
            told = 'collection "%s": %d different live queries speak for strength %g, served is %g'
            log.info(told, collection.name, chosen.different, chosen.strength, following.strength)
        if self._settings.follow_strength:
            following.hear(chosen)
