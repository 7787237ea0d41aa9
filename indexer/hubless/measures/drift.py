"""Whether queries still are like those of the query bank.

Legend: r live queries, s bank queries, d dimensions.
"""

import numpy as np

from hubless.arrays import F32, F64

PERMUTATIONS = 300
LEVEL = 0.99


def energy_drift(live: F32, bank: F32, seed: int = 0) -> float:
    """How much further live and bank queries are apart than by chance: 0 is not at all, 1 the border of chance.

    (E − mean E₀) / (q − mean E₀), cut at 0, where E = 2·mean|x−y| − mean|x−x'| − mean|y−y'| is the energy distance, E₀
    the same after live and bank queries were dealt anew at random, and q the value that E₀ exceeds in 1 % of the cases.
    For a given shift it grows in proportion to the number of queries. Repeated queries count once: a popular one is
    no drift.

    Parameters
    ----------
    live : (r, d)
    bank : (s, d)
    seed : of the dealing

    Source: Székely and Rizzo, "Testing for equal distributions in high dimension", InterStat 2004, section 2.
    """
    live, bank = np.unique(live, axis=0), np.unique(bank, axis=0)
    weights = np.concatenate([np.full(len(live), 1 / len(live)), np.full(len(bank), -1 / len(bank))])
    distances = _distances(np.concatenate([live, bank]))
    rng = np.random.default_rng(seed)
    dealt = np.stack([rng.permutation(weights) for _ in range(PERMUTATIONS)], axis=1)
    by_chance = -np.einsum("ip,ip->p", dealt, distances @ dealt)
    middle = by_chance.mean()
    border = float(np.quantile(by_chance, LEVEL) - middle)
    above = float(-weights @ distances @ weights - middle)
    return max(0.0, above / border) if border > 0 else 0.0


def _distances(rows: F32) -> F64:
    wide = rows.astype(np.float64)
    squares = np.einsum("id,id->i", wide, wide)
    distances: F64 = np.sqrt(np.maximum(squares[:, np.newaxis] + squares - 2 * wide @ wide.T, 0))
    np.fill_diagonal(distances, 0)
    return distances
