"""The targets of a gallery, examined: how often each is seen, and what else is known of it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.corrections import correction
from hubless.corrections.centred import CentredCorrection
from hubless.diagnosing.gallery import Gallery, NamedTarget
from hubless.measures.repeats import without_copies
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import ArrayVectors, in_memory
from hubless_lab.scan.geometry import Centrality, Stability, alike, near_duplicates
from hubless_lab.scan.sightings import SCAN_DEPTH, SCAN_DEPTHS, Sightings, Surprise, surprise
from hubless_lab.scan.suspects import CENTRAL, Evidence, Suspect, Topic, why

QUERY_ROWS = 2048
GROUPED = 500
"""Near-duplicates are looked for around so many of the most surprising targets."""


class Examination:
    """The targets, scored by the first targets (m, k) of each query: near-duplicates count as one."""

    def __init__(
        self, gallery: Gallery, queries: F32, similarities: F32, ranked: I64, topics: list[I64], seed: int
    ) -> None:
        """Score targets by what queries (m, d) found."""
        self._gallery = gallery
        self._queries = queries
        self._topics = topics
        self._similarities = similarities
        self._count = gallery.targets.shape[0]
        alone = Sightings.of(ranked)
        first = self._surprise(alone, self._count, self._count)
        most = [np.argsort(-values, kind="stable")[:GROUPED] for values in (first.overall, first.topical)]
        self._group = near_duplicates(gallery.targets, list(dict.fromkeys(np.concatenate(most).tolist())))
        together = self._surprise(alone.together(self._group), self._count, self._count)
        self._measured = Surprise(**{name: values[self._group] for name, values in vars(together).items()})
        self._centrality = Centrality(gallery.targets)
        self._stability = Stability(queries, gallery.targets, similarities, ranked, seed)
        self._expected = hubs_by_chance(len(queries), self._count)
        self.correction, self._fitted, self._offsets = self._correct()

    def suspects(self, budget: int) -> tuple[list[Suspect], F64]:
        """Return the first places of the list, taken from three lists in turn, and the scores of all targets (n,)."""
        found = self._measured
        centrality = self._centrality.of_targets
        central = np.where(centrality >= CENTRAL, centrality, 0.0)
        places = np.min([_dense_places(values) for values in (found.overall, found.topical, central)], axis=0)
        order = np.lexsort((np.arange(self._count), -found.score, places))[:budget]
        copies = [np.setdiff1d(np.flatnonzero(self._group == self._group[row]), row).tolist() for row in order]
        columns: dict[str, NDArray[np.floating]] = {
            "centrality": centrality,
            "stability": self._stability.of_targets(self._group),
            "offset": self._offsets,
        }
        listed = self._listed(self._gallery.describe(order.tolist()), order, found, columns, copies)
        return listed, found.score

    def admit(self, new: Gallery, budget: int) -> tuple[list[Suspect], F64]:
        """Return new items, each as if it alone were added, and all their scores."""
        vectors = in_memory(self._gallery.queries(new.targets, "new items"))
        items = len(vectors)
        parts = []
        for start in range(0, len(self._queries), QUERY_ROWS):
            kept = self._similarities[start : start + QUERY_ROWS]
            # a tie goes to the new one: the worse case
            places = _places(self._queries[start : start + QUERY_ROWS] @ vectors.T, kept)
            query, item = np.nonzero(places < SCAN_DEPTH)
            parts.append((query + start, item, places[query, item]))
        seen = Sightings(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        found = self._surprise(seen, items, self._count + 1)
        centrality = self._centrality.of(vectors)
        columns: dict[str, NDArray[np.floating]] = {
            "centrality": centrality,
            "stability": self._stability.of_new(vectors),
            "offset": self._fitted.offsets(ArrayVectors(vectors, "new items")),
        }
        order = np.lexsort((np.arange(items), -centrality, -found.score))[:budget]
        copies = [alike(self._gallery.targets, vectors[row]) for row in order]
        listed = self._listed(new.describe(order.tolist()), order, found, columns, copies)
        there = np.sort(self._measured.score)
        above = [float(np.searchsorted(there, one.measured.score) / self._count) for one in listed]
        return [replace(one, above=share) for one, share in zip(listed, above, strict=True)], found.score

    def _surprise(self, seen: Sightings, items: int, targets: int) -> Surprise:
        return surprise(seen, items, len(self._queries), targets, self._topics)

    def _listed(
        self,
        names: list[NamedTarget],
        order: I64,
        found: Surprise,
        columns: dict[str, NDArray[np.floating]],
        copies: list[list[int]],
    ) -> list[Suspect]:
        """Return the suspects in an order of rows, each with its evidence, and why it is one."""
        listed = []
        columns |= {"score": found.score, "overall": found.overall}
        for place, (row, name, alike_rows) in enumerate(zip(order.tolist(), names, copies, strict=True), start=1):
            more: dict[str, Any] = {column: float(values[row]) for column, values in columns.items()}
            more["stability"] = None if np.isnan(more["stability"]) else more["stability"]
            measured = Evidence(
                **more,
                counts=dict(zip(SCAN_DEPTHS, found.counts[row].tolist(), strict=True)),
                topic=self._topic(found, row),
                offset_percentile=float(np.mean(self._offsets < columns["offset"][row])),
                near_duplicates=alike_rows,
            )
            listed.append(Suspect(place, name, why(measured, self._expected), measured))
        return listed

    def _correct(self) -> tuple[str, CentredCorrection, F32]:
        """Return the collection's correction, or else one that is fitted on the queries; its name, and the offsets."""
        targets = self._gallery.targets
        collection = self._gallery.collection
        if collection is not None:
            name = f"{collection.manifest.correction.name}, of the collection"
            return name, collection.correction(), collection.offsets
        metric = self._gallery.metric
        once = without_copies(ArrayVectors(self._queries, "queries"), metric=metric)
        fitted = correction("auto", metric=metric).fit(once, targets)
        offsets = fitted.offsets(targets)
        constant = float(offsets.mean(dtype=np.float64))
        return "auto, fitted on the queries", CentredCorrection(fitted, constant), offsets - np.float32(constant)

    def _topic(self, found: Surprise, row: int) -> Topic | None:
        clustering, label, k = found.topic[row].tolist()
        if clustering < 0:
            return None
        members = np.flatnonzero(self._topics[clustering] == label)
        vectors = self._queries[members]
        example = members[np.argmax(vectors @ vectors.mean(axis=0))]
        return Topic(len(members), k, float(found.rate[row]), int(example))


def hubs_by_chance(queries: int, targets: int) -> dict[int, float]:
    """Return N_k that chance would give, by k."""
    return {k: queries * min(k / targets, 1) for k in SCAN_DEPTHS}


def _places(scores: F32, kept: F32) -> I64:
    """Return how many of the kept scores (m, k) of each query are above those of new items (m, a)."""
    places = np.zeros(scores.shape, np.int64)
    for better in kept.T:
        places += better[:, np.newaxis] > scores
    return places


def _dense_places(values: F64) -> I64:
    distinct, inverse = np.unique(values, return_inverse=True)
    places: I64 = np.where(values > 0, len(distinct) - inverse, len(values) + 1)
    return places
