"""What commands share: options, and settings that are written as text."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hubless.printing import parse_value

CatalogOption = Annotated[Path, typer.Option("--catalog", metavar="DIR", help="Folder that holds the collections.")]
CollectionOption = Annotated[str, typer.Option("--collection", metavar="NAME", help="Name of the collection.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VersionOption = Annotated[
    str | None, typer.Option("--version", metavar="ID", help="A version, instead of the current.")
]


def key_values(settings: list[str], option: str) -> dict[str, Any]:
    """Settings written as KEY=VALUE."""
    values: dict[str, Any] = {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator:
            raise typer.BadParameter(f"expected KEY=VALUE, got {setting}", param_hint=option)
        values[key] = parse_value(value)
    return values
