"""The commands that make collections and look after them: parsing and printing only."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

import hubless
from hubless.cli_options import CatalogOption, CollectionOption, JsonOption, VersionOption, key_values
from hubless.corrections import CORRECTIONS
from hubless.corrections import correction as make_correction
from hubless.curve import curve_table
from hubless.devices import CPU
from hubless.errors import InputError
from hubless.knn import INDEXES
from hubless.knn.aims import RECALL
from hubless.printing import print_json, print_table
from hubless.tune import read_correction

_INDEXES = ("auto", *INDEXES)
_DEFAULT_CORRECTION = "auto"


def _one_of(names: Collection[str]) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in names:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}")
        return value

    return check


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


def inspect_command(
    catalog: CatalogOption, collection: CollectionOption, version: VersionOption = None, json_: JsonOption = False
) -> None:
    """Verify a version, file by file, and show what it is and what was measured."""
    opened = hubless.open(catalog, collection, version=version)
    opened.check_canaries()
    _print_manifest(opened.manifest, json_)


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


def rollback_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    version: Annotated[str | None, typer.Option("--version", metavar="ID", help="By default the one before.")] = None,
) -> None:
    """Make an earlier version current again."""
    typer.echo(hubless.Catalog(catalog).rollback(collection, version))


def alias_command(
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


def prune_command(
    catalog: CatalogOption,
    collection: CollectionOption,
    keep: Annotated[int, typer.Option(min=1, help="How many of the newest versions to keep.")] = 2,
) -> None:
    """Delete old versions, never the current one; prints the ids of the deleted."""
    for version in hubless.Catalog(catalog).prune(collection, keep):
        typer.echo(version)


def _parameters(correction: str, settings: list[str]) -> dict[str, Any]:
    parameters = key_values(settings, "--set")
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
