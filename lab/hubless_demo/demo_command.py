"""`hubless demo`. It imports what it needs only when it is called."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    package: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Search this package instead of Python's standard library."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="End when the questions are answered.")] = False,
    catalog: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the index and the picture.")] = Path(
        "catalog"
    ),
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port of the server, 0 for a free one.")
    ] = 8000,
    json_: Annotated[bool, typer.Option("--json", help="Print what it found as JSON.")] = False,
) -> None:
    """Search a Python library in plain English.

    With and without hubs: measures hubness on held-out functions, by vectors of
    words. Then builds, asks and serves an index of all functions.
    """
    from hubless_demo.story import serve_demo, tell

    collection = tell(package, catalog, json_)
    if not once:
        serve_demo(catalog, collection, port)
