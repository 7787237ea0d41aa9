"""Live hubness, drift and the recommended strength of what is served."""

import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic, time
from typing import Any, NamedTuple, cast

import numpy as np

import hubless
from hubless import measures
from hubless.builder.pipeline.survey import K_OCCURRENCE
from hubless.errors import EngineError
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless.measures.evenness import STRENGTHS, ChosenStrength, most_even
from hubless.vectors.arrays import F32, I64
from hubless.vectors.comparing import comparison
from hubless_service.http.answers import DriftFigures
from hubless_service.http.requests import Query
from hubless_service.observing.certainty import LiveConfidence
from hubless_service.observing.learning import ListSampler
from hubless_service.observing.sampling import QuerySampler
from hubless_service.settings import Settings

_log = logging.getLogger("hubless.live")

WINDOW = 2048
"""Answers that are kept."""
RANKINGS = ("served", "corrected", "raw")
"""What was answered; and a share of the queries anew at their strength, and at strength 0."""
FEWEST, MOST = 50, 512
"""Fewest different queries for which a drift is given, and the most that it is measured on."""
_WORST = 10
_SEARCHED_AGAIN = ("limit", "parameters", "filter")  # options that searching once more takes over
_CHOSEN = frozenset({"group_by", "diversity"})  # options by which hits do not follow the ranking
_TOGETHER = 32  # queries searched at each strength by one call; in between it is looked whether others wait
_RENEWED = 0.05  # share of the queries that must be new before figures that take long are made again


class Answered(NamedTuple):
    """A query by vector, the results that it is among, and its line there."""

    query: Query
    results: hubless.Results
    line: int


class LiveQuery(NamedTuple):
    """A query that was answered: its vector (d,), the options of its search, and the rows (k,) that it found."""

    vector: F32
    options: dict[str, Any]
    rows: I64


