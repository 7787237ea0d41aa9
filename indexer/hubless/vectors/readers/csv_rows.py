"""Rows of a CSV as people write it: any usual delimiter, a byte order mark, and an error at its row.

Arrow reads the rows, fast. Only where it fails, or where quotes do not match, the file is read again line by line to
find the place.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from hubless.errors import InputError, names_of, one_line
from hubless.vectors.readers.places import in_utf8, no_utf8, place

DELIMITERS = ",\t;|"
"""The first of those that make most columns is taken."""
_HEAD = 2**20
_BLOCK = 16 * 2**20
"""Bytes that Arrow reads at a time. A row has to fit."""
_QUOTED = re.compile(r'"[^"]*"')
_NUMBER = re.compile(r"[-+]?[0-9]*[.,]?[0-9]+([eE][-+]?[0-9]+)?")
_SHOWN = 80
"""Characters of a row in an error."""
_WIDE, _FIRST = (b"\xff\xfe", b"\xfe\xff"), 4
"""How UTF-16 begins; without a mark one of its first bytes is 0."""


_READING = pa_csv.ReadOptions(block_size=_BLOCK)


@dataclass(frozen=True)
class CsvFile:
    """A CSV with a header, whose values are read as texts. Raises `InputError` naming the row of what is wrong.

    A column without a name is left out if it has whole numbers only, as the one that pandas and R count rows in.
    """

    path: Path
    name: str
    delimiter: str
    columns: tuple[str, ...] = ()
    width: int = 1

    @classmethod
    def open(cls, path: Path, name: str) -> "CsvFile":
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if head.startswith(_WIDE) or b"\0" in head[:_FIRST]:
            raise InputError(name, in_utf8(path), "UTF-16")
        first, *more = _QUOTED.sub("", head.decode("utf-8-sig", "replace")).splitlines()[:2] or [""]
        # a delimiter that stands in the first row too makes the columns, rather than one in a name
        delimiter = max(DELIMITERS, key=lambda each: (all(each in line for line in more), first.count(each)))
        opened = cls(path, name, delimiter if delimiter in first else DELIMITERS[0])
        with opened._placed(), pa_csv.open_csv(path, _READING, opened._parsing()) as reader:
            columns = tuple(reader.schema.names)
        _check_header(columns, name)
        nameless = [column for column in columns if not column.strip()]
        named = tuple(column for column in columns if column not in nameless)
        opened = cls(path, name, opened.delimiter, named, len(columns))
        opened._check_quotes()
        for batch in opened.batches(nameless) if nameless else ():
            others = batch.column(0).filter(pc.invert(pc.match_substring_regex(batch.column(0), "^[0-9]*$")))
            if len(others):
                expected = "a name for each column, in the first line, such as id"
                raise InputError(name, expected, f"none, over values such as {others[0].as_py()!r}")
        return opened

    def table(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows, of all columns or some."""
        with self._placed():
            return pa_csv.read_csv(self.path, _READING, self._parsing(), self._texts(columns))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of some columns, a part of the file at a time."""
        with self._placed(), pa_csv.open_csv(self.path, _READING, self._parsing(), self._texts(columns)) as reader:
            yield from reader

    def _parsing(self) -> Any:
        # where there is one column, an empty line is an empty cell
        return pa_csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=self.width > 1)

    def _texts(self, columns: Sequence[str] | None) -> Any:
        wanted = list(self.columns if columns is None else columns)
        types = dict.fromkeys(wanted, pa.string())
        return pa_csv.ConvertOptions(column_types=types, strings_can_be_null=False, include_columns=wanted)

    @contextmanager
    def _placed(self) -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, UnicodeError) as error:
            self._find_fault()
            raise InputError(self.name, f"a readable {self.path.suffix} file", one_line(error)) from error

    def _check_quotes(self) -> None:
        """Look for a quote that is never closed, which Arrow would take for one long value to the end of the file."""
        with self.path.open("rb") as file:
            quotes = sum(block.count(b'"') for block in iter(lambda: file.read(_HEAD), b""))
        if quotes % 2:
            self._find_fault()

    def _find_fault(self) -> None:
        """Raise `InputError` for the first row whose columns, quotes or encoding are wrong."""
        with self.path.open("rb") as file:
            reader = csv.reader((line.decode("utf-8-sig") for line in file), delimiter=self.delimiter, strict=True)
            width = 0
            row = -1  # the header is row -1
            while True:
                where = f"{self.name}, {place(row, reader.line_num + 1)}"
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except UnicodeDecodeError as error:
                    raise no_utf8(error, self.path, where) from error
                except csv.Error as error:
                    raise InputError(where, "a row of a CSV, each quote closed", one_line(error)) from error
                if cells:
                    self._check_width(cells, width or len(cells), where)
                    width = width or len(cells)
                row += bool(cells) or width == 1

    def _check_width(self, cells: list[str], width: int, where: str) -> None:
        if len(cells) == width:
            return
        expected = f"{width} columns, as the first line has, separated by {self.delimiter!r}"
        if len(cells) > width and self.delimiter == ",":
            expected += "; quote values that have commas, and write decimals with a point"
        raise InputError(where, expected, f"{len(cells)}: {self.delimiter.join(cells)[:_SHOWN]}")


def _check_header(columns: Sequence[str], name: str) -> None:
    """Refuse a first line that has no names: numbers (other than 0, 1, 2, …), none in the middle, or one twice."""
    twice = [column for column in columns if columns.count(column) > 1]
    if twice:
        raise InputError(name, "columns of different names", f"{columns.count(twice[0])} columns {twice[0]!r}")
    counted = [list(columns) == [str(place + first) for place in range(len(columns))] for first in (0, 1)]
    if all(_NUMBER.fullmatch(column) for column in columns) and (len(columns) == 1 or not any(counted)):
        raise InputError(name, "a first line with the names of the columns", names_of(columns))
