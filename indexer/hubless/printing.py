"""What all commands share: values from words, and printing of JSON and of tables that show what is stored as it is."""

import json
from typing import Any

import orjson
import typer
from rich.console import Console
from rich.table import Table

_UNCUT = 100_000


def print_json(value: object) -> None:
    """Print a value as JSON."""
    # bytes, because JSON is UTF-8 whatever the terminal speaks
    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY, default=str))


def print_table(table: Table) -> None:
    """Print a table, as wide as the terminal, or uncut where there is none."""
    # what users stored is shown as it is, [bold] and :smile: too, and what other programs read is never cut to a width
    console = Console(markup=False, emoji=False, highlight=False)
    if not console.file.isatty():
        console.width = _UNCUT
    console.print(table)


def parse_value(text: str) -> Any:
    """A value as JSON writes it, `64`, `0.5`, `null`; anything else is a string."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
