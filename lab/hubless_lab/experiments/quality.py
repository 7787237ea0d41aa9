"""Measures of confidence: how it orders answers, how many a cut leaves, and how far it is from a probability."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from hubless.measures.confidence.guarantee import last_of_equals
from hubless.vectors.arrays import F64, Flags

PARTS = 10
"""Of the calibration error: queries in order of their confidence are cut in so many parts."""


class PlainCut(NamedTuple):
    """A threshold, and the share of the queries that are at or above it. Share 0 with threshold 1: none is."""

    threshold: float
    share: float


def auroc(scores: NDArray[np.floating], right: Flags) -> float:
    """Return how likely a right answer scores higher than a wrong one; equal scores count half. NaN without both."""
    positive = int(right.sum())
    negative = len(right) - positive
    if not positive or not negative:
        return float("nan")
    return float((rankdata(scores)[right].sum() - positive * (positive + 1) / 2) / (positive * negative))


def answered_shares(scores: NDArray[np.floating], right: Flags) -> tuple[F64, F64, F64]:
    """Return thresholds, the share of queries at or above each, and the share of these that are right, (t,) each."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    ends = last_of_equals(ordered)
    answered = ends + 1
    return ordered[ends].astype(np.float64), answered / len(scores), np.cumsum(right[order])[ends] / answered


def cut_for(scores: NDArray[np.floating], right: Flags, accuracy: float) -> PlainCut:
    """Return the cut that answers the most queries while this share of the answers is right."""
    thresholds, shares, accuracies = answered_shares(scores, right)
    enough = np.flatnonzero(accuracies >= accuracy)
    return PlainCut(float(thresholds[enough[-1]]), float(shares[enough[-1]])) if len(enough) else PlainCut(1.0, 0.0)


def calibration_error(probabilities: NDArray[np.floating], right: Flags, parts: int = PARTS) -> float:
    """Return how far probabilities are from how often they come true: the mean over ten equal parts of the queries.

    Of m queries it is about √(0.16·parts/m) at most even if all are right. Source: Naeini et al., AAAI 2015.
    """
    order = np.argsort(probabilities, kind="stable")
    off = [abs(float(np.sum(probabilities[part]) - np.sum(right[part]))) for part in np.array_split(order, parts)]
    return sum(off) / max(1, len(right))
