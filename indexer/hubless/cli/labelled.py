"""Options and checks that the commands on labelled queries share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from hubless.cli.printing import parse_value
from hubless.errors import InputError
from hubless.lab.matrices import SimilarityMatrices

_T = TypeVar("_T")

QueriesOption = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="Labelled queries: .npy, .npz or .parquet.")
]
RelevantOption = Annotated[
    Path,
    typer.Option("--relevant", metavar="FILE", help="Row numbers of the right targets: .npy, or .json lists."),
]
BankOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Example queries whose targets are not among the targets.")
]
PriorOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="How often each target should be found: .npy or .txt; for sn, dbsn and auto."),
]
TargetBankOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Extra targets, with --query-bank.")]


def usage(option: str, check: Callable[..., _T], *given: Any) -> _T:
    """Return what a check returns. Its `InputError` becomes a usage error of the option."""
    try:
        return check(*given)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def refuse(option: str, others: dict[str, Any]) -> None:
    """Raise a usage error if one of the others is given beside an option."""
    for name, value in others.items():
        if value:
            raise typer.BadParameter(f"cannot be combined with {option}", param_hint=f"--{name}")


def queries_or(queries: Path | None, matrices: SimilarityMatrices | None) -> Path | SimilarityMatrices:
    """Similarities if there are any, else the queries."""
    if matrices is not None:
        return matrices
    if queries is None:
        raise typer.BadParameter("give --queries, or --similarities", param_hint="--queries")
    return queries


def settings_by_name(given: list[str]) -> dict[str, dict[str, Any]]:
    """Return settings that are written as NAME.KEY=VALUE, by name and key."""
    settings: dict[str, dict[str, Any]] = {}
    for setting in given:
        name, dot, rest = setting.partition(".")
        key, equals, value = rest.partition("=")
        if not dot or not equals:
            raise typer.BadParameter(f"expected NAME.KEY=VALUE, got {setting}", param_hint="--set")
        settings.setdefault(name, {})[key] = parse_value(value)
    return settings


def named_with_settings(given: str) -> tuple[str, dict[str, Any]]:
    """Return name and parameters of a correction that is written as NAME or NAME:KEY=VALUE,KEY=VALUE."""
    name, colon, rest = given.partition(":")
    parameters = {}
    for setting in rest.split(",") if colon else []:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise typer.BadParameter(f"expected NAME:KEY=VALUE,…, got {given}", param_hint="--correction")
        parameters[key] = parse_value(value)
    return name, parameters
