"""A page of all commands with their options: what `hubless COMMAND --help` prints, and what they refuse together."""

from collections.abc import Iterator
from typing import Any

import click
import typer.main
from mkdocs.structure.files import File
from typer.testing import CliRunner

from hubless.builder.incompatible import INCOMPATIBLE
from hubless.cli.application import app

PAGE = "options.md"
TITLE = "# All options\n\nWhat `hubless COMMAND --help` prints.\n"
PLAIN = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}


def on_files(files: Any, config: Any) -> Any:
    """Add the page."""
    sections = []
    for words in called(typer.main.get_command(app)):
        printed = CliRunner().invoke(app, [*words, "--help"], env=PLAIN).output.strip()
        sections.append(f"## {' '.join(words)}\n\n```text\n{printed}\n```\n")
    together = f"## What cannot be given together\n\n{table_of_incompatible()}"
    files.append(File.generated(config, PAGE, content="\n".join([TITLE, *sections, together])))
    return files


def called(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of each command."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from called(command, (*before, name))
        else:
            yield (*before, name)


def table_of_incompatible() -> str:
    """Return the table as Markdown."""
    rows = [("not", "beside", "expected"), ("---",) * 3]
    rows += [(", ".join(map("`{}`".format, each.given)), each.beside, each.expected) for each in INCOMPATIBLE]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
