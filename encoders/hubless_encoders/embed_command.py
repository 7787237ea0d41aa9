"""The command that embeds pictures, texts and source files. Parsing and printing only."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hubless.cli.options import JsonOption, SetOption, check_choice, parameters_of, read_settings
from hubless.cli.printing import print_json
from hubless.progress import bars_or_lines
from hubless_encoders.embedding.embed import embed
from hubless_encoders.embedding.embed_sources import ITEM_KINDS


def embed_command(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A folder of pictures or source files, or a file of texts.")
    ],
    encoder: Annotated[Path, typer.Option(metavar="PATH", help="Makes vectors: a folder, or a .json or .toml file.")],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="What is filled; later runs go on there.")],
    kind: Annotated[
        str | None, typer.Option(metavar="KIND", help=f"What the source has: {', '.join(ITEM_KINDS)}.")
    ] = None,
    column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of a table that is embedded.")] = None,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> None:
    """Make vectors of pictures, texts or source files.

    What it writes, `hubless build` takes as it is: vectors with ids and payload,
    and a query bank of captions and names. What cannot be read is listed,
    and so are links, which are not followed.

    \b
    Example:
      hubless embed photos --encoder clip.toml --output embedded
    """
    if kind is not None:
        check_choice(kind, ITEM_KINDS, "--kind")
    known = parameters_of(embed, ("source", "encoder", "output", "kind", "column"))
    settings = read_settings(set_, known)
    made = embed(source, encoder, output, kind=kind, column=column, progress=bars_or_lines(), **settings)
    if json_:
        print_json(asdict(made))
        return
    typer.echo(f"{made.count:,} vectors of {made.dim} dimensions: {made.targets}")
    if made.count > made.new:
        typer.echo(f"{made.new:,} new, {made.changed:,} changed, {made.kept:,} kept, {made.gone:,} gone")
    if made.anew:
        typer.echo("All are embedded again: the encoder, or a setting, is another one than before.")
    if made.skipped:
        typer.echo(f"{made.skipped:,} skipped, each with its reason: {made.skipped_file}")
    if made.bank is not None:
        typer.echo(f"{made.queries:,} example queries: {made.bank}")
    else:
        typer.echo(f"No query bank: {made.why_no_bank}")
    bank = ["--correction", "none"] if made.bank is None else ["--query-bank", str(made.bank)]
    words = ["--targets", str(made.targets), *bank, "--encoder", str(encoder)]
    typer.echo(f"Build it:   hubless build --catalog catalog --collection NAME {shlex.join(words)}")
    if source.is_dir() and made.bank is not None:
        typer.echo(f"Look at it: hubless serve {shlex.join(['--catalog', 'catalog', '--pictures', str(source)])}")
