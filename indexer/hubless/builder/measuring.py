"""Measuring a new version: the hubness of its answers to bank queries, for each target and in total."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubless import measures
from hubless.builder.banks import Measuring
from hubless.corrections import Gate, QueryTime
from hubless.measures.chance import antihubs_by_chance, most_by_chance, skewness_by_chance
from hubless.search import canaries
from hubless.search.canaries import Canary
from hubless.search.indexed import IndexedTargets
from hubless.search.ranker import Ranker
from hubless.store.bundle import Hubness, Measured
from hubless.vectors.arrays import F32, I64

K_OCCURRENCE = 10
MOST_RESCORED = 200
"""How many held-out queries a rescorer answers; it can take a tenth of a second for each."""


@dataclass(frozen=True)
class Exact:
    """The rows (m, k) of the k best targets of each measuring query, raw and corrected by the offsets, best first."""

    raw: I64
    corrected: I64


@dataclass(frozen=True)
class Found:
    """What was measured.

    Attributes
    ----------
    occurrence : N_10 (2, n) uint16, raw and corrected
    """

    measured: Measured
    occurrence: NDArray[np.uint16]
    canary: Canary


def measure_version(
    targets: IndexedTargets,
    offsets: F32,
    query_time: QueryTime | None,
    measuring: Measuring,
    exact: Exact,
    recall: float,
) -> Found:
    """Measure hubness on bank queries, and make some of the queries, with their answers, the canaries.

    Recall is that of the folded ranking. Hubness is that of the answers, which a gate or a rescorer can change.
    """
    queries, raw, rows = measuring.queries, exact.raw, exact.corrected
    answers = None
    if query_time is not None:
        if not isinstance(query_time, Gate):
            chosen = slice(None, None, -(-len(queries) // MOST_RESCORED))
            queries, raw = queries[chosen], raw[chosen]
        answered = Ranker(targets, offsets, query_time).rank(queries, rows.shape[1], 1.0, {})
        rows, answers = answered.rows, answered.scores
    occurrence = [measures.k_occurrence(found, len(offsets)) for found in (raw, rows)]
    measured = Measured(
        queries=len(queries),
        held_out=measuring.held_out,
        recall_at_10=recall,
        hubness_raw=_hubness(occurrence[0]),
        hubness_corrected=_hubness(occurrence[1]),
        hubness_chance=by_chance(len(queries), len(offsets)),
    )
    canary = canaries.ask(targets, queries, rows.shape[1], answers)
    return Found(measured, np.stack(occurrence).astype(np.uint16), canary)  # of 1,000 queries at most


def by_chance(queries: int, targets: int) -> Hubness:
    """What so many queries would give if they found their targets at random."""
    k = min(K_OCCURRENCE, targets)
    return Hubness(
        skewness=skewness_by_chance(queries, targets, k),
        most=most_by_chance(queries, targets, k),
        antihubs=antihubs_by_chance(queries, targets, k),
    )


def _hubness(occurrence: I64) -> Hubness:
    return Hubness(
        skewness=measures.skewness(occurrence),
        most=int(occurrence.max()),
        antihubs=measures.antihub_occurrence(occurrence),
    )
