"""Live hubness by chance: what decayed counts look like if each query finds random targets."""

from typing import TypedDict

import numpy as np

ANTIHUB = float(np.exp(-1))
"""A target whose decayed count is below this is an antihub: one find, a window ago."""
_DRAWS = 4000
_RARE = 30  # finds in a window, on average, from which on no target is an antihub by chance


class ByChance(TypedDict):
    """Skewness and share of antihubs if all targets are equally likely."""

    skewness: float
    antihub_share: float


def decayed_by_chance(queries: float, finds: float, targets: int, half_life: float, streams: int = 1) -> ByChance:
    """Return what chance alone would give.

    With p = finds / (queries·n) and the weights w of the queries, the skewness is
    (1 − 2p)/√(p(1 − p)) · Σw³ / (Σw²)^1.5. The share of antihubs comes from random draws, always the same.

    Parameters
    ----------
    queries : sum of the weights of the queries, Σw
    finds : sum of the counts of all targets
    targets : n
    half_life : in queries
    streams : processes that count by themselves and whose counts were added
    """
    p = min(finds / (queries * targets), 1.0)
    if not 0 < p < 1:
        return {"skewness": 0.0, "antihub_share": float(p == 0)}
    decay = -np.log(2) / half_life  # of the logarithm of a weight, per query
    begun = max(1 + np.expm1(decay) * queries / streams, 1e-12)  # weight of the query before the first
    counted = np.log(begun) / decay
    squares, cubes = (streams * np.expm1(power * decay * counted) / np.expm1(power * decay) for power in (2, 3))
    skewness = (1 - 2 * p) / np.sqrt(p * (1 - p)) * cubes / squares**1.5
    return {"skewness": float(skewness), "antihub_share": _antihubs(p, counted, decay, streams)}


def _antihubs(p: float, counted: float, decay: float, streams: int) -> float:
    if p * min(counted, -1 / decay) * streams > _RARE:
        return 0.0
    rng = np.random.default_rng(0)
    finds = rng.poisson(-np.log1p(-p) * counted * streams, _DRAWS)
    weights = np.exp(decay * np.floor(rng.uniform(0, counted, finds.sum())))
    counts = np.bincount(np.repeat(np.arange(_DRAWS), finds), weights, _DRAWS)
    return float(np.mean(counts < ANTIHUB))
