"""The targets that meet a filter: a bitmap for Faiss and, where they are few, their row numbers."""

from collections import OrderedDict
from threading import Lock

import faiss
import numpy as np
from numpy.typing import NDArray

from hubless.forks import in_each_process
from hubless.vectors.arrays import I64
from hubless.vectors.payload import Masks, PayloadRows

_KEPT = np.dtype(np.uint32)
_PAGE_BYTES = 8192


class Matches:
    """The targets, of n, that meet a filter, without some rows.

    `bits` (⌈n/8⌉,): target i is bit i mod 8, from the lowest, of byte ⌊i/8⌋, as in Arrow and in Faiss. An engine that
    evaluates filters itself needs `filter` and `without`. `selector` reads the bits, for several threads. `tried`,
    `missed`: how many queries looked among the best of all targets, and found too few matches there.
    """

    def __init__(self, mask: NDArray[np.bool_], filter: Masks | None = None, without: I64 | None = None) -> None:
        self.filter = filter
        self.without = without
        self._take(np.packbits(mask, bitorder="little"), len(mask))

    @classmethod
    def of_rows(cls, rows: NDArray[np.integer], total: int, filter: Masks | None, without: I64 | None) -> "Matches":
        """Return some of so many rows as matches."""
        mask = np.zeros(total, np.bool_)
        mask[rows] = True
        return cls(mask, filter, without)

    def _take(self, bits: NDArray[np.uint8], total: int) -> None:
        """Take bits, all 0 beyond the last target."""
        self.bits = bits
        self.total = total
        self.count = int(np.bitwise_count(bits).sum(dtype=np.int64))
        self.selector = faiss.IDSelectorBitmap(bits)
        self.tried = self.missed = 0
        # they take no more memory than the bits, and an index of float32 looks up no more rows than these
        few = self.count * _KEPT.itemsize <= bits.nbytes and total <= np.iinfo(_KEPT).max
        self._rows = np.flatnonzero(self.mask).astype(_KEPT) if few else None

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.bits.nbytes + (0 if self._rows is None else self._rows.nbytes)

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Return a mask (n,) of the targets that match."""
        return np.unpackbits(self.bits, count=self.total, bitorder="little").view(np.bool_)

    @property
    def rows(self) -> I64:
        """The rows that match, ascending, (count,)."""
        if self._rows is not None:
            return self._rows.astype(np.int64)
        return np.flatnonzero(self.mask)

    def part(self, start: int, stop: int) -> "Matches":
        """The matches among some targets, numbered from 0. They share the bits where both are multiples of 8."""
        shift, first = start % 8, start // 8
        bits = self.bits[first : -(-stop // 8)]
        if shift:
            above = np.append(bits[1:], np.uint8(0)) << np.uint8(8 - shift)
            bits = (bits >> np.uint8(shift) | above)[: -(-(stop - start) // 8)]
        if (rest := (stop - start) % 8) and bits[-1] >> rest:
            bits = bits.copy()
            bits[-1] &= (1 << rest) - 1
        part = object.__new__(Matches)
        part.filter = part.without = None  # a shard looks at the bits
        part._take(bits, stop - start)
        return part

    def hold(self, rows: I64) -> NDArray[np.bool_]:
        """Return which of some rows match."""
        found: NDArray[np.bool_] = (self.bits[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).astype(np.bool_)
        return found

    def page(self, start: int, limit: int) -> I64:
        """The first `limit` rows, from row `start` on, that match."""
        if self._rows is not None:
            place = int(np.searchsorted(self._rows, start))
            return self._rows[place : place + limit].astype(np.int64)
        found = [np.empty(0, np.int64)]
        first = start // 8
        while first < len(self.bits) and sum(map(len, found)) < limit:
            block = 8 * first + np.flatnonzero(np.unpackbits(self.bits[first : first + _PAGE_BYTES], bitorder="little"))
            found.append(block[block >= start])
            first += _PAGE_BYTES
        return np.concatenate(found)[:limit]


def find_matches(filter: Masks, payload: PayloadRows) -> Matches:
    """Evaluate a filter on all rows of a payload."""
    return Matches(payload.mask(filter), filter)


class MatchesCache:
    """A cache of the matches of recent filters, limited in bytes. Safe to use from several threads."""

    def __init__(self, payload: PayloadRows, room: int) -> None:
        self._payload = payload
        self._room = room
        in_each_process(self)

    def renew(self) -> None:
        self._held: OrderedDict[str, Matches] = OrderedDict()
        self._taken = 0
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        return self._taken

    def __len__(self) -> int:
        return len(self._held)

    def of(self, filter: Masks) -> Matches:
        if known := self.known(filter):
            return known
        # without the lock: rather two threads do the same work than one waits
        found = find_matches(filter, self._payload)
        with self._lock:
            self._keep(filter.key, found)
        return found

    def known(self, filter: Masks) -> Matches | None:
        with self._lock:
            if found := self._held.get(filter.key):
                self._held.move_to_end(filter.key)
            return found

    def _keep(self, key: str, found: Matches) -> None:
        size = found.nbytes + len(key)
        if key in self._held or size > self._room:
            return
        while self._taken + size > self._room:
            oldest, matches = self._held.popitem(last=False)
            self._taken -= matches.nbytes + len(oldest)
        self._held[key] = found
        self._taken += size
