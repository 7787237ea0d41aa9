"""Rows of a segment that are searched: a bitmap for Faiss and, where they are few, their numbers."""

from collections.abc import Sequence

import faiss
import numpy as np

from hubless.vectors.arrays import I64, Flags
from hubless.vectors.payload import Masks

_KEPT = np.dtype(np.uint32)


class Bitmap:
    """Some rows, of n.

    `bits` (⌈n/8⌉,): row i is bit i mod 8, from the lowest, of byte ⌊i/8⌋, as in Arrow and in Faiss. An engine that
    evaluates filters itself needs `filter`, which selected the rows, and `without`, those that are gone. `selector`
    reads the bits, for several threads. `tried`, `missed`: how many queries looked among the best of all rows, and
    found too few of these there.
    """

    def __init__(self, mask: Flags, filter: Masks | None = None, without: I64 | None = None) -> None:
        self.filter = filter
        self.without = without
        self.bits = bits = np.packbits(mask, bitorder="little")
        self.total = total = len(mask)
        self.count = int(np.bitwise_count(bits).sum(dtype=np.int64))
        self.selector = faiss.IDSelectorBitmap(bits)
        self.tried = self.missed = 0
        # they take no more memory than the bits, and an index of float32 looks up no more rows than these
        few = self.count * _KEPT.itemsize <= bits.nbytes and total <= np.iinfo(_KEPT).max
        self._rows = np.flatnonzero(mask).astype(_KEPT) if few else None

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.bits.nbytes + (0 if self._rows is None else self._rows.nbytes)

    @property
    def mask(self) -> Flags:
        """A mask (n,) of the rows."""
        return np.unpackbits(self.bits, count=self.total, bitorder="little").view(np.bool_)

    @property
    def rows(self) -> I64:
        """Their numbers, ascending, (count,)."""
        if self._rows is not None:
            return self._rows.astype(np.int64)
        return np.flatnonzero(self.mask)

    def without_rows(self, rows: I64) -> "Bitmap":
        """The same without some rows; itself if there are none."""
        if not len(rows):
            return self
        mask = self.mask.copy()
        mask[rows[rows < self.total]] = False
        return Bitmap(mask, self.filter, rows)

    def hold(self, rows: I64) -> Flags:
        """Return which of some numbers are among them."""
        found: Flags = (self.bits[rows >> 3] >> (rows & 7).astype(np.uint8) & 1).astype(np.bool_)
        return found

    def page(self, start: int, limit: int) -> I64:
        """The first `limit` numbers from `start` on."""
        first = start // 8
        counts = np.cumsum(np.bitwise_count(self.bits[first:]), dtype=np.int64)
        last = first + 1 + int(np.searchsorted(counts, limit + 8))  # some of the first byte may come before
        found = 8 * first + np.flatnonzero(np.unpackbits(self.bits[first:last], bitorder="little"))
        return found[found >= start][:limit]


def together(counts: Sequence[int], some: Sequence[Bitmap | None]) -> Bitmap | None:
    """Return rows of several segments of so many rows as one bitmap; None where all are among them."""
    if all(bits is None for bits in some):
        return None
    masks = [np.ones(count, np.bool_) if bits is None else bits.mask for count, bits in zip(counts, some, strict=True)]
    return Bitmap(np.concatenate(masks))
