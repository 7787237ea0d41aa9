"""The temperature of the softmax methods, chosen by perplexity, as its scale differs between models by a factor of 5.

τ is such that the softmax over the bank, p_i ∝ exp(q_i·t/τ), has on average a given number of effective bank queries
per target: exp(mean entropy) = P.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from hubless.errors import InputError
from hubless.kernels.reductions import mean_entropy
from hubless.vectors.arrays import F32, check_between
from hubless.vectors.sources import VectorSource, in_memory, sample

SHARE_OF_BANK = 0.1
LEAST_PERPLEXITY, MOST_PERPLEXITY = 20.0, 100.0
SAMPLED_SIMILARITIES = 2**22
FEWEST_TARGETS, MOST_TARGETS = 64, 2048
BRACKET = 1e4
"""τ is searched within this factor of the similarities' spread, both ways."""
RELATIVE_ACCURACY = 1e-4


@dataclass(frozen=True)
class Temperature:
    """A temperature, and the perplexity that it gives on the sampled targets (None where it was not measured)."""

    value: float
    perplexity: float | None = None


def check_temperature(
    temperature: float | Literal["auto"], perplexity: float | None = None, name: str = "temperature"
) -> None:
    """Raise `InputError` unless τ is "auto" or above 0, and the perplexity above 1 and only with "auto"."""
    if temperature != "auto":
        if isinstance(temperature, str):
            raise InputError(name, 'a number above 0, or "auto"', repr(temperature))
        check_between(name, temperature, 0, float("inf"), open_low=True)
        if perplexity is not None:
            raise InputError("perplexity", 'none, as the temperature is not "auto"', perplexity)
    elif perplexity is not None:
        check_between("perplexity", perplexity, 1, float("inf"), open_low=True)


def default_perplexity(bank_queries: int) -> float:
    """P = clip(0.1·b, 20, 100), and at most b/2 for very small banks."""
    clipped = float(np.clip(SHARE_OF_BANK * bank_queries, LEAST_PERPLEXITY, MOST_PERPLEXITY))
    return min(clipped, max(bank_queries / 2, 1.0))


def resolve_temperature(
    temperature: float | Literal["auto"], perplexity: float | None, bank: VectorSource, targets: VectorSource
) -> Temperature:
    """The temperature that is asked for, or the one whose perplexity, below b, over the bank is P."""
    if temperature != "auto":
        return Temperature(float(temperature))
    bank_queries = bank.shape[0]
    if perplexity is not None and perplexity >= bank_queries:
        raise InputError("perplexity", f"less than the {bank_queries} rows of the query bank", perplexity)
    wanted = perplexity or default_perplexity(bank_queries)
    count = int(np.clip(SAMPLED_SIMILARITIES // bank_queries, FEWEST_TARGETS, MOST_TARGETS))
    similarities = in_memory(sample(targets, count)) @ in_memory(bank).T
    return temperature_of(similarities, wanted)


def temperature_of(similarities: F32, wanted: float) -> Temperature:
    """Bisect log τ: the perplexity rises with τ, from the number of ties at the top to b."""
    spread = float(similarities.std(axis=1, dtype=np.float64).mean())
    if spread == 0:  # every target is equally near to all of the bank: any τ gives the same softmax
        return Temperature(1.0, float(similarities.shape[1]))
    low, high = np.log(spread / BRACKET), np.log(spread * BRACKET)
    goal = np.log(wanted)
    while high - low > RELATIVE_ACCURACY:
        middle = (low + high) / 2
        if mean_entropy(similarities, float(np.exp(middle))) < goal:
            low = middle
        else:
            high = middle
    value = float(np.exp((low + high) / 2))
    return Temperature(value, float(np.exp(mean_entropy(similarities, value))))
