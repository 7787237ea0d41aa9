"""Rankings by queries that had no part in the fit, where a query bank is all there is."""

from dataclasses import dataclass

import numpy as np

from hubless.corrections import Correction, Details
from hubless.errors import InputError
from hubless.kernels.reductions import top_k
from hubless.knn.augment import centre
from hubless.progress import Advance, no_progress
from hubless.vectors.arrays import F32, I64
from hubless.vectors.sources import SelectedVectors, VectorSource

FOLDS = 5
MOST_QUERIES = 2000
"""So many queries measure well enough; of a larger bank the rest is only fitted on."""


@dataclass(frozen=True)
class HeldOut:
    """The first k targets of m queries, raw and corrected.

    Parameters
    ----------
    rows : (m,) the queries' rows in the bank
    queries : (m, d)
    similarities, raw : (m, k), best first
    corrected : (m, k), by offsets that were fitted without the query
    offsets : (n,) the mean of the fits, centred
    details : of the first fit
    """

    rows: I64
    queries: F32
    similarities: F32
    raw: I64
    corrected: I64
    offsets: F32
    details: Details


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
    """Rank all targets for bank queries, fold by fold: a fold is ranked by a fit on all of the bank but the fold.

    Parameters
    ----------
    correction : one that folds into offsets
    bank : (b, d); at most 2,000 of it, chosen at random, are ranked for
    targets : (n, d)
    advance : told of each fold

    Raises
    ------
    InputError
        if the bank has too few queries to hold any out.
    """
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
