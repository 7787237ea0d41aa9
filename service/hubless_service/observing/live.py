"""Live queries: how often they find each target, how far they are from the bank, and the strength they speak for."""

import asyncio
import logging
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import accumulate, groupby
from time import monotonic
from typing import NamedTuple, TypeAlias, cast

import numpy as np

import hubless
from hubless import measures
from hubless.builder.pipeline.survey import K_OCCURRENCE
from hubless.errors import HublessError
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless.measures.evenness import STRENGTHS, most_even
from hubless.vectors.arrays import F32, I64
from hubless_service.http.answers import DriftFigures, LiveFigures
from hubless_service.http.problems import HttpProblem
from hubless_service.http.requests import Query
from hubless_service.http.responses import FoundHits
from hubless_service.http.values import Json
from hubless_service.observing.certainty import LiveConfidence

_log = logging.getLogger("hubless.live")

WINDOW = 2048
"""Answers that are kept."""
FEWEST, MOST = 50, 512
"""Fewest different queries for which a drift is given, and the most that it, and each strength, is measured on."""
_WORST = 10
_SEARCHED_AGAIN = ("parameters", "filter")  # options that searching once more takes over
_CHOSEN = frozenset({"group_by", "diversity"})  # options by which hits do not follow the ranking
_TOGETHER = 32  # queries searched at one strength by one call: in between, queries that wait have their turn
_RENEWED = 0.05  # share of the queries that must be new before figures are made again
_RESTS = 100  # times as long as that took: processors are for queries

Run: TypeAlias = Callable[[Callable[[], I64]], Awaitable[I64]]
"""Does some work after what waits already. Raises a problem if there is no room or time for more."""


class LiveQuery(NamedTuple):
    """A query that was answered: its vector (d,), how to search again, and the rows (k,) that it found."""

    vector: F32
    options: Json
    rows: I64


