"""The last queries of one version that this worker answered, and the figures made of them when somebody asks.

Three rankings are described. `served` is whatever was answered. Some queries are searched again at all strengths while
no query waits: `corrected` is what they were answered, `raw` the same without the correction. Compare only the last
two: skewness and antihubs depend on the number of queries.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless import measures
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless.measures.evenness import STRENGTHS, ChosenStrength, most_even
from hubless.vectors.arrays import F32, I64
from hubless_service.observing.followed_strength import FollowedStrength
from hubless_service.observing.live_confidence import LiveConfidence
from hubless_service.processes.shared import shared_folder

log = logging.getLogger("hubless.live")

K = 10
"""Places of each answer that count."""
WINDOW = 2048
"""Answers that are kept."""
RANKINGS = ("served", "corrected", "raw")
FEWEST, MOST = 50, 512
"""Fewest different queries for which a drift is given, and the most that it is measured on."""
_WORST = 10
_TOGETHER = 32  # queries searched at each strength by one call; in between it is looked whether others wait
_RENEWED = 0.05  # share of the queries that must be new before figures that take long are made again
_random = Random()  # noqa: S311  # draws, no secrets; its own, so that no other code seeds it


class LiveQuery(NamedTuple):
    """A query that was answered: its vector (d,), the options of its search, and the rows (k,) that it found."""

    vector: F32
    options: dict[str, Any]
    rows: I64


class QueryDrift(NamedTuple):
    """The distance of live queries from the query bank, and how many queries were compared."""

    drift: float
    queries: int

    @property
    def advice(self) -> str | None:
        """The advice; None if the queries are still like the bank."""
        return measures.drift_advice(self.drift)


class LiveVersion:
    """Figures about the live queries of one version, and the strength that it serves. Safe to use from several threads.

    `compared`: how many queries to keep that were searched again; 0 for none.
    """

    def __init__(self, collection: hubless.Collection, compared: int) -> None:
        self.certainty = LiveConfidence()
        self.following = FollowedStrength(collection, shared_folder())
        self._is_stale = False  # whether it was logged that the queries left the bank
        self._n = collection.count
        self._most = compared if collection.manifest.correction.name != "none" else 0
        self._lock, self._measuring = threading.Lock(), threading.Lock()
        self._recent: deque[LiveQuery] = deque(maxlen=WINDOW)
        self._drawn: list[LiveQuery] = []  # to be searched again
        self._compared: deque[tuple[LiveQuery, I64]] = deque(maxlen=self._most)
        self._chosen_at = self._drift_at = 0  # how many were compared, and seen, when each was made
        self._drift: QueryDrift | None = None
        self._ranked = 0
        self.seen = 0
        self.chosen: ChosenStrength | None = None
        """The strength that the queries speak for; None before any query."""

    def observe(
        self, collection: hubless.Collection, vectors: F32, found: Sequence[tuple[I64, int]], options: dict[str, Any]
    ) -> None:
        """Keep answers."""
        k = min(K, options["limit"])
        blocks = {id(rows): collection.parts.base_rows(rows[:, :k]) for rows, _ in found}
        with self._lock:
            for vector, (rows, line) in zip(vectors, found, strict=True):
                # copies, which do not hold on to the whole batch
                query = LiveQuery(vector.copy(), options, blocks[id(rows)][line].copy())
                self._recent.append(query)
                if not query.rows.size:
                    continue
                if len(self._drawn) < self._most:
                    self._drawn.append(query)
                elif self._most:
                    self._drawn[_random.randrange(self._most)] = query
            self.seen += len(vectors)

    def look(self, collection: hubless.Collection, others_wait: Callable[[], bool], *, follow: bool) -> None:
        """Search drawn queries again, choose the strength, follow it if that is wanted, and measure the drift."""
        self.compare(collection, others_wait)
        if follow:
            self.following.look()
        before, served = self.chosen, self.following.strength
        if self.choose(served) and (chosen := self.chosen):
            same = before and (before.state, before.strength) == (chosen.state, chosen.strength)
            if chosen.state == "enough" and not same:
                told = 'collection "%s": %d different live queries speak for strength %g, served is %g'
                log.info(told, collection.name, chosen.different, chosen.strength, served)
            if follow:
                self.following.hear(chosen)
        self.drift(collection)
        self.certainty.look(collection.name)

    def compare(self, collection: hubless.Collection, others_wait: Callable[[], bool]) -> None:
        """Search drawn queries again at each strength, until none is left or others wait."""
        while alike := self._alike():
            vectors, options = np.stack([query.vector for query in alike]), alike[0].options | {"limit": K}
            answers = np.full((len(alike), len(STRENGTHS), K), -1)
            for place, strength in enumerate(STRENGTHS):
                rows = collection.query(vectors, **(options | {"strength": strength})).rows
                answers[:, place, : rows.shape[1]] = collection.parts.base_rows(rows)
            with self._lock:
                self._compared.extend(zip(alike, answers, strict=True))
                self._ranked += len(alike)
            if others_wait():
                return

    def _alike(self) -> list[LiveQuery]:
        """Take some of the drawn queries that agree on how to search."""
        with self._lock:
            alike = self._drawn[-1:]
            while self._drawn and len(alike) <= _TOGETHER and self._drawn[-1].options == alike[0].options:
                alike.append(self._drawn.pop())
            return alike[1:]

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

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
        """Return the answer to `GET .../hubness`."""
        drift = self.drift(collection)
        return {
            "k": K,
            "window": WINDOW,
            "seen": self.seen,
            **self.rankings(collection),
            "drift": drift and drift._asdict() | {"advice": drift.advice},
        }

    def rankings(self, collection: hubless.Collection) -> dict[str, Any]:
        """Return figures and worst hubs of each of `RANKINGS`; None for a ranking without queries."""
        with self._lock:
            served = [query.rows for query in self._recent]
            compared = [(query, answers) for query, answers in self._compared if query.options["strength"]]
        raw = STRENGTHS.index(0.0)
        found = {
            "served": served,
            "corrected": [query.rows for query, _ in compared],
            "raw": [answers[raw, : len(query.rows)] for query, answers in compared],
        }
        return {
            ranking: self._figures(collection, rows) if rows and self._n else None for ranking, rows in found.items()
        }

    def _figures(self, collection: hubless.Collection, answers: Sequence[I64]) -> dict[str, Any]:
        rows = np.concatenate(answers)
        rows = rows[rows >= 0]  # without targets that were added since
        counts, queries = np.bincount(rows, minlength=self._n), len(answers)
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

    def drift(self, collection: hubless.Collection) -> QueryDrift | None:
        """Compare the last queries with the query bank; None if there are too few, or no sample of the bank.

        Log when they leave the bank, and when they are back.
        """
        bank = collection.parts.bank_sample
        with self._measuring:
            with self._lock:
                recent, seen = list(self._recent)[-MOST:], self.seen
            if bank is None or len(recent) < FEWEST:
                return None
            if not self._drift or seen - self._drift_at >= _RENEWED * len(recent):
                live = np.unique(collection.prepare(np.stack([query.vector for query in recent])), axis=0)
                enough = len(live) >= FEWEST
                self._drift = QueryDrift(measures.energy_drift(live, bank), len(live)) if enough else None
                self._drift_at = seen
            if self._drift and (self._drift.advice is not None) != self._is_stale:
                self._is_stale = not self._is_stale
                if self._is_stale:
                    log.warning(
                        'collection "%s", version %s: %s', collection.name, collection.version, self._drift.advice
                    )
                else:
                    log.info('collection "%s": the queries are like those of the query bank again', collection.name)
            return self._drift
