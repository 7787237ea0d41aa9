"""Parsing of values, and printing of JSON and tables."""

import json
import logging
import os
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WITHOUT_TERMINAL, WIDEST = 100, 200
"""Columns of a table."""
_UNLIMITED = 100_000


def print_json(value: object) -> None:
    """Print a value as JSON."""
    # JSON is UTF-8, whatever the encoding of the terminal
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY, default=str))


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal, at most 200 columns. Without a terminal it has `COLUMNS`, or 100.

    Without a terminal no word is broken, so that other programs find names and numbers whole.
    """
    # stored text may contain [bold] or :smile:
    console = Console(markup=False, emoji=False, highlight=False)
    for column in table.columns:
        column.overflow = "fold"
    if console.file.isatty():
        console.width = min(console.width, WIDEST)
    else:
        wanted = console.width if os.environ.get("COLUMNS", "").isdigit() else WITHOUT_TERMINAL
        unbroken = Measurement.get(console, console.options.update(width=_UNLIMITED), table)
        console.width = max(min(wanted, WIDEST), unbroken.minimum)
    console.print(table)


def warn(message: str) -> None:
    """Print a warning on standard error."""
    typer.echo(f"warning: {message}", err=True)


class PrintedWarnings(logging.Handler):
    """Prints what the library logs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record, as a warning."""
        warn(record.getMessage())


def parse_value(text: str) -> Any:
    """Return a JSON value such as `64`, `0.5` or `null`. Anything else is a string."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
