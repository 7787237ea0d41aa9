"""A smooth way from 0 to 1, for thresholds that must not jump."""

import numpy as np

from hubless.vectors.arrays import F64


def rise(values: F64 | float, low: float, high: float) -> F64:
    """3u² − 2u³ with u = clip((value − low)/(high − low), 0, 1): 0 up to `low`, 1 from `high` on."""
    u = np.clip((np.asarray(values, np.float64) - low) / (high - low), 0, 1)
    risen: F64 = u**2 * (3 - 2 * u)
    return risen
