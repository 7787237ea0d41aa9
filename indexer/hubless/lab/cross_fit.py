"""Rankings by bank queries that are held out from the fit, and the gain to expect from them, without labels.

A correction gains where it changes the first answer, and more where it evens out more: `SLOPE` · moved · evened. How
far measured gains are from that was found on six real and six made-up sets: `benchmarks/expected_gain.py`.
"""

from dataclasses import dataclass

import numpy as np

from hubless import measures
from hubless.corrections import Correction, Details
from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.knn.augment import centre
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import SelectedVectors, VectorSource

FOLDS = 5
MOST_QUERIES = 2000
"""Queries that measure well enough; of a larger bank the rest is only fitted on."""
DEPTH = 10
SLOPE = 0.94
BELOW, ABOVE, PER_MOVED = -1.54, 3.42, 10.0
"""The interval is the expected gain, in points, plus `BELOW` to `ABOVE` times (1 + moved in % / `PER_MOVED`).
On sets that were left out of the fit it held 88 % of the gains, and 47 % of the worst set's, which has no hubs."""


@dataclass(frozen=True)
class HeldOut:
    """The first k targets (m, k), best first, of the bank queries in `rows`, raw and by fits without the query."""

    rows: I64
    queries: F32
    similarities: F32
    raw: I64
    corrected: I64
    offsets: F32
    details: Details


@dataclass(frozen=True)
class Signs:
    """Signs of the gain: share of queries whose first answer moves, and fall of the Robin Hood index of N_10."""

    moved: float
    evened: float


@dataclass(frozen=True)
class ExpectedGain:
    """Change of R@1 by `auto`, in points: the expected one, and an interval for nine banks of ten or more."""

    points: float
    low: float
    high: float


def held_out_rankings(
    correction: Correction,
    bank: VectorSource,
    targets: VectorSource,
    k: int,
    *,
    target_bank: VectorSource | None = None,
    seed: int = 0,
    advance: Advance = no_progress,
) -> HeldOut:
    """Rank all targets (n, d) for at most 2,000 bank queries (b, d), fold by fold, by a fit on the rest of the bank."""
    count = bank.shape[0]
    if count < 2 * FOLDS:
        raise InputError(bank.name, f"at least {2 * FOLDS} queries, as some are held out in turn", count)
    order = np.random.default_rng(seed).permutation(count)[:MOST_QUERIES]
    rankings, offsets, details = [], [], []
    for part in np.array_split(order, FOLDS):
        fold = np.sort(part)
        kept = SelectedVectors(bank, np.setdiff1d(np.arange(count), fold), bank.name)
        fitted = correction.fit(kept, targets, target_bank)
        offsets.append(centre(fitted.offsets(targets)))
        details.append(fitted.details)
        queries = bank.take(fold)
        similarities, raw = top_k(queries, targets, k)
        rankings.append((fold, queries, similarities, raw, top_k(queries, targets, k, offsets[-1])[1]))
        advance(1)
    rows, all_queries, similarities, raws, corrected = (np.concatenate(parts) for parts in zip(*rankings, strict=True))
    mean = np.asarray(np.mean(offsets, axis=0, dtype=np.float64), np.float32)
    return HeldOut(rows, all_queries, similarities, raws, corrected, mean, details[0])


def signs(held: HeldOut, targets: int) -> Signs:
    """Read the signs off held-out rankings of n targets."""
    depth = min(DEPTH, held.raw.shape[1])
    raw, corrected = (
        measures.robin_hood(measures.k_occurrence(rows[:, :depth], targets)) for rows in (held.raw, held.corrected)
    )
    return Signs(float(np.mean(held.raw[:, 0] != held.corrected[:, 0])), raw - corrected)


def expected_gain(found: Signs) -> ExpectedGain:
    """Return the gain to expect with queries like those of the bank."""
    moved = 100 * found.moved
    points = SLOPE * moved * found.evened
    scale = 1 + moved / PER_MOVED
    return ExpectedGain(points, points + BELOW * scale, points + ABOVE * scale)