class LiveVersion:
    """Figures about the live queries of one version, of which so many are searched again. Safe in several threads."""

    def __init__(self, collection: hubless.Collection, compared: int) -> None:
        self.certainty = LiveConfidence()
        self._is_stale = False  # whether it was logged that the queries left the bank
        self._n = collection.count
        self._most = compared if collection.manifest.correction.name != "none" else 0
        self._lock, self._measuring = threading.Lock(), threading.Lock()
        self._recent: deque[LiveQuery] = deque(maxlen=WINDOW)
        self._drawn: deque[LiveQuery] = deque(maxlen=self._most)  # to be searched again
        self._compared: deque[tuple[LiveQuery, I64]] = deque(maxlen=self._most)
        self._chosen_at = self._drift_at = 0  # how many were compared, and seen, when each was made
        self._drift: DriftFigures | None = None
        self._ranked = self._looked_at = 0  # how many were seen when the last look began
        self.seen = 0
        self.chosen: ChosenStrength | None = None
        """The strength that the queries speak for; None before any query."""

    def observe(self, collection: hubless.Collection, answered: Sequence[Answered]) -> None:
        """Keep answers; those whose hits were chosen, and do not follow the ranking, are left out."""
        queries = list[LiveQuery]()
        sure = list[tuple[float, bool]]()
        known = dict[int, tuple[dict[str, Any], I64]]()  # of results: how to search again, and their rows
        for query, results, line in answered:
            options = query.options
            if not _CHOSEN.isdisjoint(options):
                continue
            if id(results) not in known:
                again = {"prepared": True, "strength": results.strength}
                again |= {name: options[name] for name in _SEARCHED_AGAIN if name in options}
                rows = results.ranked.rows[:, : min(K_OCCURRENCE, options["limit"])]
                known[id(results)] = again, _rows_of_origin(collection, rows)
            again, found = known[id(results)]
            # copies, which do not hold on to the whole batch
            queries.append(LiveQuery(cast(F32, query.asked)[0].copy(), again, found[line].copy()))
            if results.certainty is not None:
                sure.append((results.certainty[line][0], results.kept is None or bool(results.kept[line])))
        with self._lock:
            self._recent.extend(queries)
            self._drawn.extend(query for query in queries if query.rows.size)
            self.seen += len(queries)
        self.certainty.observe(sure)

    @property
    def is_due(self) -> bool:
        """Return True if there are queries that no look has seen."""
        return self.seen != self._looked_at or bool(self._drawn)

    def look(self, collection: hubless.Collection, others_wait: Callable[[], bool]) -> None:
        """Search drawn queries again, choose the strength, and measure the drift."""
        seen = self.seen
        self.compare(collection, others_wait)
        before = self.chosen
        served = collection.strength
        if self.choose(served) and (chosen := self.chosen):
            same = before and (before.state, before.strength) == (chosen.state, chosen.strength)
            if chosen.state == "enough" and not same:
                told = 'collection "%s": %d different live queries speak for strength %g, served is %g'
                _log.info(told, collection.name, chosen.different, chosen.strength, served)
        self.drift(collection)
        self.certainty.look(collection.name)
        self._looked_at = seen

    def compare(self, collection: hubless.Collection, others_wait: Callable[[], bool]) -> None:
        """Search drawn queries again at each strength, until none is left or others wait."""
        while alike := self._alike():
            vectors = np.stack([query.vector for query in alike])
            options = alike[0].options | {"limit": K_OCCURRENCE}
            answers = np.full((len(alike), len(STRENGTHS), K_OCCURRENCE), -1)
            for place, strength in enumerate(STRENGTHS):
                rows = collection.query(vectors, **(options | {"strength": strength})).rows
                answers[:, place, : rows.shape[1]] = _rows_of_origin(collection, rows)
            with self._lock:
                self._compared.extend(zip(alike, answers, strict=True))
                self._ranked += len(alike)
            if others_wait():
                return

    def _alike(self) -> list[LiveQuery]:
        """Take some of the drawn queries that agree on how to search."""
        with self._lock:
            alike = [self._drawn.pop()] if self._drawn else []
            while self._drawn and len(alike) < _TOGETHER and self._drawn[-1].options == alike[0].options:
                alike.append(self._drawn.pop())
            return alike

    def choose(self, current: float) -> bool:
        """Choose the strength again if enough queries are new. Return whether that was done."""
        with self._lock:
            unchanged = self.chosen is not None and self.chosen.current == current
            new = self._ranked - self._chosen_at
            if not new or (unchanged and new < _RENEWED * len(self._compared)):
                return False
            self._chosen_at = self._ranked
            answers = np.stack([answers for _, answers in self._compared], axis=1)
        self.chosen = most_even(answers, self._n, current=current)
        return True

    @property
    def recommended(self) -> float | None:
        """The strength that enough queries speak for."""
        return self.chosen.strength if self.chosen and self.chosen.state == "enough" else None

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
        """Return the answer to `GET .../hubness`."""
        rankings = self.rankings(collection)
        drift = self.drift(collection)
        return {"k": K_OCCURRENCE, "window": WINDOW, "seen": self.seen, **rankings, "drift": drift}

    def rankings(self, collection: hubless.Collection) -> dict[str, Any]:
        """Return figures and worst hubs of each of `RANKINGS`; None for a ranking without queries."""
        with self._lock:
            served = [query.rows for query in self._recent]
            compared = list(self._compared)
        raw = STRENGTHS.index(0.0)
        found = (
            served,
            [query.rows for query, _ in compared],
            [answers[raw, : len(query.rows)] for query, answers in compared],
        )
        return {
            ranking: self._figures(collection, rows) if rows and self._n else None
            for ranking, rows in zip(RANKINGS, found, strict=True)
        }

    def _figures(self, collection: hubless.Collection, answers: Sequence[I64]) -> dict[str, Any]:
        """Return the figures of answers, rows (k,) each, and the worst hubs; −1 is a target that was written since."""
        rows = np.concatenate(answers)
        rows = rows[rows >= 0]  # without targets that were added since
        counts = np.bincount(rows, minlength=self._n)
        queries = len(answers)
        k = len(rows) / queries
        found, occurrence = np.unique(rows, return_counts=True)
        worst = np.argsort(-occurrence, kind="stable")[:_WORST]
        return {
            "queries": queries,
            "skewness": measures.skewness(counts) if len(rows) else 0.0,
            "top_hub_share": measures.groupie_ratio(counts) if len(rows) else 0.0,
            "antihub_share": measures.antihub_occurrence(counts),
            "chance": {
                "skewness": skewness_by_chance(queries, self._n, k) if len(rows) else 0.0,
                "antihub_share": antihubs_by_chance(queries, self._n, k),
            },
            "hubs": [
                {"id": id_, "occurrence": count, "share": count / len(rows)}
                for id_, count in zip(collection.origin.ids(found[worst]), occurrence[worst].tolist(), strict=True)
            ],
        }

    def drift(self, collection: hubless.Collection) -> DriftFigures | None:
        """Compare the last queries with the query bank, and log changes; None if there are too few, or no bank."""
        bank = collection.parts.bank_sample
        with self._measuring:
            with self._lock:
                recent, seen = list(self._recent)[-MOST:], self.seen
            if bank is None or len(recent) < FEWEST:
                return None
            if not self._drift or seen - self._drift_at >= _RENEWED * len(recent):
                plain = comparison(collection.manifest.metric).plain
                live = np.unique(plain(np.stack([query.vector for query in recent])), axis=0)
                self._drift = None
                self._drift_at = seen
                if len(live) >= FEWEST:
                    drift = measures.energy_drift(live, plain(bank))
                    self._drift = {"drift": drift, "queries": len(live), "advice": measures.drift_advice(drift)}
            if self._drift and (self._drift["advice"] is not None) != self._is_stale:
                self._is_stale = not self._is_stale
                if advice := self._drift["advice"]:
                    _log.warning('collection "%s", version %s: %s', collection.name, collection.version, advice)
                else:
                    _log.info('collection "%s": the queries are like those of the query bank again', collection.name)
            return self._drift


