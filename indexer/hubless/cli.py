"""The command line: parsing and printing only."""

import io
import json
import os
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

import hubless
from hubless.cli_hubs import diagnose_command, report_command, scan_command
from hubless.cli_lab import evaluate_command, tune_command
from hubless.corrections import CORRECTIONS
from hubless.corrections import correction as make_correction
from hubless.curve import curve_table
from hubless.demo.command import demo
from hubless.devices import CPU
from hubless.errors import HublessError, InputError
from hubless.knn import INDEXES
from hubless.knn.aims import RECALL
from hubless.printing import parse_value, print_json, print_table
from hubless.records import one_line
from hubless.sources import under_metric
from hubless.tune import read_correction
from hubless.vectors import open_items

COMMANDS = "hubless.commands"
"""Entry points by which what stands on the library adds commands: the service adds `serve`."""

_UNCUT = 100_000

app = typer.Typer(
    name="hubless",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Vector search without hubs: build collections whose ranking is corrected for hubness, ask and serve them.",
)

CatalogOption = Annotated[Path, typer.Option("--catalog", metavar="DIR", help="Folder that holds the collections.")]
CollectionOption = Annotated[str, typer.Option("--collection", metavar="NAME", help="Name of the collection.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="ID", help="A version, instead of the current.")
]


def _one_of(names: Collection[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in names:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}")
        return value

    return check


_INDEXES = ("auto", *INDEXES)
_DEFAULT_CORRECTION = "auto"


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Vector search without hubs."""


@app.command("build")
def build_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    targets: Annotated[Path, typer.Option(metavar="F", help="What can be found: .npy, .npz, .parquet, or a folder.")],
    query_bank: Annotated[Path, typer.Option(metavar="F", help="Example queries, never the live ones.")],
    target_bank: Annotated[
        Path | None, typer.Option(metavar="F", help="Extra targets, such as training items: auto then takes dbsn.")
    ] = None,
    ids: Annotated[Path | None, typer.Option(metavar="F", help="Ids of the targets: .npy, .txt or .parquet.")] = None,
    payload: Annotated[Path | None, typer.Option(metavar="F", help="Payload: .parquet, .jsonl or .csv.")] = None,
    encoder: Annotated[
        Path | None, typer.Option(metavar="F", help="Of texts: a folder, or a description in .json or .toml.")
    ] = None,
    metric: Annotated[Literal["cosine", "dot"], typer.Option(help="cosine brings vectors to length 1.")] = "cosine",
    correction: Annotated[
        str,
        typer.Option(metavar="|".join(CORRECTIONS), callback=_one_of(CORRECTIONS), help="How offsets are estimated."),
    ] = _DEFAULT_CORRECTION,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the correction; repeatable.")
    ] = None,
    correction_from: Annotated[
        Path | None, typer.Option(metavar="F", help="Correction and parameters from this file, as tune writes it.")
    ] = None,
    index: Annotated[
        str,
        typer.Option(
            metavar="|".join(_INDEXES), callback=_one_of(_INDEXES), help="auto goes by the number of targets."
        ),
    ] = "auto",
    recall: Annotated[
        float, typer.Option(metavar="SHARE", help="Of the exact top 10, what the index is to find.")
    ] = RECALL,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="The index may take so much, as 4GB.")] = None,
    latency: Annotated[
        str | None, typer.Option(metavar="TIME", help="A single query may take so long on one thread, as 2ms.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the choice of held-out bank queries.")] = 0,
    device: Annotated[
        str, typer.Option(metavar="NAME", help="Computes offsets: cpu, or with torch cuda, cuda:1, torch:NAME.")
    ] = CPU,
    json_: JsonOption = False,
) -> None:
    """Measure hubness, build a new version of a collection, and make it current.

    Example: hubless build --catalog catalog --collection photos --targets images.npy --query-bank captions.npy
    """
    parameters = _parameters(correction, set_ or [])
    if correction_from is not None:
        if parameters or correction != _DEFAULT_CORRECTION:
            raise typer.BadParameter("does not go with --correction and --set", param_hint="--correction-from")
        correction, parameters = read_correction(correction_from)
    manifest = hubless.build(
        catalog,
        collection,
        targets,
        query_bank,
        target_bank=target_bank,
        ids=ids,
        payload=payload,
        encoder=encoder,
        metric=metric,
        correction=correction,
        parameters=parameters,
        index=index,
        recall=recall,
        memory=memory,
        latency=latency,
        seed=seed,
        device=device,
    )
    _print_manifest(manifest, json_)


@app.command()
def inspect(
    catalog: CatalogOption, collection: CollectionOption, version: VersionOption = None, json_: JsonOption = False
) -> None:
    """Verify a version, file by file, and show what it is and what was measured."""
    opened = hubless.open(catalog, collection, version=version)
    opened.check_canaries()
    _print_manifest(opened.manifest, json_)


@app.command("list")
def list_command(
    catalog: CatalogOption,
    collection: Annotated[str | None, typer.Option(metavar="NAME", help="Only this collection.")] = None,
    json_: JsonOption = False,
) -> None:
    """List collections and their versions; the current one is marked."""
    home = hubless.Catalog(catalog)
    names = home.collections() if collection is None else [collection]
    found = {name: home.versions(name) for name in names}
    if json_:
        print_json(
            {
                name: [{"version": v.id, "current": v.current, "problem": v.problem} for v in found[name]]
                for name in found
            }
        )
        return
    table = Table("collection", "version", "current", "targets", "correction", "index")
    table.columns[1].no_wrap = True
    for name, versions in found.items():
        for version in versions:
            known = version.manifest
            cells = (
                [str(known.count), known.correction.name, known.index.type]
                if known
                else ["", f"damaged: {version.problem}", ""]
            )
            table.add_row(name, version.id, "✓" if version.current else "", *cells)
    print_table(table)


@app.command()
def rollback(
    catalog: CatalogOption,
    collection: CollectionOption,
    version: Annotated[str | None, typer.Option("--version", metavar="ID", help="By default the one before.")] = None,
) -> None:
    """Make an earlier version current again."""
    typer.echo(hubless.Catalog(catalog).rollback(collection, version))


@app.command()
def alias(
    catalog: CatalogOption,
    name: Annotated[str | None, typer.Option("--alias", metavar="NAME", help="The alias to set or to remove.")] = None,
    collection: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the alias is to stand for from now on.")
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the alias.")] = False,
    json_: JsonOption = False,
) -> None:
    """List aliases, other names of collections; set one, move it to another collection, or remove it."""
    if (collection is not None or remove) != (name is not None) or (remove and collection is not None):
        raise typer.BadParameter("goes with either --collection or --remove", param_hint="--alias")
    home = hubless.Catalog(catalog)
    if name is not None and collection is not None:
        home.set_alias(name, collection)
    elif name is not None:
        home.remove_alias(name)
    found = {known: standing.collection for known, standing in home.aliases().items()}
    if json_:
        print_json(found)
        return
    table = Table("alias", "collection")
    for known, standing_for in found.items():
        table.add_row(known, standing_for)
    print_table(table)


@app.command()
def prune(
    catalog: CatalogOption,
    collection: CollectionOption,
    keep: Annotated[int, typer.Option(min=1, help="How many of the newest versions to keep.")] = 2,
) -> None:
    """Delete old versions, never the current one; prints the ids of the deleted."""
    for version in hubless.Catalog(catalog).prune(collection, keep):
        typer.echo(version)


@app.command()
def query(
    catalog: CatalogOption,
    collection: CollectionOption,
    vectors: Annotated[Path | None, typer.Option(metavar="F", help="Query vectors: .npy, .npz or .parquet.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="A query in words; repeatable.")] = None,
    id_: Annotated[
        list[str] | None, typer.Option("--id", metavar="ID", help="A target, to find more like it; repeatable.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Hits per query.")] = 10,
    skip: Annotated[int, typer.Option(min=0, help="How many of the best are left out.")] = 0,
    strength: Annotated[
        float | None, typer.Option(help="How much of the correction: 0 is raw (as with --id), 1 full (else), up to 2.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A search parameter, such as candidates; repeatable.")
    ] = None,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", metavar="JSON", help='Only targets such as {"field": "year", "gte": 2000}.'),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the rank without the correction, and how often a target was found.")
    ] = False,
    version: VersionOption = None,
    json_: JsonOption = False,
) -> None:
    """Ask a collection, by vectors, in words, or for more like a target."""
    if sum((vectors is not None, bool(text), bool(id_))) != 1:
        raise typer.BadParameter("give either --vectors, --text or --id", param_hint="--vectors")
    opened = hubless.open(catalog, collection, version=version)
    parameters = _key_values(param or [], "--param")
    wanted = None if filter_ is None else opened.filter(_json(filter_, "--filter"))
    ask = partial(opened.query, limit=limit, strength=strength, parameters=parameters, filter=wanted)
    ask = partial(ask, skip=skip, explain=explain)
    if id_:
        found = [ask(ids=[opened.parse_id(each) for each in id_])]
    elif vectors is None:
        found = [ask(opened.encode(text or []))]
    else:
        source = open_items(vectors, "vectors").vectors
        # so that an error names the row as the file counts it, not as the block does
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
    """Hits with payload, and with a gated correction whether it was switched on."""
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


app.command("evaluate")(evaluate_command)
app.command("tune")(tune_command)
app.command("diagnose")(diagnose_command)
app.command("scan")(scan_command)
app.command("report")(report_command)
app.command()(demo)


def _json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"expected JSON, got {text}: {error}", param_hint=option) from error


def _key_values(settings: list[str], option: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise typer.BadParameter(f"expected KEY=VALUE, got {setting}", param_hint=option)
        values[key] = parse_value(value)
    return values


def _parameters(correction: str, settings: list[str]) -> dict[str, Any]:
    parameters = _key_values(settings, "--set")
    try:
        make_correction(correction, parameters)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from error
    return parameters


def _print_manifest(manifest: hubless.Manifest, as_json: bool) -> None:
    if as_json:
        print_json(manifest.model_dump(mode="json"))
        return
    measured = manifest.measured
    raw, corrected = measured.hubness_raw, measured.hubness_corrected
    queries = f"{measured.queries} {'held-out ' if measured.held_out else ''}bank queries"
    rows = {
        "collection": manifest.collection,
        "version": manifest.version,
        "targets": f"{manifest.count:,} of {manifest.dim} dimensions, {manifest.metric}",
        "correction": f"{manifest.correction.name} {_settings(manifest.correction.parameters)}",
        "fitted": _settings(manifest.correction.details),
        "index": f"{manifest.index.type} {_settings(manifest.index.parameters)}",
        "note": "; ".join(manifest.index.notes),
        "recall@10": f"{measured.recall_at_10:.3f} against exact search, over {queries}",
        "skewness of N_10": f"{raw.skewness:.2f} raw, {corrected.skewness:.2f} corrected, over {queries}",
        "never found": f"{raw.antihubs:.1%} raw, {corrected.antihubs:.1%} corrected",
        "payload": ", ".join(manifest.payload_columns) or "none",
        "text queries": "yes" if manifest.encoder else "no",
        "size": f"{sum(record.size for record in manifest.files.values()) / 1e6:,.1f} MB",
    }
    table = Table(show_header=False)
    for name, value in rows.items():
        if value:
            table.add_row(name, value.strip())
    print_table(table)
    if len(manifest.index.curve) > 1:
        print_table(curve_table(manifest.index))


def _settings(values: dict[str, Any]) -> str:
    shown = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in values.items()}
    return ", ".join(f"{key} {value}" for key, value in shown.items())


@cache
def _add_commands() -> None:
    for command in entry_points(group=COMMANDS):
        app.command(command.name)(command.load())


def main() -> None:
    """Run the command line: exit code 0 when done, 1 when it failed, 2 when the usage was wrong."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        _add_commands()
        code = app(prog_name=app.info.name, standalone_mode=False)
    except typer.TyperException as error:
        # in two lines, where typer itself would draw a box
        context = getattr(error, "ctx", None)
        hint = f"{context.command_path} --help" if context else f"{app.info.name} --help"
        if message := " ".join(error.format_message().split()):  # none where the help was shown instead
            typer.echo(f"error: {message}\nSee: {hint}", err=True)
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
        # those of files are StorageErrors
        return f"the output could not be written: {error.strerror or error}"
    return f"unexpected {type(error).__name__}: {one_line(error)}\nPlease report it, with what `hubless --debug` shows."


def _give_up_output() -> None:
    """Let what standard output did not take vanish, instead of failing once more as Python exits."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
