"""Offsets that stand alone: nothing but queries made for one target lifts it so far above all others.

Somebody who may ask, or add to a bank, can bury a target by queries that are like it. Offsets of honest banks hardly
ever stand alone, as hubs are many and lie close together; docs/security.md has the figures.
"""

from dataclasses import dataclass

import numpy as np

from hubless.vectors.arrays import F32, F64, I64

USUAL, FAR = 0.95, 3.0
"""An offset stands alone if it lies FAR times as far above the median as this quantile does."""


@dataclass(frozen=True)
class StandingAlone:
    """Offsets above `above` stand alone, and are held back to `usual`, which 95 of 100 targets do not exceed."""

    above: float
    usual: float

    def held_back(self, offsets: F64) -> F64:
        """Return offsets (n,) of which those that stand alone are `usual`."""
        return np.where(offsets > self.above, self.usual, offsets)

    def rows(self, offsets: F32) -> I64:
        """Return which of offsets (n,) stand alone."""
        return np.flatnonzero(offsets > self.above)


def find_alone(offsets: F32) -> StandingAlone | None:
    """Return from where on offsets (n,), and those of later targets, stand alone; None if most are the same.

    A planted hub stands alone, too. It gets the offset of other hubs, and is named.
    """
    if not len(offsets) or not np.isfinite(offsets).all():
        return None
    median, usual = np.quantile(offsets.astype(np.float64), (0.5, USUAL))
    if usual <= median:
        return None
    return StandingAlone(float(median + FAR * (usual - median)), float(usual))
