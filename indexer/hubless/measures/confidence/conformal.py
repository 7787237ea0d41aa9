"""Lists as long as a promise needs: by labelled queries, the share that hits have to reach to be sent.

Split conformal prediction (Vovk, Gammerman and Shafer, 2005; with thresholds of probabilities Sadinle, Lei and
Wasserman, JASA 2019): of p labelled queries and a new one that is like them, each place in the order of shares is
equally likely for the new one. So the ⌈coverage·(p + 1)⌉-th largest share of a right hit lets in the right hit of a new
query with a chance of coverage, and of at most 1/(p + 1) more.
"""

from math import ceil, floor

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F32, F64, Flags


def right_hits(shares: F32, among: Flags) -> F64:
    """Return share and rank (p, 2) of the best right hit of each labelled query, by the shares (p, k) of its hits.

    A first hit has share 1, as it is always sent. The rank is infinite where none of the hits is `among` the right.
    """
    first = among.argmax(axis=1)
    best = np.minimum.accumulate(shares, axis=1)[np.arange(len(first)), first]
    return np.column_stack([np.where(first, best, 1), np.where(among.any(axis=1), first + 1, np.inf)])


def least_share(found: F64, coverage: float, limit: int) -> float:
    """Return the share from which on hits are sent, so that a right one is among them with a chance of `coverage`.

    `found` (p, 2) is what `right_hits` gave. Of each query at most `limit` hits are sent. Raises `InputError` with the
    limit, or the coverage, that can be had.
    """
    shares, ranks = found.T
    count = ceil(round(coverage * (len(found) + 1), 6)) or 1
    within = np.sort(shares[ranks <= limit])[::-1]
    if count <= len(within):
        return float(within[count - 1])
    deep = np.sort(ranks[np.isfinite(ranks)])
    if count <= len(deep):
        needed = f"a limit of at least {deep[count - 1]:g}, skipped hits included"
        raise InputError("coverage", needed, f"{coverage:g} with {limit}")
    most = floor(1000 * len(deep) / (len(found) + 1)) / 1000  # else what is told would be refused
    raise InputError("coverage", f"at most {most:g}, as by the labels no depth gives more", coverage)
