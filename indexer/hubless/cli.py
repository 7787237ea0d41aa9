"""The command line: its commands, exit codes, and errors in words."""

import io
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from typing import Annotated

import typer

from hubless.cli_collections import (
    alias_command,
    build_command,
    inspect_command,
    list_command,
    prune_command,
    rollback_command,
)
from hubless.cli_hubs import diagnose_command, report_command, scan_command
from hubless.cli_lab import evaluate_command, tune_command
from hubless.cli_query import query_command
from hubless.demo.command import demo
from hubless.errors import HublessError
from hubless.records import one_line

COMMANDS = "hubless.commands"
"""Entry points by which what stands on the library adds commands: the service adds `serve`."""

app = typer.Typer(
    name="hubless",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Vector search without hubs: build collections whose ranking is corrected for hubness, ask and serve them.",
)


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Vector search without hubs."""


app.command("build")(build_command)
app.command("inspect")(inspect_command)
app.command("list")(list_command)
app.command("rollback")(rollback_command)
app.command("alias")(alias_command)
app.command("prune")(prune_command)
app.command("query")(query_command)
app.command("evaluate")(evaluate_command)
app.command("tune")(tune_command)
app.command("diagnose")(diagnose_command)
app.command("scan")(scan_command)
app.command("report")(report_command)
app.command()(demo)


@cache
def _add_commands() -> None:
    for command in entry_points(group=COMMANDS):
        app.command(command.name)(command.load())


def main() -> None:
    """Run the command line: exit code 0 when done, 1 when it failed, 2 when the usage was wrong."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        _add_commands()
        code = app(prog_name=app.info.name, standalone_mode=False)
    except typer.TyperException as error:
        # in two lines, where typer itself would draw a box
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context else f"{app.info.name} --help"
        if message := " ".join(error.format_message().split()):  # none where the help was shown instead
            typer.echo(f"error: {message}\nSee: {hint}", err=True)
        sys.exit(error.exit_code)
    except typer.Abort:
        sys.exit(130)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        typer.echo(f"error: {_in_words(error)}", err=True)
        if isinstance(error, OSError):
            _give_up_output()
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _in_words(error: Exception) -> str:
    if isinstance(error, HublessError):
        return str(error)
    if isinstance(error, OSError):
        # those of files are StorageErrors
        return f"the output could not be written: {error.strerror or error}"
    return f"unexpected {type(error).__name__}: {one_line(error)}\nPlease report it, with what `hubless --debug` shows."


def _give_up_output() -> None:
    """Let what standard output did not take vanish, instead of failing once more as Python exits."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
