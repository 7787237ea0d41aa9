"""The temperature of the softmax methods, chosen by perplexity, as its scale differs between models by a factor of 5.

τ is such that the softmax over the bank, p_i ∝ exp(q_i·t/τ), has on average a given number of effective bank queries
per target: exp(mean entropy) = P.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
SMALLEST_LACK = 1e-9
"""Of log b − entropy: what rounding leaves where the entropy is log b."""
MOST_SECANTS, MOST_STEPS = 12, 60
"""After the secants the bracket is halved, 19 times at most. Three to six steps are usual."""
LEAST_SPREAD = 1e-30
"""Of similarities: float32 cannot divide smaller ones by a temperature of their size."""


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


@dataclass(frozen=True)
class AtTemperature:
    """Base of softmax methods: τ, or "auto" for the one of a perplexity over the bank; None is `default_perplexity`."""

    temperature: float | Literal["auto"] = "auto"
    perplexity: float | None = None

    def __post_init__(self) -> None:
        check_temperature(self.temperature, self.perplexity)


def default_perplexity(bank_queries: float) -> float:
    """P = clip(0.1·b, 20, 100), and at most b/2 for very small banks."""
    clipped = float(np.clip(SHARE_OF_BANK * bank_queries, LEAST_PERPLEXITY, MOST_PERPLEXITY))
    return min(clipped, max(bank_queries / 2, 1.0))


def resolve_temperature(
    temperature: float | Literal["auto"], perplexity: float | None, bank: VectorSource, targets: VectorSource
) -> Temperature:
    """The temperature that is asked for, or the one whose perplexity, below b, over the bank is P.

    Raises `InputError` for a perplexity that is not below b.
    """
    if temperature != "auto":
        return Temperature(float(temperature))
    bank_queries = bank.shape[0]
    if perplexity is not None and perplexity >= bank_queries:
        raise InputError("perplexity", f"less than the {bank_queries} rows of the query bank", perplexity)
    wanted = perplexity or default_perplexity(bank_queries)
    rows = int(np.clip(SAMPLED_SIMILARITIES // bank_queries, FEWEST_TARGETS, MOST_TARGETS))
    similarities = in_memory(sample(targets, rows)) @ in_memory(bank).T
    return temperature_of(similarities, wanted)


def temperature_of(similarities: F32, wanted: float) -> Temperature:
    """Return the temperature whose perplexity over similarities (n, b) to the bank is the one that is wanted.

    Raises `InputError` for similarities that are too small for float32.
    """
    spread = float(similarities.std(axis=1, dtype=np.float64).mean())
    if spread == 0:  # every target is equally near to all of the bank: any τ gives the same softmax
        return Temperature(1.0, float(similarities.shape[1]))
    if not LEAST_SPREAD <= spread < np.inf:
        expected = f"products with the query bank that differ by {LEAST_SPREAD:g} or more: scale the vectors"
        raise InputError("targets", expected, f"a standard deviation of {spread:g}")
    shifted = similarities - similarities.max(axis=1, keepdims=True)
    return temperature_by(partial(mean_entropy, shifted), spread, similarities.shape[1], wanted)


def temperature_by(entropy: Callable[[float], float], spread: float, count: int, wanted: float) -> Temperature:
    """Find log τ by the secant method: the perplexity rises with τ, from the number of ties at the top to `count`.

    `entropy` is that of a temperature, in nats, and `spread` the standard deviation of the similarities. Of normal ones
    the entropy is log b − σ²/2τ², so log(log b − entropy) falls by 2·log τ; of others, nearly.
    """
    low, high = np.log(spread / BRACKET), np.log(spread * BRACKET)
    most = np.log(count)
    lacking = most - np.log(float(wanted))
    here = float(np.clip(np.log(spread) - np.log(2 * lacking) / 2, low, high))
    slope = -2.0
    last: tuple[float, float] | None = None
    for steps in range(1, MOST_STEPS):
        reached = entropy(float(np.exp(here)))
        excess = float(np.log(max(most - reached, SMALLEST_LACK) / lacking))
        low, high = (here, high) if excess > 0 else (low, here)
        if last is not None and excess != last[1]:
            slope = (excess - last[1]) / (here - last[0])
        step = -excess / slope
        if min(abs(step), (high - low) / 2) <= RELATIVE_ACCURACY / 2:
            break
        last = here, excess
        here = here + step if low < here + step < high and steps < MOST_SECANTS else (low + high) / 2
    return Temperature(float(np.exp(here)), float(np.exp(reached)))
