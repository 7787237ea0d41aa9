"""Tells whether live queries (r, d) are still like those of the query bank (s, d)."""

import numpy as np

from hubless.vectors.arrays import F32, F64

PERMUTATIONS = 300
CHANCE_QUANTILE = 0.99
STALE = 3.0
"""Drift from which on the bank no longer stands for the live queries."""


def energy_drift(live: F32, bank: F32) -> float:
    """Return how far live queries (r, d) are from bank queries (s, d), beyond chance: 1 is the border of chance.

    (E − mean E₀) / (q − mean E₀), at least 0. E = 2·mean|x−y| − mean|x−x'| − mean|y−y'| is the energy distance, E₀ the
    same after live and bank queries are shuffled, and q the value that E₀ exceeds in 1 % of shuffles. Repeated queries
    count once: a popular query is no drift. Source: Székely and Rizzo, InterStat 2004, section 2.
    """
    live, bank = np.unique(live, axis=0), np.unique(bank, axis=0)
    weights = np.concatenate([np.full(len(live), 1 / len(live)), np.full(len(bank), -1 / len(bank))])
    distances = _distances(np.concatenate([live, bank]))
    rng = np.random.default_rng(0)
    shuffled = np.stack([rng.permutation(weights) for _ in range(PERMUTATIONS)], axis=1)
    by_chance = -np.einsum("ip,ip->p", shuffled, distances @ shuffled)
    middle = by_chance.mean()
    border = float(np.quantile(by_chance, CHANCE_QUANTILE) - middle)
    above = float(-weights @ distances @ weights - middle)
    return max(0.0, above / border) if border > 0 else 0.0


def drift_advice(drift: float) -> str | None:
    """Return what to do about a drift; None if it is no more than noise and fashion."""
    if drift <= STALE:
        return None
    return (
        f"The queries have left the query bank: their drift is {drift:.1f}, over {STALE:g}. Build again with recent "
        "queries as the bank."
    )


def _distances(rows: F32) -> F64:
    wide = rows.astype(np.float64)
    squares = np.einsum("id,id->i", wide, wide)
    distances: F64 = np.sqrt(np.maximum(squares[:, np.newaxis] + squares - 2 * wide @ wide.T, 0))
    np.fill_diagonal(distances, 0)
    return distances
