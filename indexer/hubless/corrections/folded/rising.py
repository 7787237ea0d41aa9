"""The smooth step between two limits, by which the rules of `auto` set in."""

import numpy as np

from hubless.vectors.arrays import F32, F64


def rise(values: F32 | F64 | float, low: float, high: float) -> F64:
    """Return 3u² − 2u³ with u = clip((value − low)/(high − low), 0, 1): 0 up to `low`, 1 from `high` on."""
    u = np.clip((values - low) / (high - low), 0, 1)
    risen: F64 = u**2 * (3 - 2 * u)
    return risen
