"""The command for logs of other searches. Parsing and printing only."""

from pathlib import Path
from typing import Annotated

import typer

from hubless.cli.application import VERBOSE
from hubless.cli.options import JsonOption
from hubless.cli.printing import empty_table, pairs, print_item, print_json, print_table
from hubless.diagnosing.log_diagnosis import diagnose_log
from hubless.scores.log_file import read_log
from hubless.scores.reading import read_lists
from hubless.scores.score_correction import ScoreCorrection
from hubless.store.durable import check_place
from hubless.vectors.readers.columns import read_ids


def log_command(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Logged answers: JSON, Parquet, CSV or a run.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the offsets here, as .parquet, or as .arrow for a service."),
    ] = None,
    diagnose: Annotated[bool, typer.Option("--diagnose", help="Say first what hubs the log shows.")] = False,
    ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="All ids of the search, to count those never found.")
    ] = None,
    distance: Annotated[bool, typer.Option("--distance", help="Lower scores are better; known of Chroma.")] = False,
    json_: JsonOption = False,
) -> None:
    """Correct any search by its log, without vectors.

    A line has the ids and scores of the first hits of a query; answers of
    hubless, Elasticsearch, OpenSearch, Qdrant, Chroma and LangChain, and runs of
    ranx and TREC are read as they are.
    With labels, --diagnose measures what the correction gains.

    \b
    Example:
      hubless log answers.jsonl --diagnose --output offsets.parquet
    """
    if output is None and not diagnose:
        raise typer.BadParameter("give --output, --diagnose or both", param_hint="--output")
    if output is not None:
        check_place(output)
    read = read_log(log)
    distance |= read.distance
    lists = read_lists(read.lists, distance=distance, name=f"log ({log.name})")
    said = dict[str, object]()
    if diagnose:
        known = None if ids is None else read_ids(ids).to_pylist()
        labels = read.relevant if any(each is not None for each in read.relevant) else None
        found = diagnose_log(lists, labels, known, distance=distance)
        said |= found.as_json()
        if not json_:
            for sentence in found.verdict:
                print_item(f"{sentence}.")
            table = empty_table("id", "in the first ten of", "corrected")
            for item in found.most:
                table.add_row(str(item.id), f"{item.raw:,}", f"{item.corrected:,}")
            print_table(table)
    if output is not None:
        fitted = ScoreCorrection.of(lists, distance=distance)
        fitted.save(output)
        said |= {"output": str(output), "items": len(fitted.ids), "details": fitted.details}
        if not json_:
            typer.echo(f"wrote {output}: offsets of {len(fitted.ids):,} items")
            if VERBOSE.get():
                typer.echo(pairs(fitted.details))
    if json_:
        print_json(said)
