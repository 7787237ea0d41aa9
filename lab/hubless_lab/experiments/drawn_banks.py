"""Splits, logs and smaller banks that are drawn at random to measure corrections on."""

import re
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from hubless.errors import InputError
from hubless.vectors.arrays import F32, I64, check_at_least
from hubless_lab.experiments.demand import Demand

SEEDS = 10
ONE_FEWER = "targets-1"
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")


class DrawSettings(TypedDict, total=False):
    """Settings of `Draws`.

    Attributes
    ----------
    seeds : how many splits, with seeds 0, 1, …; by default 10
    bank_size : queries of the bank that are drawn at random, or their share as "20%", or "targets-1", one fewer than
        the targets (Yakovlev et al.); None takes all
    target_bank_size : the same of the target bank
    draws : how often they are drawn; by default once
    least_coverage : take those queries whose first targets are the fewest instead
    demand : in place of splits draw a log, as query bank, and tests from Zipf's law of this exponent over the queries;
        {"exponent": s, "hubs": 0.5} asks more often for what lies at hubs, by this rank correlation
    """

    seeds: int
    bank_size: int | str | None
    target_bank_size: int | str | None
    draws: int
    least_coverage: bool
    demand: Demand | None


@dataclass(frozen=True, kw_only=True)
class Draws:
    """Number and sizes of the banks that are drawn for trials: see `DrawSettings`.

    Raises `InputError` for settings that do not go together.
    """

    seeds: int = SEEDS
    bank_size: int | str | None = None
    target_bank_size: int | str | None = None
    draws: int = 1
    least_coverage: bool = False
    demand: Demand | None = None

    def __post_init__(self) -> None:
        check_at_least("seeds", self.seeds, 1)
        check_at_least("draws", self.draws, 1)
        if self.draws > 1 and (self.bank_size is None or self.least_coverage):
            expected = "1 without a bank size, or with the least coverage, as every draw is the same"
            raise InputError("draws", expected, self.draws)
        if self.least_coverage and self.bank_size is None:
            raise InputError("least coverage", "a bank size", "none")

    def of_queries(self, bank: F32, targets: F32, draw: int) -> F32:
        """Return the bank (b, d), or what is drawn of it. Raises `InputError` for a size above its own."""
        if self.bank_size is None:
            return bank
        asked = len(targets) - 1 if self.bank_size == ONE_FEWER else self.bank_size
        size = _size(asked, len(bank), "bank size", "queries of the bank")
        return bank[least_covering(bank, targets, size) if self.least_coverage else _drawn(len(bank), size, draw)]

    def of_targets(self, bank: F32 | None, draw: int) -> F32 | None:
        """Return the target bank (g, d), or what is drawn of it. Raises `InputError` for a size above its own."""
        if self.target_bank_size is None or bank is None:
            return bank
        size = _size(self.target_bank_size, len(bank), "target bank size", "targets of the bank")
        return bank[_drawn(len(bank), size, draw)]


def _drawn(count: int, size: int, seed: int) -> I64:
    return np.sort(np.random.default_rng(seed).choice(count, size, replace=False))


def _size(asked: int | str, count: int, parameter: str, what: str) -> int:
    """Return how many rows of a bank are meant by a number, or by a share such as "20%"."""
    size = asked
    if isinstance(size, str):
        percent = _PERCENT.fullmatch(size)
        if percent is None:
            raise InputError(parameter, "a number of rows, or a share such as 20%", size)
        size = max(1, round(count * float(percent[1]) / 100))
    check_at_least(parameter, size, 1)
    if size > count:
        raise InputError(parameter, f"at most the {count} {what}", asked)
    return size


def least_covering(bank: F32, targets: F32, count: int) -> I64:
    """Return so many bank queries whose first targets are the fewest: an adversarial bank (QB-Norm, 4.3)."""
    first = (bank @ targets.T).argmax(axis=1)
    found = np.bincount(first, minlength=len(targets))
    return np.sort(np.lexsort((first, -found[first]))[:count])
