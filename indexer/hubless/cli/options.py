"""Options that commands share, and parsing of `KEY=VALUE`."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import hubless
from hubless.cli.completion import collections, one_of, versions
from hubless.cli.printing import parse_value

CATALOG_VARIABLE = "HUBLESS_CATALOG"
"""Names the catalog where the option is left out; `serve` has it too."""

CatalogOption = Annotated[
    Path,
    typer.Option("--catalog", metavar="DIR", envvar=CATALOG_VARIABLE, help="Folder that holds collections."),
]
CollectionOption = Annotated[
    str, typer.Option("--collection", metavar="NAME", help="Name of the collection.", autocompletion=collections)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VersionOption = Annotated[
    str | None,
    typer.Option("--version", metavar="ID", help="A version instead of the current one.", autocompletion=versions),
]
CatalogIfAny = Annotated[Path | None, typer.Option("--catalog", metavar="DIR", help="Folder that holds collections.")]
PayloadIfAny = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Payload of the targets: .parquet, .jsonl or .csv.")
]
MetricOption = Annotated[
    Literal["cosine", "dot"],
    typer.Option(
        metavar="cosine|dot", help="cosine scales vectors to length 1.", autocompletion=one_of(("cosine", "dot"))
    ),
]


BankOfTargetsOption = Annotated[bool, typer.Option("--bank-of-targets", help="Accept a query bank that holds targets.")]


LiveQueriesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="About 200 queries that people asked: they choose the strength."),
]


def open_collection(catalog: Path | None, collection: str, version: str | None) -> hubless.Collection:
    """Open a collection in the catalog that was given, or in that of the environment."""
    if (where := catalog or os.environ.get(CATALOG_VARIABLE)) is None:
        raise typer.BadParameter("--collection needs the catalog that holds it", param_hint="--catalog")
    return hubless.open(where, collection, version=version)


def listed(names: Iterable[str]) -> str:
    """Return names as a help text shows them."""
    return ", ".join(names)


def key_values(settings: list[str], option: str) -> dict[str, Any]:
    """Return settings that are written as KEY=VALUE."""
    values: dict[str, Any] = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise typer.BadParameter(f"expected KEY=VALUE, got {setting}", param_hint=option)
        values[key] = parse_value(value)
    return values
