"""One pass over all targets, for all that needs them all: their offsets by each fit, and exact answers to some queries.

An answer needs the offsets of the targets that it ranks, and no others. So a part of the targets is read, gets its
offsets, is ranked, and is not needed again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hubless.builder.checkpoints import Arrays, Checkpoints
from hubless.corrections import FittedCorrection
from hubless.corrections.fits import offsets_each
from hubless.corrections.prior import TargetPrior, prior_offsets
from hubless.kernels.reductions import best_of, rankings
from hubless.kernels.sharding import each_shard, is_sharded
from hubless.kernels.streaming import parts
from hubless.progress import Advance
from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import VectorSource


@dataclass(frozen=True)
class Surveyed:
    """What a pass leaves of targets.

    Parameters
    ----------
    offsets : (f, n) by each of the fits, not centred
    scores, rows : (1 + f, m, k) the best targets of each query: raw, and then by each of the offsets
    """

    offsets: F32
    scores: F32
    rows: I64


def survey(
    targets: VectorSource,
    fits: Sequence[FittedCorrection],
    queries: F32,
    k: int,
    prior: TargetPrior | None,
    checkpoints: Checkpoints,
    advance: Advance,
) -> Surveyed:
    """Read all targets (n, d) once.

    Parameters
    ----------
    queries : (m, d)
    k : how many targets of each query, at most n
    prior : of the targets, if the fits have one
    """
    work = partial(_of_part, fits, queries, k)

    def of_piece(rows: VectorSource, here: slice, advance: Advance) -> Arrays:
        values = None if prior is None else prior.values[here]
        return vars(_joined(_of_parts(rows, values, work, advance), k))

    return _joined((Surveyed(**piece) for piece in checkpoints.pieces("survey", targets, of_piece, advance)), k)


def _of_parts(
    targets: VectorSource, prior: F64 | None, work: "partial[Surveyed]", advance: Advance
) -> Iterator[Surveyed]:
    if is_sharded(targets):
        yield from each_shard(targets, work, prior, advance=advance)
        return
    start = 0
    for part in parts(targets):
        stop = start + part.shape[0]
        yield work(part, None if prior is None else prior[start:stop])
        advance(stop - start)
        start = stop


def _of_part(
    fits: Sequence[FittedCorrection], queries: F32, k: int, targets: VectorSource, prior: F64 | None
) -> Surveyed:
    offsets = np.stack([_with_prior(*each, prior) for each in zip(fits, offsets_each(fits, targets), strict=True)])
    # of vectors that are too long, offsets are not finite: centring them names the first such target
    ranked = rankings(queries, targets, k, None, *np.where(np.isfinite(offsets), offsets, 0))
    scores, rows = (np.stack(each) for each in zip(*ranked, strict=True))
    return Surveyed(offsets, scores, rows)


def _with_prior(fitted: FittedCorrection, offsets: F32, prior: F64 | None) -> F32:
    return offsets if prior is None else (offsets + prior_offsets(fitted, prior)).astype(np.float32)


def _joined(surveyed: Iterable[Surveyed], k: int) -> Surveyed:
    """What the passes over some parts leave, in their order."""
    offsets = []

    def ranked() -> Iterator[tuple[int, list[tuple[F32, I64]]]]:
        for part in surveyed:
            offsets.append(part.offsets)
            yield part.offsets.shape[1], list(zip(part.scores, part.rows, strict=True))

    scores, rows = zip(*best_of(ranked(), k), strict=True)
    return Surveyed(np.concatenate(offsets, axis=1), np.stack(scores), np.stack(rows))
