"""The targets of a part, examined: who is seen too often, and what else is known of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hubless.corrections import CORRECTIONS
from hubless.kernels.reductions import top_k
from hubless.lab.cross_fit import held_out_rankings
from hubless.lab.gallery import Gallery
from hubless.lab.scan.closeness import Centrality, alike, near_duplicates
from hubless.lab.scan.findings import CENTRAL, Evidence, Finding, Topic, why
from hubless.lab.scan.modalities import Part
from hubless.lab.scan.sightings import DEPTHS, MOST_DEPTH, Sightings, Surprise, Topics, entropies, surprise, tails
from hubless.lab.scan.stability import Stability
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory

QUERY_ROWS = 2048
GROUPED = 500
"""Near-duplicates are looked for around so many of the most surprising targets."""


@dataclass(frozen=True)
class Ranked:
    """The first targets of each query, best first: similarities and rows, (m, k) each."""

    similarities: F32
    rows: I64


@dataclass(frozen=True)
class Corrected:
    """Sightings and offsets under a correction."""

    name: str
    exposure: F64
    offsets: F32
    new_offsets: Callable[[VectorSource], F32]


def corrected_by(part: Part, queries: F32, seed: int) -> Corrected:
    """By the correction of the collection, or by `auto`, fitted on the queries."""
    gallery = part.gallery
    count = gallery.targets.shape[0]
    k = min(MOST_DEPTH, count)
    if gallery.collection is None:
        auto = CORRECTIONS["auto"]()
        bank = ArrayVectors(queries, "queries")
        held = held_out_rankings(auto, bank, gallery.targets, k, seed=seed)
        exposure = Sightings.of(held.corrected).exposure(count, len(held.corrected))
        fitted = auto.fit(bank, gallery.targets)
        return Corrected("auto, fitted on the queries", exposure, held.offsets, fitted.offsets)
    collection = gallery.collection
    step = max(1, 2**24 // collection.count)
    found = []
    for start in range(0, len(queries), step):
        (scores,) = collection.scores(queries[start : start + step], (1.0,))
        found.append(np.argsort(-scores[:, part.rows], axis=1, kind="stable")[:, :k])
    exposure = Sightings.of(np.concatenate(found)).exposure(count, len(queries))
    return Corrected(
        f"{collection.manifest.correction.name}, of the collection",
        exposure,
        collection.offsets[part.rows],
        collection.correction().offsets,
    )


class Examined:
    """The targets, scored: near-duplicates count as one, and share what is measured of them."""

    def __init__(self, part: Part, queries: F32, ranked: Ranked, topics: list[Topics], seed: int) -> None:
        self._part = part
        self._gallery = gallery = part.gallery
        self._queries = queries
        self._ranked = ranked
        self._topics = topics
        self._corrected = corrected_by(part, queries, seed)
        self._count = gallery.targets.shape[0]
        alone = Sightings.of(ranked.rows)
        first = surprise(alone, self._count, len(queries), self._count, topics)
        most = [np.argsort(-values, kind="stable")[:GROUPED] for values in (first.overall, first.topical)]
        self._group = near_duplicates(gallery.targets, list(dict.fromkeys(np.concatenate(most).tolist())))
        self._seen = alone.together(self._group)
        self._surprise = surprise(self._seen, self._count, len(queries), self._count, topics)
        self._exposure = alone.exposure(self._count, len(queries))
        self._centrality = Centrality(gallery.targets)
        self._stability = Stability(queries, gallery.targets, ranked.similarities, ranked.rows, seed)
        self._expected = by_chance(len(queries), self._count)

    @property
    def correction(self) -> str:
        """The name of the correction."""
        return self._corrected.name

    @property
    def scores(self) -> F64:
        """Of each target, (n,)."""
        return self._surprise.score[self._group]

    def findings(self, budget: int) -> list[Finding]:
        """The first places of the list: the best of three lists in turn, so that none fills it alone."""
        found = self._surprise
        centrality = self._centrality.of_targets
        central = np.where(centrality >= CENTRAL, centrality, 0.0)
        lists = [found.overall[self._group], found.topical[self._group], central]
        places = np.min([_dense_places(values) for values in lists], axis=0)
        order = np.lexsort((np.arange(self._count), -self.scores, places))[:budget]
        counts = {k: self._seen.within(k).counts(self._count)[self._group] for k in DEPTHS}
        log_tails = tails(counts, len(self._queries), self._count)
        spread = _spread(self._seen, self._count, self._topics)[self._group]
        stable = self._stability.of_targets(self._group)
        named = self._gallery.describe(order.tolist())
        findings = []
        for place, (row, name) in enumerate(zip(order.tolist(), named, strict=True), start=1):
            group = int(self._group[row])
            measured = Evidence(
                score=float(self.scores[row]),
                overall=float(found.overall[group]),
                counts={k: int(values[row]) for k, values in counts.items()},
                log10_tail=float(log_tails[row]),
                topic=self._topic(found, group),
                entropy=float(spread[row]),
                centrality=float(centrality[row]),
                stability=_number(stable[row]),
                offset=float(self._corrected.offsets[row]),
                offset_percentile=self._percentile(self._corrected.offsets[row]),
                near_duplicates=self._part.rows[np.setdiff1d(np.flatnonzero(self._group == group), row)].tolist(),
                exposure={"raw": float(self._exposure[row]), "corrected": float(self._corrected.exposure[row])},
            )
            findings.append(Finding(place, name, why(measured, self._expected), measured, modality=self._part.name))
        return findings

    def admit(self, new: Gallery, budget: int) -> tuple[list[Finding], F64]:
        """New items, each as if it alone were added: where it would stand among the first 20 of each query."""
        kept = self._ranked.similarities
        vectors = in_memory(self._gallery.queries(new.targets, "new items"))
        items = len(vectors)
        parts = []
        for start in range(0, len(self._queries), QUERY_ROWS):
            similarities = self._queries[start : start + QUERY_ROWS] @ vectors.T
            places = np.zeros(similarities.shape, np.int64)
            for better in kept[start : start + QUERY_ROWS].T:  # a tie goes to the new one: the worse case
                places += better[:, np.newaxis] > similarities
            query, item = np.nonzero(places < MOST_DEPTH)
            parts.append((query + start, item, places[query, item]))
        seen = Sightings(*(np.concatenate(part) for part in zip(*parts, strict=True)))
        total = self._count + 1
        found = surprise(seen, items, len(self._queries), total, self._topics)
        counts = {k: seen.within(k).counts(items) for k in DEPTHS}
        log_tails = tails(counts, len(self._queries), total)
        spread, exposure = _spread(seen, items, self._topics), seen.exposure(items, len(self._queries))
        offsets = self._shifted(vectors)
        corrected = self._corrected_exposure(vectors, offsets)
        centrality = self._centrality.of(vectors)
        stable = self._stability.of_new(vectors)
        order = np.lexsort((np.arange(items), -centrality, -found.score))[:budget]
        there = np.sort(self.scores)
        findings = []
        for place, (row, name) in enumerate(zip(order.tolist(), new.describe(order.tolist()), strict=True), start=1):
            measured = Evidence(
                score=float(found.score[row]),
                overall=float(found.overall[row]),
                counts={k: int(values[row]) for k, values in counts.items()},
                log10_tail=float(log_tails[row]),
                topic=self._topic(found, row),
                entropy=float(spread[row]),
                centrality=float(centrality[row]),
                stability=_number(stable[row]),
                offset=float(offsets[row]),
                offset_percentile=self._percentile(offsets[row]),
                near_duplicates=alike(self._gallery.targets, vectors[row]),
                exposure={"raw": float(exposure[row]), "corrected": float(corrected[row])},
            )
            above = float(np.searchsorted(there, measured.score) / self._count)
            findings.append(Finding(place, name, why(measured, self._expected), measured, above))
        return findings, found.score

    def _shifted(self, vectors: F32) -> F32:
        """Offsets of new items, on the scale of the centred ones of the targets."""
        some = np.arange(min(self._count, 64))
        known = self._corrected.new_offsets(ArrayVectors(self._gallery.targets.take(some), "targets"))
        shift = float(np.mean(known - self._corrected.offsets[some]))
        fitted: F32 = self._corrected.new_offsets(ArrayVectors(vectors, "new items"))
        return fitted - np.float32(shift)

    def _corrected_exposure(self, vectors: F32, offsets: F32) -> F64:
        k = min(MOST_DEPTH, self._count)
        total = np.zeros(len(vectors))
        for start in range(0, len(self._queries), QUERY_ROWS):
            block = self._queries[start : start + QUERY_ROWS]
            kept, _ = top_k(block, self._gallery.targets, k, self._corrected.offsets)
            scores = block @ vectors.T - offsets
            places = np.sum([better[:, np.newaxis] > scores for better in kept.T], axis=0)
            total += np.where(places < MOST_DEPTH, 1 / np.log2(places + 2), 0.0).sum(axis=0)
        return total / len(self._queries)

    def _topic(self, found: Surprise, row: int) -> Topic | None:
        clustering, label, k = found.topic[row].tolist()
        if clustering < 0:
            return None
        members = np.flatnonzero(self._topics[clustering].labels == label)
        vectors = self._queries[members]
        example = members[np.argmax(vectors @ vectors.mean(axis=0))]
        return Topic(len(members), k, float(found.rate[row]), int(example))

    def _percentile(self, offset: float) -> float:
        return float(np.mean(self._corrected.offsets < offset))


def merged(lists: Sequence[list[Finding]], budget: int) -> list[Finding]:
    """The lists of all parts as one: the first of each, by score, then the second of each, and so on."""
    order = sorted((one for found in lists for one in found), key=lambda one: (one.place, -one.measured.score))
    return [replace(one, place=place) for place, one in enumerate(order[:budget], start=1)]


def by_chance(queries: int, targets: int) -> dict[int, float]:
    """N_k that chance would give, by k."""
    return {k: queries * min(k / targets, 1) for k in DEPTHS}


def _dense_places(values: F64) -> I64:
    """1 for the highest value, 2 for the next, ties alike; the last for 0."""
    distinct, inverse = np.unique(values, return_inverse=True)
    places: I64 = np.where(values > 0, len(distinct) - inverse, len(values) + 1)
    return places


def _spread(seen: Sightings, items: int, topics: Sequence[Topics]) -> F64:
    return entropies(seen, items, topics[-1]) if topics else np.zeros(items)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
