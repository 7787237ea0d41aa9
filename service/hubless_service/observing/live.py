"""The live hubness of the answers, and the drift of the queries from the query bank, while the server runs."""

import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless.errors import EngineError
from hubless.measures.evenness import ChosenStrength
from hubless.vectors.arrays import F32, I64
from hubless_service.observing.decayed import window
from hubless_service.observing.drift_sample import DriftSample, QueryDrift
from hubless_service.observing.following import Following
from hubless_service.observing.live_strength import LiveStrength
from hubless_service.observing.version_hubness import FIGURES, RANKINGS, K, VersionHubness
from hubless_service.processes.folder import shared_folder
from hubless_service.settings import Settings

log = logging.getLogger("hubless.live")

_SECONDS = 0.05  # between two looks at what was answered, and whether there is time to spare
_MOST_TOLD = 10_000  # answers that wait to be counted
_MOST_TOGETHER = 256  # that are counted at once
_RESTS = 30  # times as long as it took to rank once more, to choose strengths and to measure the drift


class Told(NamedTuple):
    """Queries of a version that have been answered: what `Live.observe` was called with."""

    collection: "weakref.ref[hubless.Collection]"  # nothing needs to be counted for one that is gone
    vectors: F32
    found: Sequence[tuple[I64, int]]
    options: dict[str, Any]


class _Watched:
    """What is watched of one version, as far as it is switched on."""

    def __init__(self, collection: hubless.Collection, settings: Settings, folder: Path | None) -> None:
        self.hubness = VersionHubness(collection, settings, folder) if settings.hubness else None
        self.following = Following(collection, folder)
        self.strength: LiveStrength | None = None
        if settings.hubness and settings.hubness_share and collection.manifest.correction.name != "none":
            self.strength = LiveStrength(collection, settings, folder)
        self.queries: DriftSample | None = None
        self.is_stale = False
        if settings.drift_sample and collection.bank_sample is not None:
            self.queries = DriftSample(settings.drift_sample, window(settings.hubness_half_life))

    def drift(self, collection: hubless.Collection) -> QueryDrift | None:
        """The drift of the queries, where it is known. Logs when they leave the bank, and when they are back."""
        found = self.queries.drift(collection) if self.queries else None
        stale = found is not None and found.advice is not None
        if found and stale != self.is_stale:
            self.is_stale = stale
            if stale:
                log.warning('collection "%s", version %s: %s', collection.name, collection.version, found.advice)
            else:
                log.info('collection "%s": the queries are like those of the query bank again', collection.name)
        return found


