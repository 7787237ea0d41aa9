"""Banks that are parts of one bank, such as all of it and all but the held-out queries. One product serves them all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import SelectedVectors, VectorSource


@dataclass(frozen=True)
class Part:
    """Rows of a bank: `rows` of it, ascending, or all of them (None)."""

    count: int
    rows: I64 | None

    def spread(self, values: F64) -> F64:
        """Values of the part (p,) at their rows of the whole bank (b,), and 0 elsewhere."""
        if self.rows is None:
            return values
        spread = np.zeros(self.count)
        spread[self.rows] = values
        return spread

    @property
    def mask(self) -> F32 | None:
        """(b,) 0 for rows of the part, and −∞ for others; None if all rows are in it."""
        if self.rows is None:
            return None
        mask = np.full(self.count, -np.inf, np.float32)
        mask[self.rows] = 0
        return mask


@dataclass(frozen=True)
class Shared:
    """A bank, and the parts of it that were asked for, by their number."""

    bank: VectorSource
    parts: dict[int, Part]


def shared(banks: Sequence[VectorSource]) -> list[Shared]:
    """The fewest banks that the given ones are parts of."""
    wholes: dict[int, tuple[VectorSource, list[int]]] = {}
    for number, bank in enumerate(banks):
        whole = _whole(bank)
        wholes.setdefault(id(whole), (whole, []))[1].append(number)
    return [_shared(banks, whole, numbers) for whole, numbers in wholes.values()]


def _whole(bank: VectorSource) -> VectorSource:
    return bank.source if isinstance(bank, SelectedVectors) else bank


def _shared(banks: Sequence[VectorSource], whole: VectorSource, numbers: list[int]) -> Shared:
    if len(numbers) == 1:  # the others of the whole bank would be multiplied for nothing
        (number,) = numbers
        return Shared(banks[number], {number: Part(banks[number].shape[0], None)})
    parts = {}
    for number in numbers:
        bank = banks[number]
        parts[number] = Part(whole.shape[0], bank.rows if isinstance(bank, SelectedVectors) else None)
    return Shared(whole, parts)
