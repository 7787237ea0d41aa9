"""The command line: its commands, exit codes, and errors in words."""

import io
import logging
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points, version
from typing import Annotated

import typer

from hubless.cli.banks import bank_app
from hubless.cli.collections import (
    alias_command,
    build_command,
    delete_command,
    inspect_command,
    list_command,
    prune_command,
    rollback_command,
)
from hubless.cli.evaluate import evaluate_command
from hubless.cli.exporting import export_command
from hubless.cli.hubs import diagnose_command, report_command, scan_command
from hubless.cli.merging import merge_command
from hubless.cli.printing import PrintedWarnings
from hubless.cli.query import query_command
from hubless.cli.reindexing import reindex_command
from hubless.cli.tune import tune_command
from hubless.demo.command import demo
from hubless.errors import HublessError, one_line

COMMANDS = "hubless.commands"
"""Entry points through which other packages add commands. The service adds `serve`."""

app = typer.Typer(
    name="hubless",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Vector search without hubs: build, measure, search and serve collections.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hubless {version('hubless')}")
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Vector search without hubs."""


app.command("build")(build_command)
app.command("inspect")(inspect_command)
app.command("list")(list_command)
app.command("rollback")(rollback_command)
app.command("alias")(alias_command)
app.command("prune")(prune_command)
app.command("delete")(delete_command)
app.command("merge")(merge_command)
app.command("reindex")(reindex_command)
app.add_typer(bank_app)
app.command("query")(query_command)
app.command("export")(export_command)
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


@cache
def _print_warnings() -> None:
    logging.getLogger("hubless.banks").addHandler(PrintedWarnings())


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        _add_commands()
        _print_warnings()
        code = app(prog_name=app.info.name, standalone_mode=False)
    except typer.TyperException as error:
        # typer itself would draw a box
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context else f"{app.info.name} --help"
        if message := " ".join(error.format_message().split()):  # empty if the help was shown
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
        # errors of files are StorageErrors, so this is about the output
        return f"the output could not be written: {error.strerror or error}"
    return (
        f"unexpected {type(error).__name__}: {one_line(error)}\nPlease report it with the output of `hubless --debug`."
    )


def _give_up_output() -> None:
    """Drop the rest of the output, so that Python does not fail again when it exits."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
