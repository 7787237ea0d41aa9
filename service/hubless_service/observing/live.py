"""What the queries that are asked say while the server runs: the hubness of the answers, and the drift from the bank.

Three rankings are counted for each version: `served`, whatever was answered; and of a share of the queries, drawn at
random among those that are corrected, both what was answered, `corrected`, and the `raw` ranking. Only the last two are
comparable: skewness and antihubs go by the number of queries.
"""

import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless import measures
from hubless.arrays import F32, F64, I64
from hubless_service.observing.drift import QuerySample
from hubless_service.observing.occurrence import METRICS_FOLDER, DecayedOccurrence, file_of, files_of_others, window
from hubless_service.settings import Settings

log = logging.getLogger("hubless.live")

K = 10
RANKINGS = ("served", "corrected", "raw")
FIGURES = ("queries", "skewness", "top_hub_share", "antihub_share")
_ANTIHUB = np.exp(-1)  # what a single find is worth after a window
_WORST = 10
_QUICK, _KEPT = 0.05, 100  # seconds; and times as long
_MOST_WAITING = 256
_TOGETHER = 64  # raw rankings searched by one call, as a scan of many costs little more than of one
_SECONDS = 0.05  # between two looks at what was answered, and whether there is time to spare
_random = Random()  # noqa: S311  # draws, no secrets; nor those of whoever shares the process
_MOST_TOLD = 10_000  # answers that wait to be counted


class Told(NamedTuple):
    """Queries of a version that have been answered: what `Live.observe` was called with."""

    collection: "weakref.ref[hubless.Collection]"  # of one that is gone nothing needs to be counted
    vectors: F32
    found: Sequence[tuple[I64, int]]
    options: dict[str, Any]


class Sample(NamedTuple):
    """A query that was drawn: what it was asked with, and the rows that it found."""

    vector: F32
    options: dict[str, Any]
    rows: I64


class LiveHubness:
    """What the queries of one version found."""

    def __init__(self, collection: hubless.Collection, settings: Settings, folder: Path | None) -> None:
        self._half_life = settings.hubness_half_life
        self._share = settings.hubness_share
        self._lock = threading.Lock()
        self._describing = threading.Lock()
        self._described: dict[str, Any] = {}
        self._keep_until = 0.0
        self._folder = folder
        self._names = {ranking: f"{collection.name}-{collection.version}-{ranking}" for ranking in RANKINGS}
        paths = {ranking: folder and file_of(folder, name) for ranking, name in self._names.items()}
        self._occurrences = {
            ranking: DecayedOccurrence(collection.count, self._half_life, path) for ranking, path in paths.items()
        }
        self.samples: deque[Sample] = deque(maxlen=_MOST_WAITING)
        weakref.finalize(self, _remove, [path for path in paths.values() if path])

    def observe(self, vectors: F32, found: Sequence[tuple[I64, int]], options: dict[str, Any]) -> None:
        """Count the answers to queries, and draw some to be ranked raw.

        Parameters
        ----------
        vectors : (m, d)
        found : for each query an array of rows, and its line there
        options : with which the collection was asked for all of them
        """
        k = min(K, options["limit"])
        blocks = {id(rows): rows for rows, _ in found}
        with self._lock:
            for rows in blocks.values():
                self._occurrences["served"].add(rows[:, :k])
        if not options["strength"]:
            return
        drawn = [
            i
            for i, (rows, _) in enumerate(found)
            if rows.shape[1] and _random.random() < self._share  # no rows: nothing passes a filter
        ]
        for i in drawn:
            rows, line = found[i]
            # copies, which do not hold on to the whole batch
            self.samples.append(Sample(vectors[i].copy(), options, rows[line, :k].copy()))

    def rank_raw(self, collection: hubless.Collection) -> None:
        """Search the queries that were drawn once more, without the correction, and count both rankings."""
        while self.samples:
            alike = [self.samples.popleft()]
            while self.samples and len(alike) < _TOGETHER and self.samples[0].options == alike[0].options:
                alike.append(self.samples.popleft())
            rows = np.stack([sample.rows for sample in alike])
            options = alike[0].options | {"limit": rows.shape[1], "strength": 0.0}
            raw = collection.query(np.stack([sample.vector for sample in alike]), **options).rows
            with self._lock:
                self._occurrences["corrected"].add(rows)
                self._occurrences["raw"].add(raw)

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
        """`FIGURES` of each ranking and its worst hubs, of all workers together; null for a ranking without queries.

        Of many targets this takes long, so it is kept for a while: at most a hundredth of a processor goes into it.
        """
        with self._describing:
            started = monotonic()
            if started >= self._keep_until:
                self._described = {ranking: self._describe(collection, ranking) for ranking in RANKINGS}
                taken = monotonic() - started
                self._keep_until = started + (_KEPT * taken if taken > _QUICK else 0)
            return self._described

    def _describe(self, collection: hubless.Collection, ranking: str) -> dict[str, Any] | None:
        counts, queries = self._together(ranking)
        if not queries:
            return None
        return {
            "queries": queries,
            "skewness": measures.skewness(counts),
            "top_hub_share": measures.groupie_ratio(counts),
            "antihub_share": measures.antihub_occurrence(np.where(counts < _ANTIHUB, 0, counts)),
            "hubs": _worst(collection, counts),
        }

    def _together(self, ranking: str) -> tuple[F64, float]:
        others = files_of_others(self._folder, self._names[ranking]) if self._folder else []
        return self._occurrences[ranking].together(others)