class LiveVersion:
    """The live queries of one version. Safe in several threads. Figures are made when somebody asks for them."""

    def __init__(self) -> None:
        self.certainty = LiveConfidence()
        self.speaks_for: LiveFigures | None = None
        """The strength that the queries spoke for when they were compared last."""
        self._seen = self._drift_at = self._compared_at = 0  # queries, in all and when figures were made
        self._lock = threading.Lock()
        self._recent: deque[LiveQuery] = deque(maxlen=WINDOW)
        self._drift: DriftFigures | None = None
        self._comparing = asyncio.Lock()
        self._compared = list[tuple[LiveQuery, I64]]()  # with the rows (s, k) that each finds at the strengths
        self._rests_until = 0.0

    def observe(self, collection: hubless.Collection, answered: Sequence[tuple[Query, FoundHits]]) -> None:
        """Keep answers; those whose hits were chosen, and do not follow the ranking, are left out."""
        kept = [(query, hits) for query, hits in answered if _CHOSEN.isdisjoint(query.options)]
        if not kept:
            return
        found = [results.rows[line, : min(K_OCCURRENCE, query.options["limit"])] for query, (results, line, *_) in kept]
        rows = _rows_of_origin(collection, np.concatenate(found))
        ends = list(accumulate(map(len, found), initial=0))
        with self._lock:
            for (query, (results, line, *_)), start, end in zip(kept, ends, ends[1:], strict=False):
                options = query.options
                again = {name: options[name] for name in _SEARCHED_AGAIN if name in options}
                # a copy, which does not hold on to a whole batch
                self._recent.append(LiveQuery(cast(F32, query.asked)[0].copy(), again, rows[start:end]))
                if results.certainty is not None:
                    self.certainty.observe(results.certainty[line][0], results.kept is None or bool(results.kept[line]))
            self._seen += len(kept)

    def _last(self, most: int) -> list[LiveQuery]:
        with self._lock:
            return list(self._recent)[-most:]

    def _are_new(self, made_at: int, queries: int) -> bool:
        return self._seen - made_at > _RENEWED * queries

    async def compare(self, collection: hubless.Collection, run: Run) -> None:
        """Search the last queries again at each strength, and choose one, once a twentieth of them is new.

        That takes 1 % of the time at most. What `run` has no room or time for does not count.
        """
        async with self._comparing:
            started = monotonic()
            recent = [query for query in reversed(self._last(MOST)) if query.rows.size]
            rests = started < self._rests_until or collection.manifest.correction.name == "none"
            if rests or not self._are_new(self._compared_at, len(recent)):
                return
            self._compared_at = self._seen
            compared = list[tuple[LiveQuery, I64]]()
            try:
                for _, group in groupby(enumerate(recent), lambda each: (each[0] // _TOGETHER, each[1].options)):
                    alike = [query for _, query in group]
                    found = [await run(partial(_ranked, collection, alike, strength)) for strength in STRENGTHS]
                    compared += zip(alike, np.stack(found, axis=1), strict=True)
            except (HttpProblem, HublessError) as problem:
                _log.info(
                    'collection "%s": of %d live queries %d were searched again: %s',
                    collection.name,
                    len(recent),
                    len(compared),
                    problem,
                )
            if compared:
                answers = np.stack([rows for _, rows in compared], axis=1)
                chosen = await asyncio.to_thread(most_even, answers, collection.origin.count, collection.strength)
                self.speaks_for = {
                    "recommended_strength": chosen.strength,
                    "queries": chosen.different,
                    "state": chosen.state,
                }
            self._compared = compared
            self._rests_until = monotonic() + _RESTS * (monotonic() - started)

    def describe(self, collection: hubless.Collection) -> Json:
        """Return the answer to `GET .../hubness`."""
        compared = self._compared
        raw = STRENGTHS.index(0.0)
        return {
            "k": K_OCCURRENCE,
            "window": WINDOW,
            "seen": self._seen,
            "served": self.served(collection),
            "corrected": _figures(collection, [query.rows for query, _ in compared]),
            "raw": _figures(collection, [rows[raw, : len(query.rows)] for query, rows in compared]),
            "live": self.speaks_for,
            "drift": self.drift(collection),
        }

    def served(self, collection: hubless.Collection) -> Json | None:
        """Return figures and worst hubs of the answers; None if they found nothing."""
        return _figures(collection, [query.rows for query in self._last(WINDOW)])

    def drift(self, collection: hubless.Collection) -> DriftFigures | None:
        """Compare the last queries with the query bank; None if there are too few, or no bank."""
        recent = self._last(MOST)
        bank = collection.parts.bank_sample
        if bank is not None and self._are_new(self._drift_at, len(recent)):
            self._drift_at = self._seen
            plain = collection.parts.space.plain
            live = np.unique(plain(np.stack([query.vector for query in recent])), axis=0)
            found: DriftFigures | None = None
            if len(live) >= FEWEST:
                drift = measures.energy_drift(live, plain(bank))
                found = {"drift": drift, "queries": len(live), "advice": measures.drift_advice(drift)}
            self._drift = found
        return self._drift


def _ranked(collection: hubless.Collection, alike: Sequence[LiveQuery], strength: float) -> I64:
    """Return the first rows (m, k) of queries that agree on how to search; −1 where fewer are found."""
    vectors = np.stack([query.vector for query in alike])
    rows = collection.query(vectors, K_OCCURRENCE, strength, prepared=True, **alike[0].options).rows
    answers = np.full((len(alike), K_OCCURRENCE), -1)
    answers[:, : rows.shape[1]] = _rows_of_origin(collection, rows)
    return answers


def _rows_of_origin(collection: hubless.Collection, rows: I64) -> I64:
    """Return copies of the rows in the version as it was opened; −1 for targets that were written since."""
    return collection.parts.targets.same_rows(rows, collection.origin.parts.targets)


def _figures(collection: hubless.Collection, answers: Sequence[I64]) -> Json | None:
    """Return the figures of answers, rows (k,) each, without targets that were written since; None if none are left."""
    rows = [row for answer in answers for row in answer.tolist() if row >= 0]
    if not rows:
        return None
    targets, queries, places = collection.origin.count, len(answers), len(rows)
    counts = np.bincount(rows, minlength=targets)
    found, occurrence = zip(*Counter(rows).most_common(_WORST), strict=True)
    return {
        "queries": queries,
        "skewness": measures.skewness(counts),
        "top_hub_share": occurrence[0] / places,
        "antihub_share": measures.antihub_occurrence(counts),
        "chance": {
            "skewness": skewness_by_chance(queries, targets, places / queries),
            "antihub_share": antihubs_by_chance(queries, targets, places / queries),
        },
        "hubs": [
            {"id": id_, "occurrence": count, "share": count / places}
            for id_, count in zip(collection.origin.ids(np.array(found)), occurrence, strict=True)
        ],
    }
