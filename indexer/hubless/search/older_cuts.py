"""Models of confidence of format 6, as those of today: there presence was of z alone, and promises began at 0.8."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubless.measures.confidence.cut import PRESENCE, Cut
from hubless.measures.confidence.guarantee import ACCURACIES

_FAR = 1e30
"""The unit of similarities that count for nothing."""


def cut_state(state: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of a model of confidence: h = (z/½ + similarity/∞)/2 was z.

    A promise that was not made keeps what the next higher one does. No labels were kept for coverage.
    """
    state = {"found": np.zeros((0, 2)), **state}
    if "labels" in state:
        return state
    cuts = np.where(state["cuts"] > 1, np.nan, state["cuts"])
    return {
        "of_z": np.full(2, 0.5),
        "of_similarity": np.full(2, _FAR),
        "near": np.zeros(2),
        **state,
        "curves": np.stack([state["confidence"], state["presence"]]),
        "labels": np.array([*(state[name] for name in ("pairs", "strength", "sure")), 0.0]),
        "cuts": np.pad(cuts, (len(ACCURACIES) - len(cuts), 0), "edge"),
    }


def lasting_cut(cut: Cut) -> Cut:
    """Return the model whose calibration a new one takes over: presence of z alone says nothing of h."""
    return replace(cut, presence=PRESENCE) if cut.levels[0].of_similarity == _FAR else cut
