"""`hubless serve`. Its imports wait until it is called, so that `hubless --help` stays fast."""

import socket
import sys
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from pydantic import ValidationError

    from hubless_service.searching.door import Door
    from hubless_service.settings import Settings

FAILED, WRONG_USAGE = 1, 2
SECRETS = ("read_keys", "admin_keys", "encoders")
"""Settings that no message shows, nor a key that somebody wrote into them by mistake."""


def serve(
    catalog: Annotated[Path | None, typer.Option(help="Folder with the collections.", metavar="DIR")] = None,
    host: Annotated[str | None, typer.Option(help="Address to listen on; 127.0.0.1 if not given.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 8000 if not given, 0 for a free one.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that serve the port; 1 if not given.")] = None,
    insecure: Annotated[
        bool | None, typer.Option("--insecure", help="Let other machines in without any API key.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    log_format: Annotated[str | None, typer.Option(help="text or json.")] = None,
) -> None:
    """Answer queries over HTTP until it is stopped.

    Each option, and every other setting, can come from the environment: HUBLESS_CATALOG, HUBLESS_MAX_LIMIT and so on.
    """
    import logging

    from pydantic import ValidationError

    from hubless import Catalog
    from hubless.errors import HublessError, InputError
    from hubless_service.access.authentication import is_loopback
    from hubless_service.access.keys import Keys
    from hubless_service.searching.encoders import check_encoders
    from hubless_service.settings import Settings
    from hubless_service.workers import supervise

    options = {
        "catalog": catalog,
        "host": host,
        "port": port,
        "workers": workers,
        "insecure": insecure,
        "log_level": log_level,
        "log_format": log_format,
    }
    given = {name: value for name, value in options.items() if value is not None}
    try:
        settings = Settings(**given)  # type: ignore[arg-type]  # pydantic checks them
        Catalog(settings.catalog).check_exists()
        open_to_all = not (Keys(settings).wanted or is_loopback(settings.host))
    except ValidationError as error:
        _fail(_first_mistake(error, options), WRONG_USAGE)
    except HublessError as error:
        _fail(str(error), FAILED)
    except ValueError:
        # all that pydantic says of JSON that is none; the only setting that is JSON
        _fail("HUBLESS_ENCODERS: expected JSON, an object by collection", WRONG_USAGE)
    if open_to_all and not settings.insecure:
        keys = "HUBLESS_READ_KEYS, HUBLESS_ADMIN_KEYS or HUBLESS_KEYS_FILE"
        _fail(f"host {settings.host} lets other machines in: set {keys}, or say --insecure", WRONG_USAGE)
    _log(settings)
    try:
        check_encoders(settings)
    except InputError as error:
        _fail(str(error), WRONG_USAGE)
    except HublessError as error:
        _fail(str(error), FAILED)
    log = logging.getLogger("hubless")
    if open_to_all:
        log.warning("there are no API keys: whoever reaches host %s may ask, and change what is served", settings.host)
    with _listen(settings.host, settings.port) as listener:
        address, bound = listener.getsockname()[:2]
        where = f"[{address}]" if ":" in address else address
        log.info("listening on http://%s:%d, documentation at /docs", where, bound)
        if settings.workers == 1:
            _work(settings, listener)
        else:
            supervise(settings, listener, _work)


def _work(settings: "Settings", listener: socket.socket, door: "Door | None" = None) -> None:
    """Serve the listener in this process, until a signal ends it."""
    from hubless_service.app import create_app
    from hubless_service.server import SWITCH_SECONDS, Server

    _log(settings)
    sys.setswitchinterval(SWITCH_SECONDS)
    server = Server(create_app(settings, door=door))
    server.run([listener])
    if not server.started:
        raise SystemExit(FAILED)


def _log(settings: "Settings") -> None:
    from hubless_service.observing.logs import configure

    configure(settings.log_level, settings.log_format)


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        reason = str(error.strerror).partition(" (while")[0]
        _fail(f"cannot listen on {host}, port {port}: {reason}", FAILED)


def _first_mistake(error: "ValidationError", options: Container[str]) -> str:
    """The first wrong setting in a line: `--port (HUBLESS_PORT): Input should be ..., got 'x'`."""
    first = error.errors()[0]
    if not first["loc"]:
        return str(first["msg"])
    name = str(first["loc"][0])
    variable = f"HUBLESS_{name.upper()}"
    where = f"--{name.replace('_', '-')} ({variable})" if name in options else variable
    unsaid = first["type"] == "missing" or name in SECRETS
    where += "".join(f", {part}" for part in first["loc"][1:])
    got = "" if unsaid else f", got {first['input']!r}"
    return f"{where}: {first['msg']}{got}"


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(code)
