"""The command that searches a collection. Parsing and printing only."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import hubless
from hubless.cli.options import CatalogOption, CollectionOption, JsonOption, read_settings, refuse
from hubless.cli.printing import empty_table, payload_text, print_json, print_table
from hubless.errors import storage_errors
from hubless.filters.shown import cut
from hubless.search.collection import filter_of
from hubless.store.durable import check_place, replace_text
from hubless.vectors.comparing import comparison
from hubless.vectors.files import open_items
from hubless.vectors.sources import ChangedVectors

_BLOCK = 1024
_NAMED = 60
ANSWERS_SHOWN = 10
"""Answers that a terminal shows; a file takes all."""
_BESIDE_COMPARE = (
    "min_accuracy: it leaves out hits",
    "explain: it shows the raw ranks",
    "--strength 0: that is the raw ranking",
)
_SIDES = ("", "raw", "offset", "corrected", "offset", "was")


def query_command(
    *,
    catalog: CatalogOption,
    collection: CollectionOption,
    vectors: Annotated[Path | None, typer.Option(metavar="FILE", help="Query vectors, one row a query.")] = None,
    text: Annotated[list[str] | None, typer.Option(metavar="WORDS", help="A query in words; repeatable.")] = None,
    image: Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A picture to ask with; repeatable.")] = None,
    id_: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="A target: find others like it; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", help="Hits per query.")] = 10,
    strength: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Share of the correction: 0 is raw, 1 full, at most 2. Default: the version's own; with --id 0.",
        ),
    ] = None,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", metavar="JSON", help='Search only these, as {"field": "year", "gte": 2000}.'),
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Show the raw ranking beside the corrected one.")] = False,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="skip, explain, version, min_accuracy, output, or a search parameter as exact; repeatable.",
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Search a collection by vectors, words, pictures or a target.

    Give vectors, a text, an image or an id.

    \b
    Example:
      hubless query --catalog c --collection art --vectors q.npy --compare
    """
    if sum((vectors is not None, bool(text), bool(image), bool(id_))) != 1:
        raise typer.BadParameter("give one of --vectors, --text, --image and --id", param_hint="--vectors")
    parameters = read_settings(
        set_, {"skip": int, "explain": bool, "version": str, "min_accuracy": float, "output": Path}, others=True
    )
    if (output := parameters.pop("output", None)) is not None:
        check_place(output)
    least = parameters.pop("min_accuracy", 0.0)
    skip = parameters.pop("skip", 0)
    explain = parameters.pop("explain", False)
    for refused, given in zip(_BESIDE_COMPARE, (least, explain, strength == 0), strict=True):
        refuse(refused, {"compare": compare and given})
    opened = hubless.open(catalog, collection, version=parameters.pop("version", None))
    wanted = None if filter_ is None else filter_of(opened.parts, _json(filter_, "--filter"))
    how: dict[str, Any] = {"limit": limit, "skip": skip, "parameters": parameters, "filter": wanted}
    asked = list(_asked(opened, vectors, text, image, id_))
    if compare:
        both = [opened.side_by_side(**queries, **how, strength=strength) for queries in asked]
        sides = ((_answers(opened, one.raw), _answers(opened, one.corrected)) for one in both)
        pairs = [{"raw": raw, "corrected": corrected} for two in sides for raw, corrected in zip(*two, strict=True)]
        _tell(pairs, json_, output, _print_side)
        if not json_ and output is None:
            typer.echo("Positive offsets mark hubs. Last column: the raw rank of the corrected hit.")
        return
    ask = partial(opened.query, **how, strength=strength, explain=explain, min_accuracy=least)
    answers = [answer for queries in asked for answer in _answers(opened, ask(**queries))]

    def print_hits(number: int, answer: dict[str, Any]) -> None:
        print_table(_hits(answer, explain, title=f"query {number}{_switched(answer)}"))

    _tell(answers, json_, output, print_hits)


def _tell(
    answers: list[dict[str, Any]], as_json: bool, output: Path | None, show: Callable[[int, dict[str, Any]], None]
) -> None:
    """Print all answers as JSON, write them so to a file, or show the first of them."""
    document = {"results": answers}
    if output is not None:
        with storage_errors(output):
            replace_text(output, json.dumps(document, ensure_ascii=False, default=str) + "\n")
        typer.echo(str(output))
    elif as_json:
        print_json(document)
    else:
        for number, answer in enumerate(answers[:ANSWERS_SHOWN]):
            show(number, answer)
        if len(answers) > ANSWERS_SHOWN:
            typer.echo(
                f"These are {ANSWERS_SHOWN} of {len(answers):,} queries. `--set output=FILE` writes all as JSON."
            )


def _asked(
    opened: hubless.Collection,
    vectors: Path | None,
    texts: list[str] | None,
    images: list[Path] | None,
    ids: list[str] | None,
) -> Iterator[dict[str, Any]]:
    """Yield what is asked, as parameters of `query`: 1,024 vectors at a time, and all else at once."""
    if ids:
        yield {"ids": [opened.parts.ids.parse(each) for each in ids]}
    elif images:
        yield {"vectors": opened.encode_pictures(images)}
    elif texts:
        yield {"vectors": opened.encode(texts)}
    elif vectors is not None:
        source = open_items(vectors, "vectors").vectors
        # an error must name the row of the file, not of the block
        checked = ChangedVectors(source, comparison(opened.manifest.metric).check)
        for block in checked.blocks(_BLOCK):
            yield {"vectors": block}


def _answers(opened: hubless.Collection, results: hubless.Results) -> list[dict[str, Any]]:
    """Return the hits of each query as they are printed in JSON, with their payload."""
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
    for name, flags in (("corrected", results.corrected), ("answered", results.kept)):
        for answer, flag in () if flags is None else zip(answers, flags.tolist(), strict=True):
            answer[name] = flag
    return answers


def _hits(answer: dict[str, Any], explain: bool, title: str) -> Table:
    why = ("rank", "raw rank", "found", "raw found", "strength") if explain else ()
    headings = ("id", "score", "similarity", "offset", *why, "payload")
    table = empty_table(*headings, title=title)
    for hit in answer["hits"]:
        figures = (f"{hit[column]:.4f}" for column in ("score", "similarity", "offset"))
        reasons = (_rank(value) for value in hit.get("explanation", {}).values())
        table.add_row(str(hit["id"]), *figures, *reasons, payload_text(hit.get("payload")))
    return table


def _print_side(number: int, pair: dict[str, Any]) -> None:
    table = empty_table(*_SIDES, title=f"query {number}{_switched(pair['corrected'])}")
    sides = zip(pair["raw"]["hits"], pair["corrected"]["hits"], strict=True)
    for rank, (raw, corrected) in enumerate(sides, 1):
        cells = [cell for hit in (raw, corrected) for cell in (_named(hit), f"{hit['offset']:+.3f}")]
        was = corrected["explanation"]["raw_rank"]
        table.add_row(str(rank), *cells, _rank(was), style="bold" if was != rank else "")
    print_table(table)


def _switched(answer: dict[str, Any]) -> str:
    return {True: ", corrected", False: ", not corrected", None: ""}[answer.get("corrected")]


def _named(hit: dict[str, Any]) -> str:
    values = dict.fromkeys([str(hit["id"]), *map(str, filter(None, (hit.get("payload") or {}).values()))])
    return cut(" ".join(" ".join(values).split()), _NAMED)


def _rank(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"expected JSON, got {text}: {error}", param_hint=option) from error
