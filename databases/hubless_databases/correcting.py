"""The command that corrects vectors in a database. Parsing and printing only."""

from typing import Annotated, Any

import typer

import hubless
from hubless.cli.application import VERBOSE
from hubless.cli.options import BankOption, JsonOption, SetOption, parameters_of, read_settings, refuse
from hubless.cli.printing import print_json
from hubless.vectors.comparing import Metric
from hubless_databases.correct import INTO, correct, undo

_GIVEN = (
    *("catalog", "collection", "targets", "query_bank", "ids", "payload", "metric", "index", "parameters", "fit_by"),
    *("offsets", "clicks", "payload_schema", "replace_writes"),
    *("engine", "recall", "latency", "memory", "keep_full"),  # of an index of ours, which nobody will search
)


def correct_command(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Such as qdrant://localhost:6333/photos.")],
    query_bank: BankOption = None,
    into: Annotated[
        str | None, typer.Option("--into", metavar="NAME", help="Name of what is written: hubless, if you give none.")
    ] = None,
    sync: Annotated[
        bool, typer.Option("--sync", help="Give new and changed rows offsets, by the fit that the database keeps.")
    ] = False,
    undo_: Annotated[
        bool, typer.Option("--undo", help="Take away what corrections made: all, or the one of --into.")
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
    known = {"metric": Metric, **parameters_of(hubless.build, skip=_GIVEN)}
    values: dict[str, Any] = read_settings(set_, known)
    if undo_:
        refuse("--undo", {"query-bank": query_bank, "sync": sync or None, "set": set_})
        gone = undo(address, into=into)
        if json_:
            print_json({"removed": gone})
        else:
            typer.echo("\n".join(f"removed {name}" for name in gone) or "nothing to undo")
        return
    done = correct(address, query_bank, into=into or INTO, sync=sync, **values)
    if json_:
        print_json(vars(done))
        return
    without = f"{done.left_out:,} rows have none.\n" if done.left_out else ""
    said = f"{done.title}: {done.written:,} rows got a corrected vector in {done.into}.\n{without}"
    typer.echo(f"{said}Ask with the query q:\n{done.query}")
    if done.answer and (VERBOSE.get() or "relevant" in values):
        typer.echo(f"Whether to answer, by the hits:\n{done.answer}")
