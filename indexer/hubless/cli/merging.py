"""The command that merges writes into the next version. Parsing and printing only."""

from typing import Annotated

import typer

from hubless.builder.lifecycle import merge
from hubless.cli.options import CatalogOption, CollectionOption, JsonOption
from hubless.cli.printing import print_json


def merge_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    keep: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Then keep the newest N versions; by default all.")
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Build the next version, with what was written.

    It begins with the current one. The service can serve and write meanwhile. Without writes nothing is built.
    """
    made = merge(catalog, collection, keep=keep)
    if json_:
        print_json({"built": made is not None, "version": made and made.version, "log_seq": made and made.log_seq})
    elif made is None:
        typer.echo("nothing was written since the current version was built")
    else:
        typer.echo(f"{made}, with the writes up to {made.log_seq}")
