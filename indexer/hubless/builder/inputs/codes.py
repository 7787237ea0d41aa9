"""Whole numbers that are no coordinates yet: packed bits, and bytes whose zero is 128. Cosines of them mean little."""

import logging

import numpy as np

from hubless.vectors.arrays import F32

_ROWS, _FEWEST = 1000, 1000
"""Rows that are looked at, and the numbers that they need to have."""
_HALF, _MIDDLE = 127.5, 64
_MOST_EVEN = 0.62
"""Share of the middle half of all bytes: 0.5 of packed bits, 0.8 and more of numbers that were scaled to bytes."""
_CENTRED = 32
"""Counts, such as those of SIFT, have a mean far below 128."""

_log = logging.getLogger("hubless.vectors")


def warn_of_codes(rows: F32, name: str) -> None:
    """Log a warning with what to do if the first of rows (m, d) look like packed bits, or like bytes around 128."""
    if why := _why(rows[:_ROWS]):
        _log.warning("%s: %s", name, why)


def _why(rows: F32) -> str:
    low = -128 * bool(rows.min() < 0)
    centred = rows - low - _HALF
    whole = (rows == np.rint(rows)) & (abs(centred) <= _HALF)
    if rows.size < _FEWEST or not whole.all() or abs(centred.mean()) > _CENTRED:
        return ""
    if (abs(centred) < _MIDDLE).mean() < _MOST_EVEN:
        line = f"numpy.unpackbits((vectors.astype(int) + {-low}).astype('u1'), axis=1) * 2.0 - 1"
        return f"bytes spread evenly, as packed bits are. Unpack them: {line}"
    return "bytes around 128, which is their zero. Subtract it: vectors - 128.0" if low == 0 else ""
