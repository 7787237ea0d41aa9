"""Options that commands share, and what they examine: files or a collection."""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import hubless
from hubless.lab.gallery import Gallery, gallery_of, open_gallery
from hubless.lab.matrices import SimilarityMatrices

CATALOG_VARIABLE = "HUBLESS_CATALOG"
"""Names the catalog where the option is left out; `serve` has it too."""

CatalogOption = Annotated[
    Path,
    typer.Option("--catalog", metavar="DIR", envvar=CATALOG_VARIABLE, help="Folder that holds collections."),
]
CatalogIfAny = Annotated[Path | None, typer.Option("--catalog", metavar="DIR", help="Folder that holds collections.")]
CollectionOption = Annotated[str, typer.Option("--collection", metavar="NAME", help="Name of the collection.")]
CollectionIfAny = Annotated[
    str | None,
    typer.Option("--collection", metavar="NAME", help="A collection instead of files."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VersionOption = Annotated[
    str | None,
    typer.Option("--version", metavar="ID", help="A version instead of the current one."),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Another parameter, as in Python; repeatable. docs/cli.md."),
]
MetricOption = Annotated[
    Literal["cosine", "dot"],
    typer.Option(metavar="cosine|dot", help="cosine scales vectors to length 1."),
]
TargetsIfAny = Annotated[
    Path | None,
    typer.Option("--targets", metavar="FILE", help="What can be found: .npy, .npz, .parquet or a folder."),
]
BankOption = Annotated[
    Path | None,
    typer.Option("--query-bank", metavar="FILE", help="Example queries, none of whose right targets is a target."),
]
QueriesOption = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="Labelled queries: .npy, .npz or .parquet.")
]
RelevantOption = Annotated[
    Path,
    typer.Option("--relevant", metavar="FILE", help="Row numbers of the right targets: .npy, or .json lists."),
]

SIMILARITIES: dict[str, Any] = dict.fromkeys(("similarities", "bank_similarities", "target_bank_similarities"), Path)
"""Values of `--set` in place of vectors, for models that give scores only."""
EXAMINED: dict[str, Any] = {
    "ids": Path,
    "payload": Path,
    "metric": Literal["cosine", "dot"],
    "version": str,
}
"""Values of `--set` beside `--targets` or `--collection`."""


def similarities_from(values: dict[str, Any], vectors: dict[str, Any]) -> SimilarityMatrices | None:
    """Take the similarities out of the values of `--set`, if there are any. Then no `vectors` may be given."""
    given = {name: values.pop(name, None) for name in SIMILARITIES}
    found = next((name for name, path in given.items() if path is not None), None)
    if found is None:
        return None
    refuse(f"--set {found}", vectors)
    return SimilarityMatrices(*given.values())


def examined_from(
    values: dict[str, Any],
    targets: Path | None,
    catalog: Path | None,
    collection: str | None,
) -> Gallery:
    """Open what is examined. Take what says so, the names of `EXAMINED`, out of the values of `--set`."""
    ids, payload, version = (values.pop(name, None) for name in ("ids", "payload", "version"))
    metric = values.pop("metric", "cosine")
    if (collection is None) == (targets is None):
        raise typer.BadParameter("give either --targets or --collection", param_hint="--targets")
    if targets is not None:
        refuse("--targets", {"catalog": catalog, "set version": version})
        return open_gallery(targets, ids=ids, payload=payload, metric=metric)
    refuse("--collection, which has its own", {"set ids": ids, "set payload": payload})
    return gallery_of(open_collection(catalog, collection or "", version))


def refuse(option: str, others: dict[str, Any]) -> None:
    """Raise a usage error if one of the others is given beside an option."""
    for name, value in others.items():
        if value:
            raise typer.BadParameter(f"cannot be combined with {option}", param_hint=f"--{name}")


def open_collection(catalog: Path | None, collection: str, version: str | None = None) -> hubless.Collection:
    """Open a collection in the catalog that was given, or in that of the environment."""
    if (where := catalog or os.environ.get(CATALOG_VARIABLE)) is None:
        raise typer.BadParameter("--collection needs the catalog that holds it", param_hint="--catalog")
    return hubless.open(where, collection, version=version)


def check_choice(value: str, names: Collection[str], option: str) -> None:
    """Raise a usage error unless the value of an option is one of some names."""
    if value not in names:
        raise typer.BadParameter(f"{value!r} is not one of {listed(names)}", param_hint=option)


def listed(names: Iterable[str]) -> str:
    """Return names as a help text shows them."""
    return ", ".join(names)
