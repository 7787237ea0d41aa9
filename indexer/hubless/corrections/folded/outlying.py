"""Outlying offsets, which keep their full size: a planted hub, for one, must not profit from shrinkage.

Noise does not make an offset that lies many deviations above nearly all. Measured: `benchmarks/planted_hubs.py`.
"""

from dataclasses import dataclass

import numpy as np

from hubless.vectors.arrays import F64

OUTLYING, FAR_OUT = 6.0, 8.0
"""Between these robust z-scores of an offset, shrinkage fades out."""
NORMAL_DEVIATION = 1.4826
"""Times the median absolute deviation, it estimates a normal distribution's standard deviation."""


@dataclass(frozen=True)
class Outlying:
    """The median offset c, and the offsets at which shrinkage begins and ends to fade."""

    centre: float
    low: float
    high: float

    def shrunk(self, offsets: F64, shrinkage: float) -> F64:
        """k·h + (1 − k)·w·(h − c), with the shrinkage k, and w rising from 0 at `low` to 1 at `high`."""
        weight = rise(offsets, self.low, self.high)
        kept: F64 = shrinkage * offsets + (1 - shrinkage) * weight * (offsets - self.centre)
        return kept


def find_outlying(offsets: F64) -> Outlying | None:
    """Return the limits of outlying offsets: 6 to 8 robust deviations above the median of offsets (n,) of a sample.

    None if half of the offsets are the same, or some not finite: there is nothing to compare with.
    """
    if not np.isfinite(offsets).all():  # vectors are too long: what uses the offsets says so
        return None
    centre = float(np.median(offsets))
    deviation = NORMAL_DEVIATION * float(np.median(np.abs(offsets - centre)))
    low, high = centre + OUTLYING * deviation, centre + FAR_OUT * deviation
    return Outlying(centre, low, high) if low < high else None


def rise(values: F64 | float, low: float, high: float) -> F64:
    """Return 3u² − 2u³ with u = clip((value − low)/(high − low), 0, 1): 0 up to `low`, 1 from `high` on."""
    u = np.clip((np.asarray(values, np.float64) - low) / (high - low), 0, 1)
    risen: F64 = u**2 * (3 - 2 * u)
    return risen
