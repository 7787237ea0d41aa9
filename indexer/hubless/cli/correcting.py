"""The command that corrects vectors in a database. Parsing and printing only."""

from typing import Annotated, Any, Literal

import typer

from hubless.builder.build import build
from hubless.builder.correct import INTO, correct
from hubless.cli.options import BankOption, JsonOption, SetOption
from hubless.cli.parameters import parameters_of, read_settings
from hubless.cli.printing import print_json

_GIVEN = ("catalog", "collection", "targets", "query_bank", "ids", "payload", "metric", "index", "parameters")


def correct_command(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Such as qdrant://localhost:6333/photos.")],
    query_bank: BankOption = None,
    into: Annotated[
        str, typer.Option("--into", metavar="NAME", help="Name of the column or vector that is written.")
    ] = INTO,
    sync: Annotated[
        bool, typer.Option("--sync", help="Give new rows their offsets, by the fit that the database keeps.")
    ] = False,
    set_: SetOption = None,
    json_: JsonOption = False,
) -> None:
    """Correct the vectors of a database where they are.

    Writes each vector with its offset beside it, and prints how to ask. The
    correction that is there serves until the new one is whole.

    \b
    Example:
      hubless correct qdrant://localhost:6333/photos --query-bank q.npy
    """
    known = {"metric": Literal["cosine", "dot"], **parameters_of(build, skip=_GIVEN)}
    values: dict[str, Any] = read_settings(set_, known)
    done = correct(address, query_bank, into=into, sync=sync, **values)
    if json_:
        print_json(vars(done))
        return
    typer.echo(f"{done.title}: {done.written:,} rows have a corrected vector in {done.into}.")
    if done.left_out:
        typer.echo(f"{done.left_out:,} rows have none.")
    typer.echo(f"Ask with the query q:\n{done.query}")
