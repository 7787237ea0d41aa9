"""Rows that grow at the end without being copied each time."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEAST = 64


class Growing:
    """Rows (a, …), never changed: `with_rows` gives another, which shares the memory of this one where it can.

    Room for twice as many rows is taken when there is none left, so that appending a row costs that row only.
    """

    def __init__(self, rows: NDArray[Any]) -> None:
        self._memory = _Memory(rows.copy(), len(rows))
        self._count = len(rows)

    @property
    def rows(self) -> NDArray[Any]:
        """The rows, not copied."""
        found: NDArray[Any] = self._memory.rows[: self._count]
        return found

    def with_rows(self, more: NDArray[Any]) -> "Growing":
        """These, and then more."""
        grown = object.__new__(Growing)
        grown._count = self._count + len(more)
        grown._memory = self._memory
        if self._memory.used != self._count or grown._count > len(self._memory.rows):
            room = np.empty((max(_LEAST, 2 * grown._count), *more.shape[1:]), self._memory.rows.dtype)
            room[: self._count] = self.rows
            grown._memory = _Memory(room, self._count)
        grown._memory.rows[self._count : grown._count] = more
        grown._memory.used = grown._count
        return grown


class _Memory:
    """Rows of which the first `used` belong to somebody."""

    def __init__(self, rows: NDArray[Any], used: int) -> None:
        self.rows = rows
        self.used = used
