"""The command line: its commands, exit codes, and errors in words."""

import io
import logging
import os
import sys
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hubless.errors import TAKEN, HublessError, not_installed, one_line

VERBOSE = ContextVar("verbose", default=False)
"""Whether a command prints what a fit has chosen, too."""
ADDED = "hubless.commands"
"""Entry points through which other packages add commands: the service `serve`, outer rings their own."""
PANELS = {
    "Commands": {
        "diagnose": ("cli.hubs:diagnose_command", "Find out without labels whether hubness hurts."),
        "correct": ("databases", "Correct the vectors of a database where they are."),
        "log": ("cli.log:log_command", "Correct any search by its log, without vectors."),
        "embed": ("encoders", "Make vectors of pictures, texts or source files."),
        "build": ("cli.build:build_command", "Build a new version of a collection and make it current."),
        "query": ("cli.query:query_command", "Search a collection by vectors, words, pictures or a target."),
        "demo": ("lab", "Search a Python library in plain English."),
    },
    "The lab": {
        "evaluate": ("lab", "Measure ranking quality and hubness on labelled queries."),
        "tune": ("lab", "Choose a correction and its parameters by labelled pairs."),
        "scan": ("lab", "List targets that real queries find too often."),
        "match": ("matching", "Match two piles of items, or find the duplicates of one."),
        "report": ("lab", "Write one HTML page with all that the lab says of your data."),
        "bank": ("lab", "Make query banks of what people ask."),
    },
    "The catalog": {
        "inspect": ("cli.build:inspect_command", "Verify a version and show what was measured."),
        "list": ("cli.catalog:list_command", "List collections and their versions."),
        "reindex": ("cli.reindexing:reindex_command", "Bring a collection up to its job file."),
        "merge": ("cli.catalog:merge_command", "Build the next version, with what was written."),
        "rollback": ("cli.catalog:rollback_command", "Make an earlier version current again."),
        "alias": ("cli.catalog:alias_command", "List, set or remove aliases, other names of collections."),
        "prune": ("cli.catalog:prune_command", "Delete old versions, but never the current one."),
        "delete": ("cli.catalog:delete_command", "Delete a collection with its versions and writes."),
        "backup": ("cli.catalog:backup_command", "Copy a catalog into a new folder, and verify the copy."),
        "export": ("cli.catalog:export_command", "Write ids, vectors and payload of any catalog as files."),
        "restore": ("cli.catalog:restore_command", "Copy the collections of a backup into a catalog, verified."),
        "verify": ("cli.catalog:verify_command", "Verify all collections: files, index, offsets, log and aliases."),
    },
}
"""Place and summary of each command. A command is imported when it is called: `hubless --help` imports none.

In place of one, an entry point's has the name of the ring that brings it.
"""
COMMANDS = {name: command for panel in PANELS.values() for name, command in panel.items()}


class CommandGroup(TyperGroup):
    """The commands of `COMMANDS` and of the entry points."""

    def list_commands(self, ctx: Any) -> list[str]:
        added = _added()
        return [name for name in {**COMMANDS, **added} if name in added or ":" in COMMANDS[name][0]]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        names = self.list_commands(ctx)
        if cmd_name in COMMANDS and cmd_name not in names:
            raise not_installed(f"{ctx.command_path} {cmd_name}", COMMANDS[cmd_name][0])
        # of a name that there is not, typer suggests others
        for name in [cmd_name] if cmd_name in names else names:
            if name not in self.commands:
                self.commands[name] = _command(name)
        return self.commands.get(cmd_name)

    def invoke(self, ctx: Any) -> Any:
        return copy_context().run(super().invoke, ctx)  # what a command takes ends with it

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        found: Any = super().resolve_command(ctx, args)
        TAKEN.set({each.name: f"{each.opts[0]} {{value}}" for each in found[1].params})
        return found

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = self.list_commands(ctx)
        widest = max(map(len, names))
        for heading, panel in PANELS.items():
            said = {name: summary for name, (_, summary) in panel.items() if name in names}
            for name in sorted(_added().keys() - COMMANDS.keys()) if heading == "Commands" else ():
                said[name] = self.get_command(ctx, name).get_short_help_str()
            if said:  # all of a panel may be of a ring that is not installed
                with formatter.section(heading):
                    formatter.write_dl([(name.ljust(widest), summary) for name, summary in said.items()])


@cache
def _added() -> dict[str, Any]:
    return {entry.name: entry for entry in entry_points(group=ADDED)}


def _command(name: str) -> Any:
    module, _, attribute = COMMANDS.get(name, ("",))[0].partition(":")
    found = getattr(import_module(f"hubless.{module}"), attribute) if attribute else _added()[name].load()
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(found)
    return typer.main.get_command(alone)


class PrintedWarnings(logging.Handler):
    """Prints what the library logs."""

    def emit(self, record: logging.LogRecord) -> None:
        kind = "warning" if record.levelno >= logging.WARNING else "note"
        typer.echo(f"{kind}: {record.getMessage()}", err=True)


app = typer.Typer(
    name="hubless",
    cls=CommandGroup,
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
    verbose: Annotated[bool, typer.Option("--verbose", help="Print what a fit has chosen, too.")] = False,
) -> None:
    """Vector search without hubs."""
    VERBOSE.set(verbose)


@cache
def _print_warnings() -> None:
    for name in ("hubless.banks", "hubless.labels", "hubless.payload", "hubless.ids"):
        logging.getLogger(name).addHandler(PrintedWarnings())
        logging.getLogger(name).setLevel(logging.INFO)


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        _print_warnings()
        code = app(prog_name=app.info.name, standalone_mode=False)
    except typer.BadParameter.__mro__[2] as error:  # type: ignore[misc]  # all of its parser; only new typer names it
        # typer itself would draw a box
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context else f"{app.info.name} --help"
        message = error.format_message()
        helps = context and message == context.get_help()  # there was no command
        typer.echo(message if helps else f"error: {' '.join(message.split())}\nSee: {hint}", err=True)
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
