"""Parsing of values, and printing of JSON and tables."""

import os
import sys
import textwrap
from collections.abc import Callable, Container, Mapping

import orjson
import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table
from rich.text import Text, TextType

from hubless.store.bundle import Hubness, Measured

WITHOUT_TERMINAL, WIDEST = 100, 200
"""Columns of a table."""
NARROWEST = 12
"""Characters that a column of text keeps before other columns move to a table below."""
_UNLIMITED = 100_000
_BESIDE = 3
"""Characters that a column takes beside its cells: a line and two spaces."""


def print_json(value: object) -> None:
    """Print a value as JSON."""
    # JSON is UTF-8, whatever the encoding of the terminal
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY, default=str))


def table_of(*headings: str, texts: Container[str] = (), title: str | None = None) -> Table:
    """Return an empty table. Columns of `texts` may be wrapped; cells of the others stay on one line."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, overflow="fold" if heading in texts else "ellipsis")
    return table


def facts(rows: Mapping[str, str], title: str | None = None) -> Table:
    """Return a table of names and values, without those that are empty."""
    table = Table(title=title, show_header=False)
    table.add_column()
    table.add_column(overflow="fold")
    for name, value in rows.items():
        if value:
            table.add_row(name, value)
    return table


def beside_chance(measured: Measured, figure: Callable[[Hubness], str]) -> str:
    """Return a figure of the raw and the corrected answers, and the one that finds at random would give."""
    raw, corrected, chance = map(figure, (measured.hubness_raw, measured.hubness_corrected, measured.hubness_chance))
    return f"{raw} raw, {corrected} corrected, {chance} by chance"


def print_table(table: Table, names: int = 1) -> None:
    """Print a table as wide as the terminal, at most 200 columns. Without a terminal it has `COLUMNS`, or 100.

    Columns that do not fit stand in a table below, which repeats the first `names` columns. Without a terminal no word
    is broken, so that other programs find names and numbers whole.
    """
    console = _console()
    wanted = console.width
    for column in table.columns:
        column.no_wrap = not _wraps(column)
    for part in _parts(table, names, console):
        if not console.file.isatty():
            unbroken = Measurement.get(console, console.options.update(width=_UNLIMITED), part)
            console.width = max(wanted, unbroken.minimum)
        console.print(part)
    if table.caption is not None:
        console.width = wanted
        console.print(table.caption)


def print_item(text: str) -> None:
    """Print an item of a list, wrapped between words to the width of the terminal; on one line without a terminal."""
    width = _console().width if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit() else _UNLIMITED
    wrapped = textwrap.fill(
        text, width, initial_indent="• ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    typer.echo(wrapped)


def table_width() -> int:
    """Return the columns that a table may have."""
    return _console().width


def shortened(text: str, width: int) -> str:
    """Return a text on one line that takes at most so many columns."""
    line = Text(" ".join(text.split()))
    line.truncate(width, overflow="ellipsis")
    return line.plain


def _console() -> Console:
    # stored text may contain [bold] or :smile:
    console = Console(markup=False, emoji=False, highlight=False)
    known = console.file.isatty() or os.environ.get("COLUMNS", "").isdigit()
    console.width = min(console.width if known else WITHOUT_TERMINAL, WIDEST)
    return console


def _wraps(column: Column) -> bool:
    return column.overflow == "fold"


def _parts(table: Table, names: int, console: Console) -> list[Table]:
    """Return tables that fit, each with the columns that name the lines."""
    widths = [_least_width(column, console) + _BESIDE for column in table.columns]
    named = list(range(names))
    parts, taken = [named], sum(widths[:names]) + 1
    for number in range(names, len(widths)):
        if taken + widths[number] > console.width and len(parts[-1]) > names:
            parts.append(named)
            taken = sum(widths[:names]) + 1
        parts[-1] = [*parts[-1], number]
        taken += widths[number]
    return [_part(table, part, title=table.title if part is parts[0] else None) for part in parts]


def _least_width(column: Column, console: Console) -> int:
    """Return the characters that a column needs at least."""
    measured = [Measurement.get(console, console.options, cell) for cell in (column.header, *column.cells)]
    if _wraps(column):
        return min(NARROWEST, max(cell.minimum for cell in measured))
    return max(cell.maximum for cell in measured)


def _part(table: Table, numbers: list[int], title: TextType | None) -> Table:
    """Return a table of some columns."""
    columns = [table.columns[number] for number in numbers]
    part = Table(title=title, show_header=table.show_header)
    for column in columns:
        part.add_column(
            column.header, justify=column.justify, no_wrap=column.no_wrap, overflow=column.overflow, style=column.style
        )
    for row, cells in zip(table.rows, zip(*(column.cells for column in columns), strict=True), strict=True):
        part.add_row(*cells, style=row.style, end_section=row.end_section)
    return part


def warn(message: str) -> None:
    """Print a warning on standard error."""
    typer.echo(f"warning: {message}", err=True)
