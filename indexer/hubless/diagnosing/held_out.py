"""Rankings by bank queries that are held out from the fit, and the gain to expect from them, without labels.

A correction gains where it changes the first answer, and more where it evens out more: `SLOPE` · moved · evened. How
far measured gains are from that was found on nine real and six made-up sets: `benchmarks/expected_gain.py`.
"""

from dataclasses import dataclass

import numpy as np

from hubless import measures
from hubless.builder.banks.bank_split import FEWEST, split_bank
from hubless.builder.pipeline.survey import held_out_survey
from hubless.corrections import Correction, Details
from hubless.errors import InputError
from hubless.knn.augment import centre
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import VectorSource

SIGN_DEPTH = 10
SLOPE = 1.45
BELOW, ABOVE, PER_MOVED = -1.49, 4.38, 10.0
"""The interval is the expected gain, in points, plus `BELOW` to `ABOVE` times (1 + moved in % / `PER_MOVED`).
On sets that were left out of the fit it held 90 % of the gains, and 40 % of the worst set's, which has no hubs."""


@dataclass(frozen=True)
class HeldOut:
    """The first k targets (m, k), best first, of the bank queries in `rows`, raw and by a fit without these."""

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
    """Rank all targets (n, d) for half of the bank (b, d), at most 1,000 queries, by a fit on the others."""
    count = bank.shape[0]
    if count < FEWEST:
        raise InputError(bank.name, f"at least {FEWEST} queries, as half of them are held out", count)
    split = split_bank(bank, seed)
    fitted, found = held_out_survey(correction, split, targets, target_bank, k, advance)
    raw, corrected = found.rows
    offsets = np.asarray(centre(found.offsets[0]), np.float32)
    return HeldOut(split.rows, split.queries, found.scores[0], raw, corrected, offsets, fitted.details)


def signs(held: HeldOut, targets: int) -> Signs:
    """Read the signs off held-out rankings of n targets."""
    depth = min(SIGN_DEPTH, held.raw.shape[1])
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
