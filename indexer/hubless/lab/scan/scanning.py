"""Hubs that may have been planted: targets that real queries see more often than they should."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hubless.corrections import CORRECTIONS
from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.lab.cross_fit import held_out_rankings
from hubless.lab.gallery import Gallery
from hubless.lab.scan.closeness import Centrality, alike, near_duplicates
from hubless.lab.scan.findings import CENTRAL, Evidence, Finding, Scan, Topic, why
from hubless.lab.scan.sightings import (
    DEPTHS,
    MOST_DEPTH,
    QUERIES_A_TOPIC,
    Sightings,
    Surprise,
    Topics,
    cluster,
    entropies,
    surprise,
    tails,
)
from hubless.progress import progress_bars
from hubless.vectors.arrays import F32, F64, I64, check_at_least, unit_rows
from hubless.vectors.files import Vectors
from hubless.vectors.sources import ArrayVectors, VectorSource, in_memory

BUDGET = 20
FEWEST_QUERIES = 2 * QUERIES_A_TOPIC
QUERY_ROWS = 2048
SAME = 0.999
"""A query of this cosine with a target is that target, or a copy of it."""
MOST_SAME = 0.1
"""So large a share of such queries means that they are targets."""
GROUPED = 500
"""Near-duplicates are looked for around so many of the most surprising targets."""


def scan(
    gallery: Gallery,
    queries: Vectors,
    *,
    admit: Gallery | None = None,
    budget: int = BUDGET,
    threshold: float | None = None,
    force: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> Scan:
    """List the targets that queries see most surprisingly often, overall or within a topic.

    Parameters
    ----------
    gallery : what can be found
    queries : (m, d) real ones
    admit : new items, each scored as if it alone were added
    budget : the length of the list
    threshold : the score from which a target is an alert
    force : take queries that look like targets

    Raises
    ------
    InputError
        if the queries are targets, or too few.
    """
    check_at_least("budget", budget, 1)
    real = in_memory(gallery.queries(queries, "queries"))
    if len(real) < FEWEST_QUERIES:
        raise InputError("queries", f"at least {FEWEST_QUERIES}, to tell a hub from chance", len(real))
    count = gallery.targets.shape[0]
    with progress_bars(progress) as steps:
        advance = steps.step("ranking the targets for each query", len(real))
        similarities, rows = _rank(real, gallery.targets, advance)
        notes = _check_real(real, gallery, rows[:, 0], force)
        steps.step("ranking them corrected")
        corrected = _corrected(gallery, real, seed)
        steps.step("looking for what stands out")
        examined = _Examined(gallery, real, rows, cluster(real, seed), corrected)
        if admit is None:
            findings, scores = examined.findings(budget), examined.scores
        else:
            findings, scores = examined.admit(admit, similarities, budget)
    return Scan(
        targets=count,
        queries=len(real),
        topics=[len(topics.sizes) for topics in examined.topics],
        correction=corrected.name,
        admitted=None if admit is None else admit.targets.shape[0],
        threshold=threshold,
        alerts=0 if threshold is None else int(np.count_nonzero(scores >= threshold)),
        expected={str(k): value for k, value in _expected(len(real), count).items()},
        findings=findings,
        notes=notes,
    )


def _rank(queries: F32, targets: VectorSource, advance: Any) -> tuple[F32, I64]:
    parts = []
    for start in range(0, len(queries), QUERY_ROWS):
        block = queries[start : start + QUERY_ROWS]
        parts.append(top_k(block, targets, MOST_DEPTH))
        advance(len(block))
    similarities, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
    return similarities, rows


def _check_real(queries: F32, gallery: Gallery, nearest: I64, force: bool) -> list[str]:
    """Refuse queries that are targets.

    Under metric dot the nearest by cosine may be another; but a copy of a target that is not its own first is rare.
    """
    found = unit_rows(gallery.targets.take(nearest), "targets")
    cosines = np.einsum("md,md->m", unit_rows(queries, "queries"), found)
    same = int(np.count_nonzero(cosines >= SAME))
    share = same / len(queries)
    if share > MOST_SAME and not force:
        raise InputError(
            "queries",
            "real queries: a target finds itself first, and its neighbours are not what people see, so hubs that were "
            "planted for queries stay hidden (--force takes them all the same)",
            f"{share:.0%} that are targets, or copies of them",
        )
    return [f"{same:,} of the queries are targets, or copies of them"] if same else []


@dataclass(frozen=True)
class _Corrected:
    """Sightings and offsets under a correction."""

    name: str
    exposure: F64
    offsets: F32
    new_offsets: Any


def _corrected(gallery: Gallery, queries: F32, seed: int) -> _Corrected:
    count = gallery.targets.shape[0]
    k = min(MOST_DEPTH, count)
    if gallery.collection is None:
        auto = CORRECTIONS["auto"]()
        bank = ArrayVectors(queries, "queries")
        held = held_out_rankings(auto, bank, gallery.targets, k, seed=seed)
        exposure = Sightings.of(held.corrected).exposure(count, len(held.corrected))
        fitted = auto.fit(bank, gallery.targets)
        return _Corrected("auto, fitted on the queries", exposure, held.offsets, fitted.offsets)
    collection = gallery.collection
    step = max(1, 2**24 // count)
    found = []
    for start in range(0, len(queries), step):
        (scores,) = collection.scores(queries[start : start + step], (1.0,))
        found.append(np.argsort(-scores, axis=1, kind="stable")[:, :k])
    exposure = Sightings.of(np.concatenate(found)).exposure(count, len(queries))
    return _Corrected(
        f"{collection.manifest.correction.name}, of the collection",
        exposure,
        collection.offsets,
        collection.correction().offsets,
    )


class _Examined:
    """The targets, scored: near-duplicates count as one, and share what is measured of them."""

    def __init__(self, gallery: Gallery, queries: F32, rows: I64, topics: list[Topics], corrected: _Corrected) -> None:
        self._gallery = gallery
        self._queries = queries
        self.topics = topics
        self._corrected = corrected
        self._count = gallery.targets.shape[0]
        alone = Sightings.of(rows)
        first = surprise(alone, self._count, len(queries), self._count, topics)
        most = [np.argsort(-values, kind="stable")[:GROUPED] for values in (first.overall, first.topical)]
        self._group = near_duplicates(gallery.targets, list(dict.fromkeys(np.concatenate(most).tolist())))
        self._seen = alone.together(self._group)
        self._surprise = surprise(self._seen, self._count, len(queries), self._count, topics)
        self._exposure = alone.exposure(self._count, len(queries))
        self._centrality = Centrality(gallery.targets)
        self._expected = _expected(len(queries), self._count)

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
        spread = _spread(self._seen, self._count, self.topics)[self._group]
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
                offset=float(self._corrected.offsets[row]),
                offset_percentile=self._percentile(self._corrected.offsets[row]),
                near_duplicates=np.setdiff1d(np.flatnonzero(self._group == group), row).tolist(),
                exposure={"raw": float(self._exposure[row]), "corrected": float(self._corrected.exposure[row])},
            )
            findings.append(Finding(place, name, why(measured, self._expected), measured))
        return findings

    def admit(self, new: Gallery, kept: F32, budget: int) -> tuple[list[Finding], F64]:
        """New items, each as if it alone were added: where it would stand among the first 20 of each query.

        Parameters
        ----------
        kept : (m, k) similarities of what is there, best first
        """
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
        found = surprise(seen, items, len(self._queries), total, self.topics)
        counts = {k: seen.within(k).counts(items) for k in DEPTHS}
        log_tails = tails(counts, len(self._queries), total)
        spread, exposure = _spread(seen, items, self.topics), seen.exposure(items, len(self._queries))
        offsets = self._shifted(vectors)
        corrected = self._corrected_exposure(vectors, offsets)
        centrality = self._centrality.of(vectors)
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
        members = np.flatnonzero(self.topics[clustering].labels == label)
        vectors = self._queries[members]
        example = members[np.argmax(vectors @ vectors.mean(axis=0))]
        return Topic(len(members), k, float(found.rate[row]), int(example))

    def _percentile(self, offset: float) -> float:
        return float(np.mean(self._corrected.offsets < offset))


def _expected(queries: int, targets: int) -> dict[int, float]:
    return {k: queries * min(k / targets, 1) for k in DEPTHS}


def _dense_places(values: F64) -> I64:
    """1 for the highest value, 2 for the next, ties alike; the last for 0."""
    distinct, inverse = np.unique(values, return_inverse=True)
    places: I64 = np.where(values > 0, len(distinct) - inverse, len(values) + 1)
    return places


def _spread(seen: Sightings, items: int, topics: Sequence[Topics]) -> F64:
    return entropies(seen, items, topics[-1]) if topics else np.zeros(items)
