"""One pass over all targets: their offsets by each fit, exact answers to queries of each, and the hubness of these.

An answer needs the offsets of the targets that it ranks, and no others. So a part of the targets is read, gets its
offsets, is ranked, and is not needed again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubless import measures
from hubless.builder.banks.bank_split import BankSplit
from hubless.builder.banks.default_strength import upheaval
from hubless.builder.indexing import in_segments
from hubless.builder.pipeline.checkpoints import Arrays, Checkpoints
from hubless.corrections import Correction, FittedCorrection, QueryTime
from hubless.corrections.alone import StandingAlone, find_alone
from hubless.corrections.centred import CentredCorrection
from hubless.corrections.fits import fit_each
from hubless.corrections.target_columns import NO_COLUMNS, TargetColumns, offsets_each
from hubless.kernels.reductions import best_of, rankings
from hubless.kernels.sharding import each_shard, is_sharded
from hubless.kernels.streaming import parts
from hubless.knn.augment import centre
from hubless.knn.base import Found
from hubless.measures.chance import Chance
from hubless.progress import Advance, Steps
from hubless.search.engines.scanned import ScannedVectors
from hubless.search.ranker import Question, Ranker
from hubless.store.bundle import Hubness, Measured
from hubless.vectors.arrays import F32, I64
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
    """Offsets (f, n) by each of the fits, not centred, and the best targets of all queries, raw and by their fit.

    `scores` and `rows` are (2, m, k), raw first. The queries of the first fit come first; `counts` says how many each
    fit has.
    """

    offsets: F32
    scores: F32
    rows: I64
    counts: tuple[int, ...]
    alone: tuple[StandingAlone | None, ...]
    held: I64 | None = None

    def found(self, fit: int) -> tuple[I64, I64]:
        """Return the rows (m, k) that the queries of a fit find, raw and corrected."""
        start = sum(self.counts[:fit])
        raw, corrected = self.rows[:, start : start + self.counts[fit]]
        return raw, corrected

    def upheaval(self) -> tuple[float, float]:
        """Return by the queries of the first fit how much it changes: see `default_strength.upheaval`."""
        raw, corrected = self.found(0)
        first = corrected[:, 0]
        scores = self.scores[:, : self.counts[0]]
        return upheaval(scores[0], raw[:, 0] != first, scores[1, :, 0] + self.offsets[0, first])

    def held_back(self, targets: VectorSource, queries: Sequence[F32]) -> "Survey":
        """Hold back offsets that stand `alone`; `held` are the rows by the last fit. Answer its queries anew."""
        alone = tuple(map(find_alone, self.offsets))
        pairs = list(zip(alone, self.offsets, strict=True))
        held = [np.empty(0, np.int64) if each is None else each.rows(h) for each, h in pairs]
        if not any(map(len, held)):
            return replace(self, alone=alone)
        offsets = np.stack([h if each is None else each.held_back(h).astype(np.float32) for each, h in pairs])
        scores, rows = _answers(queries, targets, self.rows.shape[2], offsets)
        return Survey(offsets, scores, rows, self.counts, alone, held[-1])


def survey(
    targets: VectorSource,
    fits: Sequence[FittedCorrection],
    queries: Sequence[F32],
    columns: TargetColumns,
    checkpoints: Checkpoints,
    advance: Advance,
    k: int = K_OCCURRENCE,
) -> Survey:
    """Read all targets (n, d) once. Find the k best of the queries (m, d) of each fit, raw and with its offsets."""
    k = min(k, targets.shape[0])
    work = partial(_survey_part, fits, queries, k)

    def of_piece(rows: VectorSource, here: slice, advance: Advance) -> Arrays:
        return _joined(_survey_parts(rows, columns[here], work, advance), k)

    made = _joined(checkpoints.pieces("survey", targets, of_piece, advance), k)
    return Survey(**made, counts=tuple(map(len, queries)), alone=(None,) * len(fits))


def held_out_survey(
    method: Correction,
    split: BankSplit,
    targets: VectorSource,
    target_bank: VectorSource | None,
    k: int,
    advance: Advance,
) -> tuple[FittedCorrection, Survey]:
    """Return the fit without the held-out queries, and their k best of all targets (n, d).

    A build does the same, beside the fit on all of the bank that it ships.
    """
    (fitted,) = fit_each(method, [split.others], targets, target_bank)
    return fitted, survey(targets, [fitted], [split.queries], NO_COLUMNS, Checkpoints(), advance, k)


def _survey_parts(
    targets: VectorSource, columns: TargetColumns, work: "partial[Arrays]", advance: Advance
) -> Iterator[Arrays]:
    if is_sharded(targets):
        yield from each_shard(targets, work, columns, advance=advance)
        return
    start = 0
    for part in parts(targets):
        stop = start + part.shape[0]
        yield work(part, columns[start:stop])
        advance(stop - start)
        start = stop


def _survey_part(
    fits: Sequence[FittedCorrection],
    queries: Sequence[F32],
    k: int,
    targets: VectorSource,
    columns: TargetColumns,
) -> Arrays:
    offsets = np.stack(offsets_each(fits, targets, columns))
    # of vectors that are too long, offsets are not finite: centring them names the first such target
    scores, rows = _answers(queries, targets, k, np.where(np.isfinite(offsets), offsets, 0))
    return {"offsets": offsets, "scores": scores, "rows": rows}


def _answers(queries: Sequence[F32], targets: VectorSource, k: int, offsets: F32) -> Found:
    """Return the best targets of all queries, scores and rows (2, m, k): raw, and with the offsets of their fit."""
    each = [rankings(some, targets, k, None, h) for some, h in zip(queries, offsets, strict=True)]
    scores = np.concatenate([np.stack([scores for scores, _ in pair]) for pair in each], axis=1)
    return scores, np.concatenate([np.stack([rows for _, rows in pair]) for pair in each], axis=1)


def _joined(parts: Iterable[Arrays], k: int) -> Arrays:
    offsets = []

    def ranked() -> Iterator[tuple[int, list[Found]]]:
        for part in parts:
            offsets.append(part["offsets"])
            yield part["offsets"].shape[1], list(zip(part["scores"], part["rows"], strict=True))

    scores, rows = zip(*best_of(ranked(), k), strict=True)
    return {"offsets": np.concatenate(offsets, axis=1), "scores": np.stack(scores), "rows": np.stack(rows)}


@dataclass(frozen=True)
class HubnessCounts:
    """N_10 (2, n) uint16, raw and corrected, of exact answers to some queries.

    `fitted_queries`: how many bank queries the fit has seen; None if that is not known. `held_out`: none of these.
    """

    queries: int
    occurrence: NDArray[np.uint16]
    held_out: bool = False
    fitted_queries: int | None = None

    @classmethod
    def of(cls, corrected: CorrectedTargets, queries: F32, found: tuple[I64, I64]) -> "HubnessCounts":
        """Count the answers, `found` raw and with the offsets, or by the gate or rescorer of the correction."""
        raw, rows = found
        scanned = ScannedVectors(corrected.targets, corrected.offsets)
        ranker = Ranker(in_segments([scanned], corrected.offsets), corrected.query_time)
        if not ranker.is_folded:
            if ranker.is_slow:
                every = -(-len(queries) // MOST_RESCORED)
                queries, raw = queries[::every], raw[::every]
            rows = ranker.rank(Question(queries, 1.0), raw.shape[1]).rows
        occurrence = [measures.k_occurrence(each, len(corrected.offsets)) for each in (raw, rows)]
        return cls(len(queries), np.stack(occurrence).astype(np.uint16))  # of 1,000 queries at most

    def record(self, recall: float) -> Measured:
        raw, corrected = self.occurrence.astype(np.int64)
        return Measured(
            queries=self.queries,
            held_out=self.held_out,
            fitted_queries=self.fitted_queries,
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