class _Watched:
    """What is watched of one version, as far as it is switched on."""

    def __init__(self, collection: hubless.Collection, settings: Settings, folder: Path | None) -> None:
        self.hubness = LiveHubness(collection, settings, folder) if settings.hubness else None
        self.queries: QuerySample | None = None
        if settings.drift_sample and collection.bank_sample is not None:
            self.queries = QuerySample(settings.drift_sample, window(settings.hubness_half_life))


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
        folder = os.environ.get(METRICS_FOLDER)
        self._folder = Path(folder) if folder else None
        # a version that nobody holds any more takes its counts with it
        self._by_version: weakref.WeakKeyDictionary[hubless.Collection, _Watched] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._wanted = settings.hubness or settings.drift_sample > 0
        self._told: deque[Told] = deque(maxlen=_MOST_TOLD)
        self._something = threading.Event()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Let the thread begin."""
        threading.Thread(target=self._run, name="live", daemon=True).start()

    def stop(self) -> None:
        """Let the thread end."""
        self._stopping.set()
        self._something.set()

    def observe(
        self,
        collection: hubless.Collection,
        vectors: F32,
        found: Sequence[tuple[I64, int]],
        options: dict[str, Any],
    ) -> None:
        """Take note of answers, to be counted as `LiveHubness.observe` does; to be told costs next to nothing."""
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
            queries = self._of(collection).queries
            if queries and (found := queries.drift(collection)):
                yield collection.name, found.drift

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
        """What `GET .../hubness` says."""
        self._count()
        watched = self._of(collection)
        half_life = self._settings.hubness_half_life
        found = watched.queries.drift(collection) if watched.queries else None
        return {
            "k": K,
            "half_life": half_life,
            "window": window(half_life),
            **(watched.hubness.describe(collection) if watched.hubness else dict.fromkeys(RANKINGS)),
            "drift": found and found._asdict(),
        }

    def _of(self, collection: hubless.Collection) -> _Watched:
        if watched := self._by_version.get(collection):
            return watched
        with self._lock:
            if collection not in self._by_version:
                self._by_version[collection] = _Watched(collection, self._settings, self._folder)
            return self._by_version[collection]

    def _run(self) -> None:
        self._prepare()
        while True:
            self._something.wait()
            self._stopping.wait(_SECONDS)  # for more to come, which is then counted and searched together
            if self._stopping.is_set():
                return
            self._something.clear()
            self._count()
            if self._busy():
                self._something.set()  # what was drawn is ranked another time
            else:
                self._rank()

    def _count(self) -> None:
        """Count what was answered, and draw queries to compare with the bank."""
        with self._counting:
            while self._told:
                told = self._told.popleft()
                if (collection := told.collection()) is None:
                    continue
                watched = self._of(collection)
                try:
                    if watched.queries:
                        watched.queries.observe(told.vectors)
                    if watched.hubness:
                        watched.hubness.observe(told.vectors, told.found, told.options)
                except Exception:
                    log.exception('answers of collection "%s" could not be counted', collection.name)

    def _rank(self) -> None:
        for collection in self._collections():
            try:
                if hubness := self._of(collection).hubness:
                    hubness.rank_raw(collection)
            except Exception:
                log.exception('the raw ranking of collection "%s" failed', collection.name)


def _worst(collection: hubless.Collection, counts: F64) -> list[dict[str, Any]]:
    rows = np.argsort(-counts, kind="stable")[:_WORST] if len(counts) <= _WORST else _highest(counts)
    rows = rows[counts[rows] > 0]
    total = counts.sum()
    return [
        {"id": id_, "occurrence": count, "share": count / total}
        for id_, count in zip(collection.ids(rows), counts[rows].tolist(), strict=True)
    ]


def _highest(counts: F64) -> I64:
    rows = np.argpartition(-counts, _WORST)[:_WORST]
    return rows[np.argsort(-counts[rows], kind="stable")]


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
