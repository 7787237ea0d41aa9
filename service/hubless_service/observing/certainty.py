"""Confidence of live answers: how sure they are, how many a threshold leaves out, and whether that moves."""

import threading
from collections import deque
from typing import NamedTuple

import numpy as np

from hubless.vectors.arrays import F64

COMPARED, FEWEST_ANSWERS = 512, 50
"""Answers that are compared with as many of the first ones, and the fewest for which a drift is given."""
_CHANCE_BORDER = 2.576
"""Standard errors that chance exceeds in 1 % of cases."""


class Certainty(NamedTuple):
    """The mean confidence of the last answers, the share of them that a threshold left out, and how far both moved."""

    confidence: float
    unanswered_share: float
    drift: float | None  # 0 is not at all, 1 what chance exceeds in 1 % of cases; None for too few answers


class LiveConfidence:
    """The confidence of live answers of one version. Safe to use from several threads."""

    def __init__(self) -> None:
        self._first: list[tuple[float, bool]] = []
        self._last: deque[tuple[float, bool]] = deque(maxlen=COMPARED)
        self._lock = threading.Lock()

    def observe(self, confidence: float, is_sent: bool) -> None:
        """Keep the confidence of an answer, and whether it was sent."""
        with self._lock:
            kept = self._first if len(self._first) < COMPARED else self._last
            kept.append((confidence, is_sent))

    def figures(self) -> Certainty | None:
        """Return how sure the last answers were; None before any."""
        with self._lock:
            first, last = np.array(self._first, np.float64), np.array(self._last, np.float64)
        if not len(first):
            return None
        are_enough = len(last) >= FEWEST_ANSWERS
        confidence, answered = (last if are_enough else first).mean(axis=0).tolist()
        return Certainty(confidence, 1 - answered, _drift(first, last) if are_enough else None)


def _drift(first: F64, last: F64) -> float:
    apart = np.abs(first.mean(axis=0) - last.mean(axis=0))
    error = np.sqrt(first.var(axis=0) / len(first) + last.var(axis=0) / len(last))
    return float((apart / np.maximum(error, 1e-6)).max()) / _CHANCE_BORDER
