"""Hubs that may have been planted: targets that real queries see more often than they should."""

from typing import Any

import numpy as np

from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.lab.gallery import Gallery
from hubless.lab.scan.examined import QUERY_ROWS, Examined, Ranked, by_chance, merged
from hubless.lab.scan.findings import Scan
from hubless.lab.scan.modalities import Part, apart, whole
from hubless.lab.scan.sightings import MOST_DEPTH, QUERIES_A_TOPIC, cluster
from hubless.progress import progress_bars
from hubless.vectors.arrays import F32, check_at_least, unit_rows
from hubless.vectors.files import Vectors
from hubless.vectors.sources import VectorSource, in_memory

BUDGET = 20
FEWEST_QUERIES = 2 * QUERIES_A_TOPIC
SAME = 0.999
"""A query of this cosine with a target is that target, or a copy of it."""
MOST_SAME = 0.1
"""So large a share of such queries means that they are targets."""


def scan(
    gallery: Gallery,
    queries: Vectors,
    *,
    admit: Gallery | None = None,
    modality: str | None = None,
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
    modality : a payload column; the targets of each of its values are ranked and scored apart
    budget : the length of the list
    threshold : the score from which a target is an alert
    force : take queries that look like targets

    Raises
    ------
    InputError
        if the queries are targets, or too few; if there is no such payload column, or items to admit beside it.
    """
    check_at_least("budget", budget, 1)
    real = in_memory(gallery.queries(queries, "queries"))
    if len(real) < FEWEST_QUERIES:
        raise InputError("queries", f"at least {FEWEST_QUERIES}, to tell a hub from chance", len(real))
    if modality is not None and admit is not None:
        raise InputError("modality", "none with items to admit, as their modality is not known", modality)
    parts, notes = ([whole(gallery)], []) if modality is None else apart(gallery, modality)
    with progress_bars(progress) as steps:
        advance = steps.step("ranking the targets for each query", len(real) * len(parts))
        ranked = [_rank(real, part.gallery.targets, advance) for part in parts]
        notes += _check_real(real, parts, ranked, force)
        steps.step("looking for what stands out")
        topics = cluster(real, seed)
        examined = [Examined(part, real, found, topics, seed) for part, found in zip(parts, ranked, strict=True)]
        if admit is None:
            findings = merged([one.findings(budget) for one in examined], budget)
            scores = np.concatenate([one.scores for one in examined])
        else:
            findings, scores = examined[0].admit(admit, budget)
    count = gallery.targets.shape[0]
    return Scan(
        targets=count,
        queries=len(real),
        topics=[len(each.sizes) for each in topics],
        correction=examined[0].correction,
        admitted=None if admit is None else admit.targets.shape[0],
        modalities={part.name: len(part.rows) for part in parts if part.name is not None},
        threshold=threshold,
        alerts=0 if threshold is None else int(np.count_nonzero(scores >= threshold)),
        expected={str(k): value for k, value in by_chance(len(real), count).items()},
        findings=findings,
        notes=notes,
    )


def _rank(queries: F32, targets: VectorSource, advance: Any) -> Ranked:
    parts = []
    for start in range(0, len(queries), QUERY_ROWS):
        block = queries[start : start + QUERY_ROWS]
        parts.append(top_k(block, targets, MOST_DEPTH))
        advance(len(block))
    similarities, rows = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Ranked(similarities, rows)


def _check_real(queries: F32, parts: list[Part], ranked: list[Ranked], force: bool) -> list[str]:
    """Refuse queries that are targets.

    Under metric dot the nearest by cosine may be another; but a copy of a target that is not its own first is rare.
    """
    unit = unit_rows(queries, "queries")
    same = np.zeros(len(queries), bool)
    for part, found in zip(parts, ranked, strict=True):
        nearest = unit_rows(part.gallery.targets.take(found.rows[:, 0]), "targets")
        same |= np.einsum("md,md->m", unit, nearest) >= SAME
    count = int(np.count_nonzero(same))
    share = count / len(queries)
    if share > MOST_SAME and not force:
        raise InputError(
            "queries",
            "real queries: a target finds itself first, and its neighbours are not what people see, so hubs that were "
            "planted for queries stay hidden (--set force=true takes them all the same)",
            f"{share:.0%} that are targets, or copies of them",
        )
    return [f"{count:,} of the queries are targets, or copies of them"] if count else []
