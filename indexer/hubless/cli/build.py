"""The commands that build a version and show what was measured. Parsing and printing only."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

import hubless
from hubless.builder.written_corrections import read_correction, short_correction
from hubless.cli.application import VERBOSE
from hubless.cli.options import (
    SET,
    CatalogOption,
    CollectionOption,
    JsonOption,
    MetricOption,
    VersionOption,
    check_choice,
    parameters_of,
    read_settings,
)
from hubless.cli.printing import empty_table, facts, pairs, print_json, print_table, warn
from hubless.corrections import CORRECTIONS, correction as make_correction, is_given
from hubless.errors import InputError
from hubless.filters.shown import cut
from hubless.knn import INDEXES
from hubless.search.engines.external import engine, engine_names
from hubless.search.pages import render

_INDEXES = ("auto", *INDEXES)
EXAMPLE = 40
_INTERNAL = ("fitted", "recall@10", "skewness of N_10")
"""Rows that `inspect` shows and a build leaves out."""


def build_command(
    *,
    catalog: CatalogOption,
    collection: CollectionOption,
    targets: Annotated[Path, typer.Option(metavar="FILE", help="What can be found: .npy, .npz, .parquet or a folder.")],
    query_bank: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Example queries: a file, a folder of the query sample, or payload:COLUMN,…"),
    ] = None,
    ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ids of the targets: .npy, .txt or .parquet.")
    ] = None,
    payload: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Payload of the targets: .parquet, .jsonl or .csv.")
    ] = None,
    encoder: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Turns texts into vectors: a folder, or a .json or .toml file.")
    ] = None,
    metric: MetricOption = "cosine",
    correction: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help=f"How hubness is removed: the file of `tune`, your own offsets:FILE, or {', '.join(CORRECTIONS)}.",
        ),
    ] = "auto",
    index: Annotated[
        str, typer.Option(metavar="NAME", help=f"Kind of index: {', '.join(_INDEXES)}; engines have others.")
    ] = "auto",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the correction or of hubless.build; repeatable."
        ),
    ] = None,
    json_: JsonOption = False,
) -> None:
    """Build a new version of a collection and make it current.

    \b
    Example:
      hubless build --catalog c --collection c --targets t.npy --query-bank q.npy
    """
    if index not in _INDEXES:  # for others engines are loaded, whose packages are large
        check_choice(index, [*_INDEXES, *(kind for name in engine_names() for kind in engine(name).indexes)], "--index")
    correction, written = short_correction(correction)
    given, parameters = _settings(correction, set_)
    if correction not in CORRECTIONS and not is_given(correction):
        correction, parameters = read_correction(Path(correction))
    manifest = hubless.build(
        catalog,
        collection,
        targets,
        query_bank,
        ids=ids,
        payload=payload,
        encoder=encoder,
        metric=metric,
        correction=correction,
        parameters=written | parameters,
        index=index,
        **given,
    )
    if json_:
        print_json(manifest.model_dump(mode="json"))
        return
    shown = _facts(manifest)
    for name in () if VERBOSE.get() else _INTERNAL:
        shown.pop(name, None)
    print_table(facts(shown))
    _print_payload(hubless.open(catalog, collection, version=manifest.version, hashes=False))
    if manifest.bank is None and not is_given(manifest.correction.name):
        typer.echo(
            "Nothing is corrected yet: let the service keep a sample of live queries\n"
            "(HUBLESS_QUERY_SAMPLE), then build again with them as --query-bank."
        )
    where = shlex.join(["--catalog", str(catalog)])
    typer.echo(
        f"Serve it:      hubless serve {where}\nAll figures:   hubless inspect {where} --collection {collection}"
    )


def _settings(correction: str, set_: list[str] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    known = parameters_of(hubless.build, skip=(*parameters_of(build_command), "parameters", "offsets"))
    named = correction in CORRECTIONS
    if not named and not is_given(correction) and not correction.endswith(".json"):
        check_choice(correction, CORRECTIONS, "--correction")
    own = dict.fromkeys(parameters_of(CORRECTIONS[correction]) if named else (), Any)
    values = read_settings(set_, {**own, **known})
    parameters = {name: values.pop(name) for name in list(values) if name not in known}
    try:
        if named:
            make_correction(correction, parameters)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=SET) from error
    return values, parameters


def inspect_command(
    catalog: CatalogOption, collection: CollectionOption, version: VersionOption = None, json_: JsonOption = False
) -> None:
    """Verify a version and show what was measured."""
    opened = hubless.open(catalog, collection, version=version)
    opened.check_canaries()
    manifest = opened.manifest
    for note in [*manifest.notes, *(manifest.decided.notes if manifest.decided else ())]:
        warn(note)
    if json_:
        print_json(manifest.model_dump(mode="json"))
        return
    print_table(facts(_facts(manifest)))
    _print_tried(manifest)
    _print_payload(opened)


def _facts(manifest: hubless.Manifest) -> dict[str, str]:
    """Return what a version is, by name, as the table of `build` and `inspect` shows it."""
    details = pairs(manifest.correction.details) if VERBOSE.get() else ""
    said = render("facts.txt", made=manifest, pairs=pairs, details=details).split("\n")
    return {name: fact.strip() for name, _, fact in (line.partition(":") for line in said)}


def _print_tried(manifest: hubless.Manifest) -> None:
    if not manifest.index.tried:
        return
    table = empty_table("index tried", "parameters", "recall", "ms", "targets", "s")
    for each in manifest.index.tried:
        kind = each.type if each.code_bytes is None else f"{each.type}, {each.code_bytes} bytes"
        taken = f"{each.latency_ms:.3g}"
        if each.expected_ms is not None:
            taken += f", of all {each.expected_ms:.3g}"
        table.add_row(
            kind, pairs(each.parameters), f"{each.recall_at_10:.4f}", taken, f"{each.targets:,}", f"{each.seconds:.3g}"
        )
    print_table(table)


def _print_payload(collection: hubless.Collection) -> None:
    if not collection.parts.payload_types or not collection.count:
        return
    table = empty_table("payload", "type", "example")
    (first,) = collection.payload([0])
    for name, kind in collection.parts.payload_types.items():
        example = json.dumps((first or {}).get(name), ensure_ascii=False, default=str)
        table.add_row(name, kind, cut(example, EXAMPLE))
    print_table(table)
