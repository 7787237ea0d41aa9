"""The targets that meet a filter, and a cache of them."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from hubless.kernels.forks import in_each_process
from hubless.search.bitmap import Bitmap
from hubless.search.segments.scope import Scope
from hubless.search.segments.segment_rows import SegmentRows
from hubless.vectors.arrays import I64, Flags


class Matches:
    """Matches of a filter among n `targets`: bits of what was `found` in each segment; a search goes through `scope`.

    It takes `nbytes` of memory.
    """

    def __init__(self, targets: SegmentRows, found: Sequence[Bitmap], scope: Scope, nbytes: int) -> None:
        self.targets = targets
        self._found = found
        self.scope = scope
        self.nbytes = nbytes
        self.count = sum(bits.count for bits in found)

    @property
    def rows(self) -> I64:
        """The rows that match, ascending, (count,)."""
        return self.page(0, self.count)

    def hold(self, rows: I64) -> Flags:
        """Return which of some rows match."""
        found = np.zeros(len(rows), np.bool_)
        for number, here, inside in self.targets.parted(rows):
            found[here] = self._found[number].hold(inside)
        return found

    def page(self, start: int, limit: int) -> I64:
        """The first `limit` rows, from row `start` on, that match."""
        place = int(self.targets.places(np.array([start]))[0])
        pages = zip(self._found, self.targets.starts, strict=True)
        found = [first + bits.page(max(0, place - first), limit) for bits, first in pages]
        return self.targets.numbered(np.concatenate(found)[:limit])


class Sized(Protocol):
    """Something that takes memory."""

    @property
    def nbytes(self) -> int: ...


S = TypeVar("S", bound=Sized)


class MatchesCache:
    """A cache of what recent filters matched, limited in bytes. Safe to use from several threads."""

    def __init__(self, room: int) -> None:
        self.room = room
        in_each_process(self)

    def renew(self) -> None:
        """Begin anew, in a process that was forked."""
        self._held: OrderedDict[str, Any] = OrderedDict()
        self._taken = 0
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._taken

    def __len__(self) -> int:
        return len(self._held)

    def of(self, key: str, make: Callable[[], S]) -> S:
        """Return what is kept under a key, or make it."""
        if known := self.known(key):
            return known  # type: ignore[no-any-return]  # what was made under this key
        # without the lock: rather two threads do the same work than one waits
        found = make()
        with self._lock:
            self._keep(key, found)
        return found

    def known(self, key: str) -> Any:
        """Return what is kept under a key; None for nothing."""
        with self._lock:
            if found := self._held.get(key):
                self._held.move_to_end(key)
            return found

    def _keep(self, key: str, found: Sized) -> None:
        size = found.nbytes + len(key)
        if key in self._held or size > self.room:
            return
        while self._taken + size > self.room:
            oldest, kept = self._held.popitem(last=False)
            self._taken -= kept.nbytes + len(oldest)
        self._held[key] = found
        self._taken += size