_SECONDS = 0.25  # between two looks at what was asked
_MOST_NOTED = 512  # answers to batches that wait for the thread, or for somebody who asks for figures
_RESTS = 100  # times as long as a look has taken: processors are for queries


class LiveHubness:
    """The live queries of all collections. Each worker has its own."""

    def __init__(
        self,
        settings: Settings,
        collections: Callable[[], list[hubless.Collection]],
        samplers: Sequence[QuerySampler | ListSampler],
        prepare: Callable[[], object],
        busy: Callable[[], bool],
    ) -> None:
        """`prepare` is called in the thread that looks, and `busy` says whether queries wait, which go first."""
        self._settings = settings
        self._collections = collections
        self._samplers = samplers
        self._prepare = prepare
        self._busy = busy
        # the queries of a version go when the last request that holds the version ends
        self._by_version: weakref.WeakKeyDictionary[hubless.Collection, LiveVersion] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self._noted: deque[tuple[hubless.Collection, Sequence[Answered]]] = deque()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="observe", daemon=True)

    def start(self) -> None:
        """Let the thread begin."""
        self._thread.start()

    def stop(self) -> list[threading.Thread]:
        """Let the thread end. Return it, if it runs."""
        self._stopping.set()
        return [self._thread] if self._thread.ident else []

    def observe(self, collection: hubless.Collection, answered: Sequence[Answered]) -> None:
        """Note answers for `LiveVersion.observe`, at next to no cost for the thread that answers."""
        if self._settings.hubness:
            self._noted.append((collection, answered))
            if len(self._noted) > _MOST_NOTED:
                self._take_in()

    def of(self, collection: hubless.Collection) -> LiveVersion:
        """Return what is known of the queries of a version, however many writes it has."""
        self._take_in()
        with self._lock:
            return self._version(collection)

    def _take_in(self) -> None:
        with self._lock:
            while self._noted:
                collection, answered = self._noted.popleft()
                self._version(collection).observe(collection, answered)

    def _version(self, collection: hubless.Collection) -> LiveVersion:
        collection = collection.origin
        if collection not in self._by_version:
            self._by_version[collection] = LiveVersion(collection, self._settings.hubness_compared)
        return self._by_version[collection]

    def _run(self) -> None:
        self._prepare()
        rests_until = 0.0
        stopping = False
        while not stopping:
            stopping = self._stopping.wait(_SECONDS)
            for sampler in self._samplers:
                sampler.look(time(), last=stopping)
            self._take_in()
            started = monotonic()
            if self._settings.hubness and started >= rests_until and not (stopping or self._busy()):
                self._look_at_all()
                rests_until = monotonic() + _RESTS * (monotonic() - started)

    def _look_at_all(self) -> None:
        # a function of its own: its variables must not hold a version while the thread waits
        with self._lock:
            due = {origin: version for origin, version in self._by_version.items() if version.is_due}
        for collection in self._collections() if due else []:
            if (version := due.get(collection.origin)) is None:
                continue
            try:
                version.look(collection, self._others_wait)
            except EngineError as error:
                _log.warning('collection "%s": queries were not ranked raw: %s', collection.name, error)
            except Exception:
                _log.exception('the live queries of collection "%s" could not be compared', collection.name)

    def _others_wait(self) -> bool:
        return self._stopping.is_set() or bool(self._noted) or self._busy()


def _rows_of_origin(collection: hubless.Collection, rows: I64) -> I64:
    """Return the rows in the version as it was opened; −1 for targets that were written since."""
    return collection.parts.targets.same_rows(rows, collection.origin.parts.targets)