class Live:
    """The live hubness and the drift of all collections, and the thread that counts, and ranks raw in time to spare."""

    def __init__(
        self,
        settings: Settings,
        collections: Callable[[], list[hubless.Collection]],
        prepare: Callable[[], object],
        busy: Callable[[], bool],
    ) -> None:
        """Make the thread, to be started.

        Parameters
        ----------
        collections : says what is served now
        prepare : called once in the thread
        busy : says whether queries wait
        """
        self._settings = settings
        self._collections = collections
        self._prepare = prepare
        self._busy = busy
        self._folder = shared_folder()
        # the counts of a version go when the last request that holds the version ends
        self._by_version: weakref.WeakKeyDictionary[hubless.Collection, _Watched] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._wanted = settings.hubness or settings.drift_sample > 0
        self._told: deque[Told] = deque(maxlen=_MOST_TOLD)
        self._something = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """Let the thread end; the thread, if it runs."""
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
        """Note answers, to be counted later as `VersionHubness.observe` does. Costs next to nothing."""
        if not self._wanted:
            return
        self._told.append(Told(weakref.ref(collection), vectors, found, options))
        if not self._something.is_set():
            self._something.set()

    def hubness(self) -> Iterator[tuple[str, str, dict[str, float]]]:
        """Collection, ranking, and its `FIGURES`, of all that have any."""
        self._count()
        for collection in self._collections():
            hubness = self._of(collection).hubness
            for ranking, described in hubness.describe(collection).items() if hubness else ():
                if described:
                    yield collection.name, ranking, {figure: described[figure] for figure in FIGURES}

    def drift(self) -> Iterator[tuple[str, float]]:
        """Collection, and how far its queries are from its bank, where that is known."""
        self._count()
        for collection in self._collections():
            if found := self._of(collection).drift(collection):
                yield collection.name, found.drift

    def strength(self, collection: hubless.Collection) -> float:
        """The strength of queries that give none."""
        return self._of(collection).following.strength

    def recommended(self, collection: hubless.Collection) -> ChosenStrength | None:
        """The strength that the live queries speak for; None before any query, or if it is off."""
        watched = self._of(collection)
        return watched.strength.chosen if watched.strength else None

    def strengths(self) -> Iterator[tuple[str, float]]:
        """Collection, and the strength of queries that give none."""
        for collection in self._collections():
            yield collection.name, self.strength(collection)

    def recommended_strengths(self) -> Iterator[tuple[str, float]]:
        """Collection, and the strength that its live queries speak for, where there are enough of them."""
        for collection in self._collections():
            chosen = self.recommended(collection)
            if chosen and chosen.state == "enough":
                yield collection.name, chosen.strength

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
        """The answer to `GET .../hubness`."""
        self._count()
        watched = self._of(collection)
        half_life = self._settings.hubness_half_life
        found = watched.drift(collection)
        return {
            "k": K,
            "half_life": half_life,
            "window": window(half_life),
            **(watched.hubness.describe(collection) if watched.hubness else dict.fromkeys(RANKINGS)),
            "drift": found and found._asdict() | {"advice": found.advice},
        }

    def _of(self, collection: hubless.Collection) -> _Watched:
        collection = collection.origin
        if watched := self._by_version.get(collection):
            return watched
        with self._lock:
            if collection not in self._by_version:
                self._by_version[collection] = _Watched(collection, self._settings, self._folder)
            return self._by_version[collection]

    def _run(self) -> None:
        self._prepare()
        rests_until = 0.0
        while True:
            self._something.wait()
            self._stopping.wait(_SECONDS)  # for more to come, which is then counted and searched together
            if self._stopping.is_set():
                return
            self._something.clear()
            came = bool(self._told)
            self._count()
            started = monotonic()
            if self._busy() or (came and started < rests_until):  # processors are for queries, as long as any come
                self._something.set()  # what was drawn is ranked another time
            else:
                self._rank()
                self._look_at_drift()
                ended = monotonic()
                rests_until = ended + _RESTS * (ended - started)

    def _count(self) -> None:
        """Count what was answered, and draw queries to compare with the bank."""
        with self._counting:
            for told in self._together():
                if (collection := told.collection()) is None:
                    continue
                try:
                    watched = self._of(collection)
                    if watched.queries:
                        watched.queries.observe(told.vectors)
                    if watched.hubness:
                        watched.hubness.observe(told.vectors, _of_origin(collection, told.found), told.options)
                    if watched.strength:
                        watched.strength.observe(told.vectors, told.options)
                except Exception:
                    log.exception('answers of collection "%s" could not be counted', collection.name)

    def _together(self) -> Iterator[Told]:
        """What was told, that of several requests as one where they agree: to count many costs little more than one."""
        alike: list[Told] = []
        while self._told:
            told = self._told.popleft()
            if alike and (len(alike) >= _MOST_TOGETHER or not _agree(alike[0], told)):
                yield _joined(alike)
                alike = []
            alike.append(told)
        if alike:
            yield _joined(alike)

    def _look_at_drift(self) -> None:
        """Measure the drift where much is new, so that the log says it though nobody reads the metrics."""
        for collection in self._collections():
            try:
                watched = self._of(collection)
                if watched.queries and watched.queries.is_due:
                    watched.drift(collection)
            except Exception:
                log.exception('the drift of collection "%s" could not be measured', collection.name)

    def _rank(self) -> None:
        for collection in self._collections():
            try:
                watched = self._of(collection)
                if watched.hubness:
                    watched.hubness.rank_raw(collection)
                if watched.strength and watched.strength.rank(collection):
                    self._something.set()  # others are left, but first it is looked whether queries wait
                self._choose(collection, watched)
            except EngineError as error:
                log.warning('collection "%s": queries were not ranked raw: %s', collection.name, error)
            except Exception:
                log.exception('the raw ranking of collection "%s" failed', collection.name)

    def _choose(self, collection: hubless.Collection, watched: _Watched) -> None:
        """Choose the strength anew if there are new answers, and follow it if that is wanted."""
        strength, following = watched.strength, watched.following
        if strength is None:
            return
        if self._settings.follow_strength:
            following.look()
        before = strength.chosen
        if not strength.choose(collection, following.strength) or not (chosen := strength.chosen):
            return
        same = before and (before.state, before.strength) == (chosen.state, chosen.strength)
        if chosen.state == "enough" and not same:
            told = 'collection "%s": %d different live queries speak for strength %g, served is %g'
            log.info(told, collection.name, chosen.different, chosen.strength, following.strength)
        if self._settings.follow_strength:
            following.hear(chosen)


def _agree(one: Told, other: Told) -> bool:
    """Whether two can be counted as one."""
    same = one.collection is other.collection and one.options == other.options
    return same and one.found[0][0].shape[1] == other.found[0][0].shape[1]


def _joined(alike: Sequence[Told]) -> Told:
    if len(alike) == 1:
        return alike[0]
    found = [each for told in alike for each in told.found]
    return alike[0]._replace(vectors=np.concatenate([told.vectors for told in alike]), found=found)


def _of_origin(collection: hubless.Collection, found: Sequence[tuple[I64, int]]) -> Sequence[tuple[I64, int]]:
    """The same answers in rows of the version as it was built."""
    if collection is collection.origin:
        return found
    blocks = {id(rows): collection.origin_rows(rows) for rows, _ in found}
    return [(blocks[id(rows)], line) for rows, line in found]
