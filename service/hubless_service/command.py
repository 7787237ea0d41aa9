"""`hubless serve`. It imports what it needs only when it is called, so that `hubless --help` stays fast."""

from pathlib import Path
from typing import Annotated

import typer


def serve(
    catalog: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder that holds collections.")] = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Listen on this address; default 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Listen on this port, 0 for a free one; default 8000.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that serve the port; default one a processor.")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Show the targets' pictures that are in this folder.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the address as JSON when it listens.")] = False,
) -> None:
    """Answer queries over HTTP until you stop it.

    Every option is also an environment variable, such as HUBLESS_PORT. More
    settings, such as HUBLESS_READ_KEYS or HUBLESS_LOG_LEVEL, have no option: see docs/settings.md.
    """
    from hubless.errors import installed

    with installed("hubless serve", "serve"):
        from hubless_service.start import start

    settings = {"catalog": catalog, "host": host, "port": port, "workers": workers, "pictures": pictures}
    start(settings, announce_json=json_)
