"""One pass over all targets: their offsets by each fit, exact answers to some queries, and the hubness of these.

An answer needs the offsets of the targets that it ranks, and no others. So a part of the targets is read, gets its
offsets, is ranked, and is not needed again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubless import measures
from hubless.builder.banks.bank_checks import MeasuringQueries
from hubless.builder.pipeline.checkpoints import Arrays, Checkpoints
from hubless.corrections import FittedCorrection, Gate, QueryTime
from hubless.corrections.alone import StandingAlone, find_alone
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.fits import offsets_each
from hubless.corrections.grouped import Names
from hubless.corrections.traits import TargetTraits
from hubless.kernels.reductions import best_of, rankings
from hubless.kernels.sharding import each_shard, is_sharded
from hubless.kernels.streaming import parts
from hubless.knn.augment import centre
from hubless.measures.chance import Chance
from hubless.progress import Advance, Steps
from hubless.search.ranker import Ranker
from hubless.search.scanned import ScannedTargets
from hubless.store.bundle import Hubness, Measured
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import VectorSource

K_OCCURRENCE = 10
MOST_RESCORED = 200
"""A rescorer answers so many held-out queries; it can take a tenth of a second for each."""


@dataclass(frozen=True)
class CorrectedTargets:
    """Targets (n, d) with their offsets (n,), centred, and the gate or rescorer of the correction if it has one."""

    targets: VectorSource
    correction: CentredCorrection
    offsets: F32
    query_time: QueryTime | None

    @classmethod
    def by(
        cls,
        fitted: FittedCorrection,
        targets: VectorSource,
        offsets: F32,
        steps: Steps,
        alone: StandingAlone | None = None,
    ) -> "CorrectedTargets":
        """Centre the offsets (n,) that a fit gives to targets (n, d), and prepare its gate or rescorer.

        Those that stand `alone` are held back already.
        """
        constant = float(offsets.astype("float64").mean())
        query_time = fitted.query_time(targets, steps.step("preparing for queries", targets.shape[0]))
        return cls(targets, CentredCorrection(fitted, constant, alone), centre(offsets), query_time)


@dataclass(frozen=True)
class Survey:
    """Offsets (f, n) by each of the fits, not centred, and the best targets of each query, (1 + f, m, k), raw first."""

    offsets: F32
    scores: F32
    rows: I64
    alone: tuple[StandingAlone | None, ...] = (None, None)
    held: I64 | None = None

    def held_back(self, targets: VectorSource, queries: F32) -> "Survey":
        """Hold back offsets that stand `alone`; `held` are the rows by the last fit. Answer queries (m, d) anew."""
        alone = tuple(map(find_alone, self.offsets))
        pairs = list(zip(alone, self.offsets, strict=True))
        held = [np.empty(0, np.int64) if each is None else each.rows(h) for each, h in pairs]
        if not any(map(len, held)):
            return replace(self, alone=alone)
        offsets = np.stack([h if each is None else each.held_back(h).astype(np.float32) for each, h in pairs])
        ranked = rankings(queries, targets, self.rows.shape[2], None, *offsets)
        scores, rows = (np.stack(each) for each in zip(*ranked, strict=True))
        return Survey(offsets, scores, rows, alone, held[-1])


def survey(
    targets: VectorSource,
    fits: Sequence[FittedCorrection],
    queries: F32,
    traits: TargetTraits,
    checkpoints: Checkpoints,
    advance: Advance,
) -> Survey:
    """Read all targets (n, d) once, and find the ten best of each query (m, d)."""
    k = min(K_OCCURRENCE, targets.shape[0])
    work = partial(_survey_part, fits, queries, k)

    def of_piece(rows: VectorSource, here: slice, advance: Advance) -> Arrays:
        made = _joined(_survey_parts(rows, traits[here], work, advance), k)
        return {"offsets": made.offsets, "scores": made.scores, "rows": made.rows}

    return _joined(
        (
            Survey(piece["offsets"], piece["scores"], piece["rows"])
            for piece in checkpoints.pieces("survey", targets, of_piece, advance)
        ),
        k,
    )


def _survey_parts(
    targets: VectorSource, traits: TargetTraits, work: "partial[Survey]", advance: Advance
) -> Iterator[Survey]:
    if is_sharded(targets):
        yield from each_shard(targets, work, traits.prior, traits.groups, advance=advance)
        return
    start = 0
    for part in parts(targets):
        stop = start + part.shape[0]
        here = traits[start:stop]
        yield work(part, here.prior, here.groups)
        advance(stop - start)
        start = stop


def _survey_part(
    fits: Sequence[FittedCorrection],
    queries: F32,
    k: int,
    targets: VectorSource,
    prior: F64 | None,
    groups: Names | None,
) -> Survey:
    offsets = np.stack(offsets_each(fits, targets, TargetTraits(prior, groups)))
    # of vectors that are too long, offsets are not finite: centring them names the first such target
    ranked = rankings(queries, targets, k, None, *np.where(np.isfinite(offsets), offsets, 0))
    scores, rows = (np.stack(each) for each in zip(*ranked, strict=True))
    return Survey(offsets, scores, rows)


def _joined(surveys: Iterable[Survey], k: int) -> Survey:
    offsets = []

    def ranked() -> Iterator[tuple[int, list[tuple[F32, I64]]]]:
        for part in surveys:
            offsets.append(part.offsets)
            yield part.offsets.shape[1], list(zip(part.scores, part.rows, strict=True))

    scores, rows = zip(*best_of(ranked(), k), strict=True)
    return Survey(np.concatenate(offsets, axis=1), np.stack(scores), np.stack(rows))


@dataclass(frozen=True)
class HubnessCounts:
    """N_10 (2, n) uint16, raw and corrected, of exact answers to some queries."""

    queries: int
    occurrence: NDArray[np.uint16]

    @classmethod
    def of(cls, corrected: CorrectedTargets, queries: F32, found: tuple[I64, I64], steps: Steps) -> "HubnessCounts":
        """Count the answers, `found` raw and with the offsets, or by the gate or rescorer of the correction."""
        steps.step("measuring hubness")
        query_time, (raw, rows) = corrected.query_time, found
        if query_time is not None:
            if not isinstance(query_time, Gate):
                every = -(-len(queries) // MOST_RESCORED)
                queries, raw = queries[::every], raw[::every]
            targets = ScannedTargets(corrected.targets, corrected.offsets)
            rows = Ranker(targets, query_time).rank(queries, raw.shape[1], 1.0, {}).rows
        occurrence = [measures.k_occurrence(each, len(corrected.offsets)) for each in (raw, rows)]
        return cls(len(queries), np.stack(occurrence).astype(np.uint16))  # of 1,000 queries at most

    def record(self, measuring: MeasuringQueries, recall: float) -> Measured:
        raw, corrected = self.occurrence.astype(np.int64)
        return Measured(
            queries=self.queries,
            held_out=measuring.held_out,
            fitted_queries=measuring.fitted_queries,
            recall_at_10=recall,
            hubness_raw=_hubness(raw),
            hubness_corrected=_hubness(corrected),
            hubness_chance=by_chance(self.queries, len(raw)),
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
