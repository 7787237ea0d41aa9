"""Where in a file a bad value stands: its row, counted from 0 as rows of vectors are, and its line."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from hubless.errors import InputError

UNREADABLE = (pa.ArrowException, ArithmeticError, LookupError, RecursionError, TypeError, ValueError)
"""Errors of a date beyond year 9999, an unknown time zone, a huge duration, text that is not UTF-8, or deep JSON."""
_BYTES_SHOWN = 20
MARKS = (b"\xff\xfe", b"\xfe\xff")
"""How a text in UTF-16 begins."""


def place(row: int, line: int | None = None) -> str:
    """Return how an error names a row."""
    return f"row {row}" if line is None else f"row {row} (line {line})"


def first_refused(count: int, read: Callable[[int], object]) -> int:
    """Return the first of `count` rows that `read(stop)` refuses, which reads the rows before `stop`.

    Some values are refused only beside others, such as a text after numbers. So all ranges begin at 0.
    """
    low, high = 0, count
    while high - low > 1:
        half = (low + high) // 2
        try:
            read(half)
            low = half
        except UNREADABLE:
            high = half
    return low


def no_utf8(error: UnicodeDecodeError, path: Path, where: str) -> InputError:
    """Return the error of a line that is not UTF-8, with the command that converts the file."""
    shown = error.object[max(0, error.start - _BYTES_SHOWN) : error.end + _BYTES_SHOWN]
    return InputError(where, in_utf8(path), f"bytes of another encoding, such as cp1252 or UTF-16: {shown!r}")


def in_utf8(path: Path) -> str:
    """Return what is expected of a text, with the line that converts it. UTF-16 has a mark, or zeros."""
    with path.open("rb") as file:
        head = file.read(2)
    wide = "UTF-16BE", "UTF-16LE", "WINDOWS-1252"
    encoding = "UTF-16" if head in MARKS else wide[head.find(b"\0")]  # the last without a zero
    line = f"iconv -f {encoding} -t UTF-8 {{file}} > {{stem}}-utf8{path.suffix}"
    return f"text in UTF-8; {converting(line, path, path.with_suffix(''))}"


def converting(line: str, path: Path, stem: Path) -> str:
    """Return the words with a line of a shell, in which `{file}` is a file, and `{stem}` begins what is made of it."""
    line = line.replace("{file}", shlex.quote(str(path))).replace("{stem}", shlex.quote(str(stem)))
    return f"convert it: {line}"
