"""Hubs that may have been planted: targets that real queries see more often than they should."""

import numpy as np

from hubless.diagnosing.gallery import Examined, Gallery, as_gallery, open_gallery
from hubless.errors import InputError, advice
from hubless.kernels.reductions import top_k
from hubless.progress import progress_bars
from hubless.vectors.arrays import F32, I64, check_at_least, unit_rows
from hubless.vectors.comparing import Metric, comparison
from hubless.vectors.files import Vectors
from hubless.vectors.ids import Ids
from hubless.vectors.payload import PayloadLike
from hubless.vectors.sources import VectorSource, in_memory
from hubless_lab.scan.examination import QUERY_ROWS, Examination, hubs_by_chance
from hubless_lab.scan.sightings import QUERIES_A_TOPIC, SCAN_DEPTH, cluster
from hubless_lab.scan.suspects import Scan

BUDGET = 20
FEWEST_QUERIES = 2 * QUERIES_A_TOPIC
_SAME = 0.999
"""A query of this cosine with a target is that target, or a copy of it."""
MOST_SAME = 0.1
"""So large a share of such queries means that they are targets."""


def scan(
    targets: Examined,
    queries: Vectors,
    *,
    metric: Metric | None = None,
    ids: Ids | None = None,
    payload: PayloadLike | None = None,
    admit: Vectors | Gallery | None = None,
    budget: int = BUDGET,
    threshold: float | None = None,
    force: bool = False,
    seed: int = 0,
    progress: bool | None = None,
) -> Scan:
    """List targets that real queries find surprisingly often, overall or within a topic.

    `findings` of the scan have the most suspicious first. Raises `InputError` if the queries are targets, or too few.

    Parameters
    ----------
    targets : (n, d), or an index
    queries : (m, d) real ones
    metric : "cosine" or "dot"; it has to be given with vectors
    ids, payload : of the targets, to name them in the answer
    admit : (a, d) new items, each scored as if it alone were added
    budget : the length of the list
    threshold : the score from which a target is an alert
    force : take queries that look like targets
    """
    check_at_least("budget", budget, 1)
    gallery = as_gallery(targets, metric, ids, payload)
    if comparison(gallery.metric).lifted:
        raise InputError("metric", "cosine or dot: a scan looks at directions", gallery.metric)
    new: Gallery | None = None
    if admit is not None:
        new = admit if isinstance(admit, Gallery) else open_gallery(admit, metric=gallery.metric, parameter="admit")
    real = in_memory(gallery.queries(queries, "queries"))
    if len(real) < FEWEST_QUERIES:
        raise InputError("queries", f"at least {FEWEST_QUERIES}, to tell a hub from chance", len(real))
    count = gallery.targets.shape[0]
    with progress_bars(progress) as steps:
        advance = steps.step("ranking the targets for each query", len(real))
        parts = []
        for start in range(0, len(real), QUERY_ROWS):
            block = real[start : start + QUERY_ROWS]
            parts.append(top_k(block, gallery.targets, SCAN_DEPTH))
            advance(len(block))
        similarities, ranked = (np.concatenate(part) for part in zip(*parts, strict=True))
        notes = _check_real(real, gallery.targets, ranked, force)
        steps.step("looking for what stands out")
        topics = cluster(real, seed)
        examined = Examination(gallery, real, similarities, ranked, topics, seed)
        suspects, scores = examined.suspects(budget) if new is None else examined.admit(new, budget)
    return Scan(
        targets=count,
        queries=len(real),
        topics=[1 + int(each.max()) for each in topics],
        correction=examined.correction,
        admitted=None if new is None else new.targets.shape[0],
        threshold=threshold,
        alerts=0 if threshold is None else int(np.count_nonzero(scores >= threshold)),
        expected={str(k): value for k, value in hubs_by_chance(len(real), count).items()},
        findings=suspects,
        notes=notes,
    )


def _check_real(queries: F32, targets: VectorSource, ranked: I64, force: bool) -> list[str]:
    nearest = unit_rows(targets.take(ranked[:, 0]), "targets")
    same = np.einsum("md,md->m", unit_rows(queries, "queries"), nearest) >= _SAME
    count = int(np.count_nonzero(same))
    if count > MOST_SAME * len(queries) and not force:
        raise InputError(
            "queries",
            "real queries: a target finds itself first, and its neighbours are not what people see, so hubs that were "
            f"planted for queries stay hidden{advice(' ({} takes them all the same)', 'force', 'true')}",
            f"{100 * count / len(queries):.0f} % that are targets, or copies of them",
        )
    return [f"{count:,} of the queries are targets, or copies of them"] if count else []
