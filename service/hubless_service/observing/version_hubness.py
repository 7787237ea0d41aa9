"""The hubness of the answers that one version gave.

Three rankings are counted. `served` is whatever was answered. Of a share of the corrected queries, drawn at random,
both the answer, `corrected`, and the ranking without the correction, `raw`, are counted. Compare only the last two:
skewness and antihubs depend on the number of queries.
"""

import threading
import weakref
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

import hubless
from hubless import measures
from hubless.vectors.arrays import F32, F64, I64
from hubless_service.observing.decayed import DecayedOccurrence
from hubless_service.observing.decayed_chance import ANTIHUB, decayed_by_chance
from hubless_service.processes.folder import counts_of, counts_of_others
from hubless_service.settings import Settings

K = 10
RANKINGS = ("served", "corrected", "raw")
FIGURES = ("queries", "skewness", "top_hub_share", "antihub_share")
_WORST = 10
_QUICK, _KEPT = 0.05, 100  # seconds; and times as long
_MOST_WAITING = 256
_TOGETHER = 64  # raw rankings searched by one call, as a scan of many costs little more than of one
_random = Random()  # noqa: S311  # draws, no secrets; its own, so that no other code seeds it


class Drawn(NamedTuple):
    """A query that was drawn: its vector (d,), the options of its search, and the rows (k,) that it found."""

    vector: F32
    options: dict[str, Any]
    rows: I64


class VersionHubness:
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
        paths = {ranking: folder and counts_of(folder, name) for ranking, name in self._names.items()}
        self._occurrences = {
            # one more than there are targets: −1, all that were added since, counts at the end
            ranking: DecayedOccurrence(collection.count + 1, self._half_life, path)
            for ranking, path in paths.items()
        }
        self._drawn: deque[Drawn] = deque(maxlen=_MOST_WAITING)
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
            self._occurrences["served"].add(np.concatenate([rows[:, :k] for rows in blocks.values()]))
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
            self._drawn.append(Drawn(vectors[i].copy(), options, rows[line, :k].copy()))

    def rank_raw(self, collection: hubless.Collection) -> None:
        """Search the queries that were drawn once more, without the correction, and count both rankings."""
        while self._drawn:
            alike = [self._drawn.popleft()]
            while self._drawn and len(alike) < _TOGETHER and self._drawn[0].options == alike[0].options:
                alike.append(self._drawn.popleft())
            rows = np.stack([drawn.rows for drawn in alike])
            options = alike[0].options | {"limit": rows.shape[1], "strength": 0.0}
            found = collection.query(np.stack([drawn.vector for drawn in alike]), **options)
            raw = collection.origin_rows(found.rows)
            with self._lock:
                self._occurrences["corrected"].add(rows)
                self._occurrences["raw"].add(raw)

    def describe(self, collection: hubless.Collection) -> dict[str, Any]:
        """`FIGURES` of each ranking and its worst hubs, of all workers together; null for a ranking without queries.

        With many targets this takes long, so the result is kept for a while: at most a hundredth of a processor goes
        into it.
        """
        with self._describing:
            started = monotonic()
            if started >= self._keep_until:
                self._described = {ranking: self._describe(collection, ranking) for ranking in RANKINGS}
                taken = monotonic() - started
                self._keep_until = started + (_KEPT * taken if taken > _QUICK else 0)
            return self._described

    def _describe(self, collection: hubless.Collection, ranking: str) -> dict[str, Any] | None:
        others = counts_of_others(self._folder, self._names[ranking]) if self._folder else []
        counted, queries = self._occurrences[ranking].together(others)
        if not queries or len(counted) == 1:
            return None
        counts = counted[:-1]  # without those that were added since
        return {
            "queries": queries,
            "skewness": measures.skewness(counts),
            "top_hub_share": measures.groupie_ratio(counts),
            "antihub_share": measures.antihub_occurrence(np.where(counts < ANTIHUB, 0, counts)),
            "chance": decayed_by_chance(queries, counts.sum(), len(counts), self._half_life, 1 + len(others)),
            "hubs": _worst(collection.origin, counts),
        }


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
