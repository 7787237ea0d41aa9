"""Banks that are parts of one bank, such as all of it and all but the held-out queries. One product serves them all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubless.vectors.arrays import F32, F64, I64
from hubless.vectors.sources import SelectedVectors, VectorSource


@dataclass(frozen=True)
class Part:
    """Rows of a bank of `count`: some of them, ascending, or all (None)."""

    count: int
    rows: I64 | None = None

    def spread(self, values: F64) -> F64:
        """Return values of the part (p,) at their rows of the whole bank (b,), and 0 elsewhere."""
        if self.rows is None:
            return values
        spread = np.zeros(self.count)
        spread[self.rows] = values
        return spread

    @property
    def mask(self) -> F32:
        """(b,) 0 for rows of the part, and −∞ for others."""
        mask = np.full(self.count, -np.inf, np.float32)
        mask[self.rows] = 0
        return mask


def shared(banks: Sequence[VectorSource]) -> list[tuple[VectorSource, dict[int, Part]]]:
    """Return the fewest banks that the given ones are parts of, each with its parts by their number."""
    wholes: dict[int, tuple[VectorSource, dict[int, Part]]] = {}
    for number, bank in enumerate(banks):
        whole, rows = (bank.source, bank.rows) if isinstance(bank, SelectedVectors) else (bank, None)
        wholes.setdefault(id(whole), (whole, {}))[1][number] = Part(whole.shape[0], rows)
    # a part alone is multiplied alone: the other rows of its bank would be for nothing
    return [
        (whole, parts) if len(parts) > 1 else (banks[number], {number: Part(banks[number].shape[0])})
        for whole, parts in wholes.values()
        for number in [min(parts)]
    ]
