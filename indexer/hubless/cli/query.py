"""The command that searches a collection. Parsing and printing only."""

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import hubless
from hubless.cli.options import CatalogOption, CollectionOption, JsonOption, VersionOption, key_values
from hubless.cli.printing import print_json, print_table
from hubless.vectors.files import open_items
from hubless.vectors.sources import under_metric


def query_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    vectors: Annotated[Path | None, typer.Option(metavar="FILE", help="Query vectors, one row a query.")] = None,
    text: Annotated[list[str] | None, typer.Option(metavar="WORDS", help="A query in words; repeatable.")] = None,
    id_: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="A target: find others like it; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Hits per query.")] = 10,
    skip: Annotated[int, typer.Option(min=0, metavar="N", help="Leave out this many of the best hits.")] = 0,
    strength: Annotated[
        float | None,
        typer.Option(metavar="X", help="Share of the correction: 0 is raw, 1 full, at most 2. Default 1; with --id 0."),
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A search parameter, such as exact=true; repeatable.")
    ] = None,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", metavar="JSON", help='Search only these, as {"field": "year", "gte": 2000}.'),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show raw ranks, and how often each target was found.")
    ] = False,
    version: VersionOption = None,
    json_: JsonOption = False,
) -> None:
    """Search a collection by vectors, words or a target.

    Give --vectors, --text or --id.
    """
    if sum((vectors is not None, bool(text), bool(id_))) != 1:
        raise typer.BadParameter("give one of --vectors, --text and --id", param_hint="--vectors")
    opened = hubless.open(catalog, collection, version=version)
    parameters = key_values(param or [], "--param")
    wanted = None if filter_ is None else opened.filter(_json(filter_, "--filter"))
    ask = partial(opened.query, limit=limit, strength=strength, parameters=parameters, filter=wanted)
    ask = partial(ask, skip=skip, explain=explain)
    if id_:
        found = [ask(ids=[opened.parse_id(each) for each in id_])]
    elif vectors is None:
        found = [ask(opened.encode(text or []))]
    else:
        source = open_items(vectors, "vectors").vectors
        # an error must name the row of the file, not of the block
        blocks = under_metric(source, opened.metric).blocks(1024)
        found = [ask(block) for block in blocks]
    answers = [answer for results in found for answer in _answers(opened, results)]
    if json_:
        print_json({"results": answers})
        return
    for number, answer in enumerate(answers):
        switched = {True: ", corrected", False: ", not corrected", None: ""}[answer.get("corrected")]
        why = ("rank", "raw rank", "found", "raw found") if explain else ()
        table = Table("id", "score", "similarity", "offset", *why, "payload", title=f"query {number}{switched}")
        for hit in answer["hits"]:
            figures = (f"{hit[column]:.4f}" for column in ("score", "similarity", "offset"))
            reasons = ("–" if value is None else f"{value:,}" for value in hit.get("explanation", {}).values())
            shown = json.dumps(hit["payload"], ensure_ascii=False, default=str) if "payload" in hit else ""
            table.add_row(str(hit["id"]), *figures, *reasons, shown)
        print_table(table)


def _answers(opened: hubless.Collection, results: hubless.Results) -> list[dict[str, Any]]:
    """Return hits with payload, and whether a gated correction was on."""
    answers: list[dict[str, Any]] = [
        {
            "hits": [
                {"id": hit.id, "score": hit.score, "similarity": hit.similarity, "offset": hit.offset}
                | ({} if hit.explanation is None else {"explanation": asdict(hit.explanation)})
                | ({} if payload is None else {"payload": payload})
                for hit, payload in zip(hits, opened.payload([hit.row for hit in hits]), strict=True)
            ]
        }
        for hits in results
    ]
    if results.corrected is not None:
        for answer, corrected in zip(answers, results.corrected.tolist(), strict=True):
            answer["corrected"] = corrected
    return answers


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"expected JSON, got {text}: {error}", param_hint=option) from error
