"""The commands that back a catalog up, restore it and verify it. Parsing and printing only."""

from pathlib import Path
from typing import Annotated

import typer

from hubless.builder.backup import back_up, restore
from hubless.builder.verification import Verdict, verify_catalog
from hubless.cli.completion import collections
from hubless.cli.options import CatalogOption, JsonOption
from hubless.cli.printing import print_json
from hubless.store.catalog import Catalog


def backup_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="New folder for the backup.", show_default=False)],
    catalog: CatalogOption,
    json_: JsonOption = False,
) -> None:
    """Copy a catalog into a new folder, and verify the copy.

    The service can serve, write and merge meanwhile. Each collection is copied as it is at one moment.
    """
    _print(back_up(Catalog(catalog), folder), "backed up", json_)


def restore_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the backup.", show_default=False)],
    catalog: CatalogOption,
    collection: Annotated[
        str | None,
        typer.Option("--collection", metavar="NAME", help="The only one to restore.", autocompletion=collections),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Copy the collections of a backup into a catalog, verified.

    The catalog may be new. It must not have a collection of the same name.
    """
    _print(restore(folder, Catalog(catalog), collection), "restored", json_)


def verify_command(catalog: CatalogOption, json_: JsonOption = False) -> None:
    """Verify all collections: files, index, offsets, log and aliases.

    The service can serve and write meanwhile. Exit code 1 says that something is wrong.
    """
    verdict = verify_catalog(Catalog(catalog))
    _print(verdict, "sound", json_)
    if not verdict.sound:
        raise typer.Exit(1)


def _print(verdict: Verdict, done: str, json_: bool) -> None:
    if json_:
        print_json(verdict.as_json())
    elif verdict.sound:
        for name, seq in verdict.writes.items():
            typer.echo(f"{name}: {done}, with the writes up to {seq:,}")
        typer.echo(f"{len(verdict.writes)} collections, {verdict.versions} versions: {done}")
    for each in () if json_ else verdict.problems:
        typer.echo(f"{each.collection}{f', version {each.version}' if each.version else ''}: {each.problem}")
