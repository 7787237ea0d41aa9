"""Hubs that may have been planted: targets that real queries see more often than they should."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hubless.builder.recipe import Metric
from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.lab.gallery import Gallery, NamedTarget, as_gallery, open_gallery
from hubless.lab.scan.examination import QUERY_ROWS, Examination, by_chance
from hubless.lab.scan.sightings import MOST_DEPTH, QUERIES_A_TOPIC, cluster
from hubless.lab.scan.suspects import Scan
from hubless.measures import as_groups
from hubless.progress import progress_bars
from hubless.search.collection import Collection
from hubless.vectors.arrays import F32, I64, check_at_least, unit_rows
from hubless.vectors.files import Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike
from hubless.vectors.sources import SelectedVectors, VectorSource, in_memory

BUDGET = 20
FEWEST_QUERIES = 2 * QUERIES_A_TOPIC
FEWEST_TARGETS = 20
"""Of fewer, every one is among the first 20 of each query."""
SAME = 0.999
"""A query of this cosine with a target is that target, or a copy of it."""
MOST_SAME = 0.1
"""So large a share of such queries means that they are targets."""


@dataclass(frozen=True)
class Modality:
    """Some targets of a gallery as a gallery of their own, which still names them by their rows in the whole.

    A hub among images is hidden where texts fill the first places. So modalities can be looked at apart.
    """

    name: str | None
    rows: I64
    gallery: Gallery


def scan(
    targets: Vectors | Collection | Gallery,
    queries: Vectors,
    *,
    metric: Metric | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    admit: Vectors | Gallery | None = None,
    modality: str | None = None,
    budget: int = BUDGET,
    threshold: float | None = None,
    force: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> Scan:
    """List targets that real queries find surprisingly often, overall or within a topic.

    Parameters
    ----------
    targets : (n, d), or an index
    queries : (m, d) real ones
    metric : "cosine" or "dot"; it has to be given with vectors
    ids, payload : of the targets, to name them in the answer
    admit : (a, d) new items, each scored as if it alone were added
    modality : a payload column; the targets of each of its values are ranked and scored apart
    budget : the length of the list
    threshold : the score from which a target is an alert
    force : take queries that look like targets

    Returns
    -------
    The scan: `findings`, the most suspicious first.

    Raises
    ------
    InputError
        if the queries are targets, or too few; if there is no such payload column, or items to admit beside it.
    """
    check_at_least("budget", budget, 1)
    gallery = as_gallery(targets, metric, ids, payload)
    new: Gallery | None = None
    if admit is not None:
        new = admit if isinstance(admit, Gallery) else open_gallery(admit, metric=gallery.metric, parameter="admit")
    real = in_memory(gallery.queries(queries, "queries"))
    if len(real) < FEWEST_QUERIES:
        raise InputError("queries", f"at least {FEWEST_QUERIES}, to tell a hub from chance", len(real))
    if modality is not None and new is not None:
        raise InputError("modality", "none with items to admit, as their modality is not known", modality)
    count = gallery.targets.shape[0]
    parts, notes = [Modality(None, np.arange(count), gallery)], list[str]()
    if modality is not None:
        parts, notes = _apart(gallery, modality)
    with progress_bars(progress) as steps:
        advance = steps.step("ranking the targets for each query", len(real) * len(parts))
        ranked = [_rank(real, part.gallery.targets, advance) for part in parts]
        notes += _check_real(real, parts, [rows for _, rows in ranked], force)
        steps.step("looking for what stands out")
        topics = cluster(real, seed)
        examined = [
            Examination(part.gallery, part.rows, real, *found, topics, seed)
            for part, found in zip(parts, ranked, strict=True)
        ]
        if new is None:
            listed = [
                replace(suspect, modality=part.name)
                for part, one in zip(parts, examined, strict=True)
                for suspect in one.suspects(budget)
            ]
            # the first of each modality, by score, then the second of each, and so on
            listed.sort(key=lambda one: (one.place, -one.measured.score))
            suspects = [replace(one, place=place) for place, one in enumerate(listed[:budget], start=1)]
            scores = np.concatenate([one.scores for one in examined])
        else:
            suspects, scores = examined[0].admit(new, budget)
    return Scan(
        targets=count,
        queries=len(real),
        topics=[len(each.sizes) for each in topics],
        correction=examined[0].correction,
        admitted=None if new is None else new.targets.shape[0],
        modalities={part.name: len(part.rows) for part in parts if part.name is not None},
        threshold=threshold,
        alerts=0 if threshold is None else int(np.count_nonzero(scores >= threshold)),
        expected={str(k): value for k, value in by_chance(len(real), count).items()},
        findings=suspects,
        notes=notes,
    )


def _rank(queries: F32, targets: VectorSource, advance: Any) -> tuple[F32, I64]:
    """Return similarities and rows of the first targets of each query, (m, k) each."""
    parts = []
    for start in range(0, len(queries), QUERY_ROWS):
        block = queries[start : start + QUERY_ROWS]
        parts.append(top_k(block, targets, MOST_DEPTH))
        advance(len(block))
    similarities, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
    return similarities, rows


def _check_real(queries: F32, parts: list[Modality], ranked: list[I64], force: bool) -> list[str]:
    """Refuse queries that are targets.

    Under metric dot the nearest by cosine may be another; but a copy of a target that is not its own first is rare.
    """
    unit = unit_rows(queries, "queries")
    same = np.zeros(len(queries), bool)
    for part, rows in zip(parts, ranked, strict=True):
        nearest = unit_rows(part.gallery.targets.take(rows[:, 0]), "targets")
        same |= np.einsum("md,md->m", unit, nearest) >= SAME
    count = int(np.count_nonzero(same))
    if count > MOST_SAME * len(queries) and not force:
        raise InputError(
            "queries",
            "real queries: a target finds itself first, and its neighbours are not what people see, so hubs that were "
            "planted for queries stay hidden (--set force=true takes them all the same)",
            f"{count / len(queries):.0%} that are targets, or copies of them",
        )
    return [f"{count:,} of the queries are targets, or copies of them"] if count else []


def _apart(gallery: Gallery, column: str) -> tuple[list[Modality], list[str]]:
    """Return a modality for each value of a payload column, and a note on each that is too small to tell anything."""
    named = gallery.describe(range(gallery.targets.shape[0]))
    columns = list(named[0].payload or {}) if named else []
    if column not in columns:
        raise InputError("modality", f"one of the payload columns {columns}" if columns else "a payload", column)
    groups = as_groups([None if one.payload is None else one.payload[column] for one in named], column)
    parts, notes = [], []
    for code, name in enumerate(groups.names):
        rows = np.flatnonzero(groups.codes == code)
        if len(rows) < FEWEST_TARGETS:
            notes.append(f"{column} {name}: {len(rows)} targets are too few to look at")
        else:
            parts.append(Modality(name, rows, _selected(gallery, rows)))
    if not parts:
        raise InputError("modality", f"a value with at least {FEWEST_TARGETS} targets", column)
    return parts, notes


def _selected(gallery: Gallery, rows: I64) -> Gallery:
    def describe(wanted: Sequence[int]) -> list[NamedTarget]:
        return gallery.describe(rows[np.asarray(wanted, np.int64)].tolist())

    targets = SelectedVectors(gallery.targets, rows, gallery.targets.name)
    return replace(gallery, targets=targets, describe=describe)
