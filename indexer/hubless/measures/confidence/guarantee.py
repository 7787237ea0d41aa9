"""Cuts that keep a promise: of the answers above, at least this share is right, by labelled answers, and we are sure.

Labelled answers stand in order of their confidence. For growing counts of the best ones, a binomial test asks if more
than 1 − accuracy of such answers may be wrong. The last count before the first that may be so is the cut: one sequence
that stops at its first failure needs no correction for many tests. The first count is a tenth of the labels, at least:
it is fixed before any outcome is seen, and a few wrong ones among the surest do not end all.
"""

from bisect import bisect_left
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubless.errors import InputError
from hubless.measures.chance import binomial
from hubless.vectors.arrays import I64, check_between

ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99)
"""A calibrated model keeps a cut for each."""
SURE = 0.9
"""How sure a promise is, unless you ask for another chance."""
_BLOCK = 10
"""The first test takes one of so many labels, at least: the more labels, the less a few unlucky ones count."""
_GROWTH = 0.1
"""Each count is so much above the one before."""
_MOST = 2**50
"""More labels than anybody has."""
_ROOM = 1.5
"""So many labels for each that the first test takes: then two of three queries may be answered from the start."""


@dataclass(frozen=True)
class GuaranteedCut:
    """A threshold, and the share of the labelled answers that are at or above it; None and 0 if nothing is sure enough.

    `more` is about how many more labels are needed before there is hope: 0 where a cut was found, or where the labels
    are enough, and the surest answers are wrong too often.
    """

    threshold: float | None
    share: float
    more: int = 0


def guaranteed_cut(confidence: ArrayLike, right: ArrayLike, accuracy: float = 0.9, sure: float = SURE) -> GuaranteedCut:
    """Return the lowest threshold above which `accuracy` of the answers are right, with a chance of `sure`.

    The promise is about queries like the labelled ones: for labels (m,) drawn from them, the cut is above the promised
    share of wrong answers in at most 1 − sure of all draws. Tests are exact, after Clopper and Pearson (Biometrika
    1934), in a fixed sequence (Bauer, Biometrical Journal 1991). Raises `InputError`.

    Parameters
    ----------
    confidence : (m,) higher is surer: any number that orders answers
    right : (m,) whether the first hit was right
    accuracy, sure : above 0 and below 1
    """
    check_chance("accuracy", accuracy)
    check_chance("sure", sure)
    values = np.asarray(confidence, np.float64).ravel()
    known = np.asarray(right, np.bool_).ravel()
    if len(values) != len(known):
        raise InputError("right", f"one for each of the {len(values)} answers", len(known))
    if not np.isfinite(values).all():
        raise InputError("confidence", "finite numbers", "others")
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    wrong = np.cumsum(~known[order])
    ends = last_of_equals(ordered)  # equals go together
    found = None
    count = first_test(accuracy, sure, len(values))
    while count <= len(values):
        end = int(ends[np.searchsorted(ends, count - 1)])
        if not _passes(int(wrong[end]), end + 1, accuracy, sure):
            break
        found = end
        count = max(end + 2, min(len(values), ceil((end + 1) * (1 + _GROWTH))))  # all labels are the last test
    if found is None:
        return GuaranteedCut(None, 0.0, max(0, labels_needed(accuracy, sure) - len(values)))
    return GuaranteedCut(float(ordered[found]), (found + 1) / len(values))


def last_of_equals(ordered: NDArray[np.floating]) -> I64:
    """Return the last places of equal numbers in numbers (m,) that are in order."""
    return np.flatnonzero(np.append(ordered[:-1] != ordered[1:], [True] * bool(len(ordered))))


def labels_needed(accuracy: float, sure: float = SURE) -> int:
    """Return from how many labels on a cut can be hoped for: 57 for 0.9 and 0.9."""
    return ceil(_ROOM * _least(1, accuracy, sure))


def first_test(accuracy: float, sure: float, labels: int) -> int:
    """Return how many of the best answers the first test takes: so many that one may be wrong, if there are as many.

    A tenth of the labels, if that is more.
    """
    one = _least(1, accuracy, sure)
    return max(one if one <= labels else _least(0, accuracy, sure), labels // _BLOCK)


def _least(wrong: int, accuracy: float, sure: float) -> int:
    """Return the least count that passes with so many wrong ones, 0 or 1."""
    return wrong + bisect_left(range(wrong, _MOST), True, key=lambda count: _passes(wrong, count, accuracy, sure))


def _passes(wrong: int, count: int, accuracy: float, sure: float) -> bool:
    """Return whether so few wrong ones have a chance of at most 1 − sure, if 1 − accuracy of all such are wrong."""
    return bool(binomial(wrong, count, 1 - accuracy).sum() <= (1 - sure) * (1 + 1e-9))


def check_chance(name: str, value: float) -> None:
    """Raise `InputError` unless 0 < value < 1."""
    check_between(name, value, 0, 1)
    if value in (0, 1):
        raise InputError(name, "a number above 0 and below 1: no sample makes certain", value)
