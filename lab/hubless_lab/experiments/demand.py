"""The law by which people ask: Zipf's, and as much as is wanted more often for what lies at hubs."""

from collections.abc import Mapping

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from hubless.errors import InputError
from hubless.vectors.arrays import F64, I64, check_between

Demand = float | Mapping[str, float]
"""The exponent of Zipf's law, or with `hubs`, a rank correlation, as {"exponent": 1.15, "hubs": 0.5}."""


def checked(demand: Demand) -> tuple[float, float]:
    """Return exponent and rank correlation of a demand. Raises `InputError`."""
    given = demand if isinstance(demand, Mapping) else {"exponent": demand}
    if not {"exponent"} <= given.keys() <= {"exponent", "hubs"}:
        raise InputError("demand", 'an exponent, or {"exponent": 1.15, "hubs": 0.5}', demand)
    hubs = given.get("hubs", 0.0)
    check_between("demand", given["exponent"], 0, float("inf"))
    check_between("demand hubs", hubs, 0, 1)
    return float(given["exponent"]), float(hubs)


def towards_hubs(order: I64, hubness: F64, correlation: float) -> I64:
    """Return queries (m,) in a random order, changed so that hubs come first as much as the rank correlation says.

    `hubness` (m,) is that of what each wants. Both orders become normal scores, whose mixture has this rank correlation
    (Kruskal, JASA 1958); of 0, the order stays as it is.
    """
    weight = 2 * np.sin(np.pi * correlation / 6)
    before, nearer = (_normal(rankdata(each, "ordinal")) for each in (-np.arange(len(order)), hubness))
    return order[np.argsort(-weight * nearer - np.sqrt(1 - weight**2) * before, kind="stable")]


def _normal(ranks: I64) -> F64:
    scores: F64 = ndtri((ranks - 0.5) / len(ranks))
    return scores
