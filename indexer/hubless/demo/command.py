"""`hubless demo`. What it needs beyond the library is imported when it is called, as it is an extra."""

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from hubless.errors import InputError

_NEEDED = {"sklearn": "scikit-learn", "matplotlib": "matplotlib"}


def demo(
    package: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Search this installed package, instead of Python's standard library."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when the questions are answered.")] = False,
    catalog: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the index and the picture.")] = Path(
        "catalog"
    ),
    picture: Annotated[
        Path | None,
        typer.Option(metavar="F", help="Where the picture goes, if not into the catalog: .png, .svg, .pdf."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the server, 0 for a free one.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the split into training and test.")] = 0,
) -> None:
    """Search the functions of a library in plain English, with and without hubs.

    Trains two small encoders on documentation and code, measures what hubness costs on functions held out from
    training, then builds, serves and asks an index of all functions.
    """
    check_extra()
    from hubless.demo.story import Options, tell

    tell(Options(package, once, catalog, picture, port, seed))


def check_extra() -> None:
    """Raise `InputError` unless what the demo needs beyond the library is installed."""
    missing = [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        install = "pip install 'hubless[demo]'"
        raise InputError("demo", f"its extra packages ({install} installs them)", f"no {' and no '.join(missing)}")
