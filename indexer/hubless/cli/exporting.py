"""The command that takes a collection to another database. Parsing and printing only."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

import hubless
from hubless.cli.completion import one_of
from hubless.cli.options import CatalogOption, CollectionOption, JsonOption, listed
from hubless.cli.printing import print_json, warn
from hubless.exporting.databases import DATABASES
from hubless.exporting.export import SCRIPT, export


def export_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    output: Annotated[
        Path,
        typer.Option(metavar="PATH", help="File ending in .parquet, .jsonl or .lance; with --to a new folder."),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=one_of(DATABASES),
            help=f"Write a script for this database: {listed(DATABASES)}.",
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Take targets, offsets folded in, to another vector database.

    \b
    Example:
      hubless export --catalog c --collection art --to qdrant --output art-qdrant
    """
    if to is not None and to not in DATABASES:
        raise typer.BadParameter(f"{to!r} is not one of {listed(DATABASES)}", param_hint="--to")
    written = export(hubless.open(catalog, collection), output, to=to)
    for note in written.notes:
        warn(note)
    if written.left_out:
        warn(f"{written.left_out:,} targets have no vector and were left out.")
    if json_:
        print_json(vars(written))
        return
    dim = written.width - 1
    typer.echo(f"{written.path}: {written.count:,} targets, vectors of {dim} + 1 numbers, the last minus the offset.")
    if to is None:
        typer.echo("Ask with [q, 1] by inner product: the query q, of length 1 if the metric is cosine, and a 1.")
        return
    script = shlex.quote(str(written.path / SCRIPT))
    typer.echo(f"Next, as its head says:\n  python {script} load\n  python {script} query queries.npy")
