"""The counts of metrics, in the memory that the workers of a server share. Each adds in its slot; the sum is shown.

The files of prometheus_client have names that a cleaner can delete, and one set for each process that ever was.
"""

import json
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock

from prometheus_client.mmap_dict import mmap_key

from hubless_service.processes.shared import Shared

_WORD = 8


class CountTable:
    """The numbers of one slot by key. One process adds to it, all can read it, and a kill leaves it whole.

    Words of 8 bytes: how many are used; then, for each number, the length of its key, the number, and the key.
    """

    def __init__(self, memory: memoryview) -> None:
        self._bytes = memory
        self._words = memory.cast("Q")
        self.numbers = memory.cast("d")
        self.places: dict[str, int] = {}
        self._read = 1
        self.refresh()

    def refresh(self) -> None:
        """Read the keys that have come since the last call."""
        while self._read < self._words[0]:
            self._take_in(self._read, self._words[self._read])

    def place(self, key: str) -> int:
        """Return where the number of a key stands; a new one begins as 0."""
        if key not in self.places:
            encoded = key.encode()
            at = self._read
            begin = (at + 2) * _WORD
            self._bytes[begin : begin + len(encoded)] = encoded
            self._words[at] = len(encoded)
            self.numbers[at + 1] = 0.0
            self._take_in(at, len(encoded))
            self._words[0] = self._read  # last
        return self.places[key]

    def _take_in(self, at: int, length: int) -> None:
        begin = (at + 2) * _WORD
        self.places[bytes(self._bytes[begin : begin + length]).decode()] = at + 1
        self._read = at + 2 + -(-length // _WORD)


class SharedCounts:
    """The numbers of all workers of a server. `number` takes the place of prometheus_client's `ValueClass`."""

    def __init__(self, shared: Shared) -> None:
        self._tables = [CountTable(shared.memory.table(slot)) for slot in range(shared.memory.slots)]
        self._pids = shared.pids
        self._slot = shared.slot
        self._lock = Lock()
        self._known = set[str]()

    def number(
        self,
        kind: str,
        metric: str,
        name: str,
        label_names: Iterable[str],
        labels: Iterable[str],
        meaning: str,
        multiprocess_mode: str = "",
        **_more: object,
    ) -> "SharedCount":
        """Return a number of a metric. That of a gauge begins as 0, that of a counter where the worker before was."""
        key = mmap_key(metric, name, list(label_names), list(labels), meaning)
        with self._lock:
            place = self._tables[self._slot].place(key)
        is_gauge = kind == "gauge"
        fold = max if multiprocess_mode.endswith("max") else sum
        number = SharedCount(partial(self._of_all, key, living=is_gauge), fold, self._tables[self._slot].numbers, place)
        if is_gauge:
            number.set(0.0)
        return number

    def added(self) -> list[tuple[str, dict[str, str]]]:
        """Return metric and labels of the numbers that any worker has begun since the last call."""
        for table in self._tables:
            table.refresh()
        new = {key for table in self._tables for key in list(table.places)} - self._known
        self._known |= new
        return [(metric, labels) for metric, _, labels, _ in map(json.loads, new)]

    def _of_all(self, key: str, *, living: bool) -> list[float]:
        """Return the numbers of all slots; of living workers alone, if they say what is now."""
        return [
            table.numbers[table.places[key]]
            for pid, table in zip(self._pids, self._tables, strict=True)
            if key in table.places and (pid or not living)
        ]


class SharedCount:
    """One number of a metric, with the methods that prometheus_client calls."""

    def __init__(
        self,
        of_all: Callable[[], list[float]],
        fold: Callable[[list[float]], float],
        numbers: "memoryview[float]",
        place: int,
    ) -> None:
        self._of_all = of_all
        self._fold = fold
        self._numbers = numbers
        self._place = place
        self._lock = Lock()

    def inc(self, amount: float) -> None:
        """Add an amount in this worker."""
        with self._lock:
            self._numbers[self._place] += amount

    def set(self, value: float, timestamp: float | None = None) -> None:
        """Set what this worker says."""
        self._numbers[self._place] = value

    def get(self) -> float:
        """Return the number of all workers together."""
        return self._fold(self._of_all())

    def get_exemplar(self) -> None:
        """Return none."""
