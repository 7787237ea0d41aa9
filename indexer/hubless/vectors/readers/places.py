"""Where in a file a bad value stands: its row, counted from 0 as rows of vectors are, and its line."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from hubless.errors import InputError

_UNREAD = (pa.ArrowException, OverflowError, RecursionError, TypeError, ValueError)
_BYTES_SHOWN = 20


def place(row: int, line: int | None = None) -> str:
    """Return how an error names a row."""
    return f"row {row}" if line is None else f"row {row} (line {line})"


def first_refused(count: int, read: Callable[[int, int], object]) -> int:
    """Return the first of `count` rows that `read(start, stop)` refuses, if it refuses each range that has it.

    Some values are refused only beside others, such as a text after numbers. So all ranges begin at 0.
    """
    low, high = 0, count
    while high - low > 1:
        half = (low + high) // 2
        try:
            read(0, half)
            low = half
        except _UNREAD:
            high = half
    return low


def no_utf8(error: UnicodeDecodeError, path: Path, where: str) -> InputError:
    """Return the error of a line that is not UTF-8, with the command that converts the file."""
    shown = error.object[max(0, error.start - _BYTES_SHOWN) : error.end + _BYTES_SHOWN]
    expected = f"text in UTF-8; convert it: {recoded(path, 'WINDOWS-1252')}"
    return InputError(where, expected, f"bytes of another encoding, such as cp1252: {shown!r}")


def recoded(path: Path, encoding: str) -> str:
    """Return the line that converts a text file."""
    return f"iconv -f {encoding} -t UTF-8 {path.name} > {path.stem}-utf8{path.suffix}"
