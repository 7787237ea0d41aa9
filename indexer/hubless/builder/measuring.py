"""MeasuringQueries a correction: the hubness of its answers to bank queries, for each target and in total."""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from hubless import measures
from hubless.builder.banks.held_out import MeasuringQueries
from hubless.builder.correcting import Corrected
from hubless.corrections import Gate
from hubless.measures.chance import Chance
from hubless.progress import Steps
from hubless.search.ranker import Ranker
from hubless.search.scanned import ScannedTargets
from hubless.store.bundle import Hubness, Measured
from hubless.vectors.arrays import I64

K_OCCURRENCE = 10
MOST_RESCORED = 200
"""How many held-out queries a rescorer answers; it can take a tenth of a second for each."""


@dataclass(frozen=True)
class MeasuredHubness:
    """The hubness of exact answers to some queries.

    Parameters
    ----------
    queries : how many were asked
    occurrence : N_10 (2, n) uint16, raw and corrected
    """

    queries: int
    occurrence: NDArray[np.uint16]


def measure_hubness(
    corrected: Corrected, found: tuple[I64, I64], measuring: MeasuringQueries, steps: Steps
) -> MeasuredHubness:
    """Count what exact answers find, with the gate or rescorer of the correction if it has one.

    Parameters
    ----------
    found : (m, 10) the best targets of each measuring query, raw and with the offsets
    """
    steps.step("measuring hubness")
    queries, query_time = measuring.queries, corrected.query_time
    raw, rows = found
    if query_time is not None:
        if not isinstance(query_time, Gate):
            every = -(-len(queries) // MOST_RESCORED)
            queries, raw = queries[::every], raw[::every]
        targets = ScannedTargets(corrected.targets, corrected.offsets)
        rows = Ranker(targets, corrected.offsets, query_time).rank(queries, raw.shape[1], 1.0, {}).rows
    occurrence = [measures.k_occurrence(found, len(corrected.offsets)) for found in (raw, rows)]
    return MeasuredHubness(len(queries), np.stack(occurrence).astype(np.uint16))  # of 1,000 queries at most


def measured_record(hubness: MeasuredHubness, measuring: MeasuringQueries, recall: float) -> Measured:
    """What the manifest says of a version.

    Parameters
    ----------
    recall : of the index with the version's offsets
    """
    raw, corrected = hubness.occurrence.astype(np.int64)
    return Measured(
        queries=hubness.queries,
        held_out=measuring.held_out,
        fitted_queries=measuring.fitted_queries,
        recall_at_10=recall,
        hubness_raw=_hubness(raw),
        hubness_corrected=_hubness(corrected),
        hubness_chance=by_chance(hubness.queries, len(raw)),
    )


def by_chance(queries: int, targets: int) -> Hubness:
    """Return the hubness of so many queries that find their targets at random."""
    return Hubness(**asdict(Chance.of(queries, targets, K_OCCURRENCE)))


def _hubness(occurrence: I64) -> Hubness:
    return Hubness(
        skewness=measures.skewness(occurrence),
        most=int(occurrence.max()),
        antihubs=measures.antihub_occurrence(occurrence),
    )
