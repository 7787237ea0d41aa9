"""What gain to expect of `auto` without labels, from what it does to queries that are held out.

A correction can only gain where it changes the first answer, and it gains more where it evens out more. So the gain is
taken as proportional to both: `SLOPE` · moved · evened. How far measured gains lie from that was found on six real and
six made-up sets, each predicted by a fit on the others: `benchmarks/expected_gain.py`, docs/measures.md. Coverage and
bank size were tried too, and made nothing better: small or narrow banks move and even out less.
"""

from dataclasses import dataclass

import numpy as np

from hubless import measures
from hubless.lab.cross_fit import HeldOut

DEPTH = 10
SLOPE = 0.94
BELOW, ABOVE, PER_MOVED = -1.66, 4.47, 10.0
"""The interval is the expected gain, in points, plus `BELOW` to `ABOVE` times (1 + moved in % / `PER_MOVED`).
On sets that were left out of the fit it held 98 % of the measured gains, and 89 % of the worst set's."""


@dataclass(frozen=True)
class Signs:
    """What the expected gain is read off.

    Parameters
    ----------
    moved : share of the held-out queries whose first answer `auto` changes, from 0 to 1
    evened : by how much `auto` lowers the Robin Hood index of N_10, from −1 to 1
    """

    moved: float
    evened: float


@dataclass(frozen=True)
class ExpectedGain:
    """Change of R@1 by `auto`, in points: the expected one, and an interval for nine banks of ten or more."""

    points: float
    low: float
    high: float


def signs(held: HeldOut, targets: int) -> Signs:
    """Read the signs off held-out rankings of n targets."""
    depth = min(DEPTH, held.raw.shape[1])
    raw, corrected = (
        measures.robin_hood(measures.k_occurrence(rows[:, :depth], targets)) for rows in (held.raw, held.corrected)
    )
    return Signs(float(np.mean(held.raw[:, 0] != held.corrected[:, 0])), raw - corrected)


def expected_gain(found: Signs) -> ExpectedGain:
    """What gain to expect with queries like those of the bank."""
    moved = 100 * found.moved
    points = SLOPE * moved * found.evened
    scale = 1 + moved / PER_MOVED
    return ExpectedGain(points, points + BELOW * scale, points + ABOVE * scale)
