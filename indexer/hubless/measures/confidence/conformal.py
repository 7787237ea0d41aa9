"""Lists as long as a promise needs: by labelled queries, the share that hits have to reach to be sent.

Split conformal prediction (Vovk, Gammerman and Shafer, 2005; with thresholds of probabilities Sadinle, Lei and
Wasserman, JASA 2019): of p labelled queries and a new one that is like them, each place in the order of shares is
equally likely for the new one. So the ⌈coverage·(p + 1)⌉-th largest share of a right hit lets in the right hit of a new
query with a chance of coverage, and of at most 1/(p + 1) more.
"""

from math import ceil, floor, inf

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F64

_STEPS = 1000
"""Coverages that can be had are told in so many steps, rounded down."""


def least_share(found: F64, coverage: float, limit: int) -> float:
    """Return the share from which on hits are sent, so that a right one is among them with a chance of `coverage`.

    `found` (p, 2) are share and rank of the best right hit of each labelled query; the rank is infinite where there is
    none, and the share 1 of a first hit, which is always sent. Of each query at most `limit` hits are sent. Raises
    `InputError` with the limit, or the coverage, that can be had.
    """
    shares, ranks = found.T
    count = ceil(round(coverage * (len(found) + 1), 6))
    within = np.sort(shares[ranks <= limit])[::-1]
    if count <= len(within):
        return float(within[count - 1])
    deepest = [*np.sort(ranks), inf][min(count, len(ranks) + 1) - 1]
    if deepest < inf:
        raise InputError("coverage", f"a limit of at least {deepest:g}, skipped hits included", f"{coverage:g} with {limit}")
    most = floor(_STEPS * np.isfinite(ranks).sum() / (len(ranks) + 1)) / _STEPS
    raise InputError("coverage", f"at most {most:g}, as by the labels no depth gives more", coverage)
