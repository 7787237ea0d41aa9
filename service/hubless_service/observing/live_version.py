"""The last queries of one version that this worker answered, and the figures made of them when somebody asks.

Three rankings are described. `served` is whatever was answered. A share of the queries, drawn at random, is searched
again at all strengths while no query waits: `corrected` is what they were answered, `raw` the same without the
correction. Compare only the last two: skewness and antihubs depend on the number of queries.
"""

import threading
from collections import deque
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless import measures
from hubless.measures.chance import antihubs_by_chance, skewness_by_chance
from hubless.measures.evenness import STRENGTHS, ChosenStrength, most_even
from hubless.vectors.arrays import F32, I64

K = 10
"""Places of each answer that count."""
WINDOW = 2048
"""Answers that are kept."""
COMPARED = 512
"""Queries searched at all strengths that are kept; also the most that drift is measured on."""
RANKINGS = ("served", "corrected", "raw")
FEWEST = 50
"""Fewest different queries for which a drift is given."""
_WORST = 10
_TOGETHER = 32  # queries searched at each strength by one call; in between it is looked whether others wait
_RENEWED = 0.05  # share of the queries that must be new before figures that take long are made again
_DUE = 0.5  # share that must be new before the drift is measured though nobody asks
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
    """Figures about the live queries of one version. Safe to use from several threads.

    Parameters
    ----------
    share : of the queries that are searched again; 0 for none. The first `COMPARED` are drawn all
    """

    def __init__(self, collection: hubless.Collection, share: float) -> None:
        self._n = collection.count
        self._share = share if collection.manifest.correction.name != "none" else 0.0
        self._lock = threading.Lock()
        self._recent: deque[LiveQuery] = deque(maxlen=WINDOW)
        self._drawn: deque[LiveQuery] = deque(maxlen=COMPARED)
        self._compared: deque[tuple[LiveQuery, I64]] = deque(maxlen=COMPARED)
        self._since = {"strength": 0, "drift": 0}  # queries that are new since each was made
        self._drift: QueryDrift | None = None
        self.seen = 0
        self.chosen: ChosenStrength | None = None
        """The strength that the queries speak for; None before any query."""

    def observe(
        self, collection: hubless.Collection, vectors: F32, found: Sequence[tuple[I64, int]], options: dict[str, Any]
    ) -> bool:
        """Keep answers, and draw some to be searched again. Return whether any are drawn.

        Parameters
        ----------
        vectors : (m, d)
        found : for each query an array of rows, and its line there
        options : with which the collection was asked for all of them
        """
        k = min(K, options["limit"])
        blocks = {id(rows): collection.parts.base_rows(rows[:, :k]) for rows, _ in found}
        with self._lock:
            for vector, (rows, line) in zip(vectors, found, strict=True):
                # copies, which do not hold on to the whole batch
                query = LiveQuery(vector.copy(), options, blocks[id(rows)][line].copy())
                self._recent.append(query)
                full = len(self._compared) + len(self._drawn) >= COMPARED
                if self._share and query.rows.size and (not full or _random.random() < self._share):
                    self._drawn.append(query)
            self.seen += len(vectors)
            self._since["drift"] += len(vectors)
            return bool(self._drawn)

    def compare(self, collection: hubless.Collection) -> bool:
        """Search some of the drawn queries at each strength. Return whether others are left."""
        with self._lock:
            alike: list[LiveQuery] = []
            while self._drawn and len(alike) < _TOGETHER:
                if alike and self._drawn[0].options != alike[0].options:
                    break
                alike.append(self._drawn.popleft())
        if not alike:
            return False
        vectors, options = np.stack([query.vector for query in alike]), alike[0].options | {"limit": K}
        found = [collection.query(vectors, **(options | {"strength": strength})).rows for strength in STRENGTHS]
        answers = np.full((len(alike), len(STRENGTHS), K), -1)
        for place, rows in enumerate(found):
            answers[:, place, : rows.shape[1]] = collection.parts.base_rows(rows)
        with self._lock:
            self._compared.extend(zip(alike, answers, strict=True))
            self._since["strength"] += len(alike)
            return bool(self._drawn)

    def choose(self, current: float) -> bool:
        """Choose the strength again if enough queries are new. Return whether that was done.

        Parameters
        ----------
        current : the strength that is kept in doubt
        """
        with self._lock:
            unchanged = self.chosen is not None and self.chosen.current == current
            new = self._since["strength"]
            if not new or (unchanged and new < _RENEWED * len(self._compared)):
                return False
            self._since["strength"] = 0
            answers = np.stack([answers for _, answers in self._compared], axis=1)
        self.chosen = most_even(answers, self._n, current=current)
        return True

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
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
        worst = np.argpartition(-counts, min(_WORST, self._n - 1))[:_WORST] if self._n > _WORST else np.arange(self._n)
        worst = worst[np.argsort(-counts[worst], kind="stable")]
        worst = worst[counts[worst] > 0]
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
                for id_, count in zip(collection.origin.ids(worst), counts[worst].tolist(), strict=True)
            ],
        }

    @property
    def drift_is_due(self) -> bool:
        """Return True if so much is new that the drift is to be measured though nobody asks."""
        kept = min(len(self._recent), COMPARED)
        return kept >= FEWEST and self._since["drift"] >= _DUE * kept

    def drift(self, collection: hubless.Collection) -> QueryDrift | None:
        """Compare the last queries with the query bank; None if there are too few, or no sample of the bank."""
        bank = collection.parts.bank_sample
        with self._lock:
            kept = min(len(self._recent), COMPARED)
            if bank is None or kept < FEWEST:
                return None
            if self._drift and self._since["drift"] < _RENEWED * kept:
                return self._drift
            self._since["drift"] = 0
            vectors = np.stack([query.vector for query in list(self._recent)[-COMPARED:]])
        live = np.unique(collection.prepare(vectors), axis=0)
        self._drift = QueryDrift(measures.energy_drift(live, bank), len(live)) if len(live) >= FEWEST else None
        return self._drift
