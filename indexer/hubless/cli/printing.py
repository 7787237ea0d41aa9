"""Parsing of values, and printing of JSON and tables."""

import json
import os
import sys
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from hubless.store.bundle import Hubness, Measured

WITHOUT_TERMINAL, WIDEST = 100, 200
_UNLIMITED = 100_000


def print_json(value: object) -> None:
    """Print a value as JSON."""
    # JSON is UTF-8, whatever the encoding of the terminal
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY, default=str))


def empty_table(*headings: str, title: str | None = None) -> Table:
    """Return an empty table. Cells that do not fit go on in the next line; ids stay whole if others can give way."""
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "id")
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


def pairs(values: Mapping[str, Any]) -> str:
    """Return names and values on one line."""
    shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in values.items()}
    return ", ".join(f"{key} {value}" for key, value in shown.items())


def beside_chance(measured: Measured, figure: Callable[[Hubness], str]) -> str:
    """Return a figure of the raw and the corrected answers, and the one that finds at random would give."""
    raw, corrected, chance = map(figure, (measured.hubness_raw, measured.hubness_corrected, measured.hubness_chance))
    return f"{raw} raw, {corrected} corrected, {chance} by chance"


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal, at most 200 columns. Without a terminal it has `COLUMNS`, or 100.

    Without a terminal no word is broken, so that other programs find names and numbers whole. On a narrow terminal the
    last columns of figures are left out, and named.
    """
    console = _console()
    unlimited = console.options.update(width=_UNLIMITED)
    if not console.file.isatty():
        console.width = max(console.width, Measurement.get(console, unlimited, table).minimum)
    left_out: list[str] = []
    while table.columns[-1].overflow != "fold" and Measurement.get(console, unlimited, table).minimum > console.width:
        left_out.insert(0, str(table.columns.pop().header))
    console.print(table)
    if left_out:
        console.print(f"Too narrow for {', '.join(left_out)}: see --json.")


def print_item(text: str) -> None:
    """Print an item of a list, wrapped between words to the width of the terminal; on one line without a terminal."""
    width = _console().width if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit() else _UNLIMITED
    wrapped = textwrap.fill(
        text, width, initial_indent="• ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    typer.echo(wrapped)


def _console() -> Console:
    # stored text may contain [bold] or :smile:
    console = Console(markup=False, emoji=False, highlight=False)
    known = console.file.isatty() or os.environ.get("COLUMNS", "").isdigit()
    console.width = min(console.width if known else WITHOUT_TERMINAL, WIDEST)
    return console


def warn(message: str) -> None:
    """Print a warning on standard error."""
    typer.echo(f"warning: {message}", err=True)


def payload_text(payload: dict[str, Any] | None) -> str:
    """Return a payload as it stands in a cell."""
    return "" if payload is None else json.dumps(payload, ensure_ascii=False, default=str)
