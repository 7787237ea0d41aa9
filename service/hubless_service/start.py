"""Starts `hubless serve`: settings are checked, the socket is opened, and one worker or several serve it."""

import json
import logging
import os
import socket
from collections.abc import Container, Mapping
from errno import EADDRINUSE
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NoReturn

import typer
from pydantic import ValidationError

from hubless import Catalog
from hubless.errors import HublessError, InputError, storage_errors
from hubless.kernels.quota import raise_descriptors
from hubless.store.addressed import at_address
from hubless.store.durable import make_folder
from hubless.store.query_sample import SampleWriter
from hubless_service.access.keys import Keys
from hubless_service.needs import unmet
from hubless_service.observing.logs import configure
from hubless_service.processes.shared import Shared, alone
from hubless_service.processes.signals import Signals
from hubless_service.processes.workers import supervise, with_workers
from hubless_service.settings import KEY_SETTINGS, SECRETS, Settings, is_loopback
from hubless_service.variables import unread

FAILED, WRONG_USAGE = 1, 2
_PORT_SECONDS, _PORT_LOOK_SECONDS = 10.0, 0.05
_log = logging.getLogger("hubless")


def start(options: Mapping[str, Any], *, announce_json: bool) -> None:
    """Serve until a signal ends it, with options of the command line beside the settings of the environment."""
    if wrong := unmet():
        _fail(wrong, FAILED)
    try:
        settings = _settings(options)
        open_to_all = _is_open_to_all(settings)
        configure(settings.log_level, settings.log_format)
        for line in unread(os.environ):
            _log.warning(line)
        if settings.address is None:
            _make_catalog(settings.catalog)
        if settings.encoders:
            from hubless_service.searching.encoding import check_encoders  # the supervisor needs nothing else of it

            try:
                check_encoders(settings)
            except InputError as error:
                _fail(str(error), WRONG_USAGE)
    except HublessError as error:
        _fail(str(error), FAILED)
    raise_descriptors()
    with _listen(settings.host, settings.port) as listener:
        settings = with_workers(settings)
        signals = Signals()
        signals.install(once=settings.workers == 1)
        _announce(settings, listener, open_to_all=open_to_all, as_json=announce_json)
        if settings.workers == 1:
            _work(settings, listener, signals, alone())
        else:
            supervise(settings, listener, signals, _work)


def _settings(options: Mapping[str, Any]) -> Settings:
    """Return settings from options and environment, checked without loading any collection."""
    try:
        settings = Settings(**{name: value for name, value in options.items() if value is not None})
        if settings.address is not None:
            at_address(settings.address, settings.folder)  # says if its package is not installed
        Keys(settings)
        if settings.query_sample:
            SampleWriter(settings.query_sample)
    except ValidationError as error:
        for line in unread(os.environ):
            typer.echo(f"warning: {line}", err=True)
        _fail(_first_mistake(error, options), WRONG_USAGE)
    except HublessError:
        raise
    except ValueError:
        # pydantic does not name the setting, but only this one is JSON
        _fail("HUBLESS_ENCODERS: expected a JSON object with collections as keys", WRONG_USAGE)
    return settings


def _make_catalog(folder: Path) -> None:
    """Make an empty catalog if only its folder is missing; otherwise a path is wrong, or a disk is not mounted."""
    with storage_errors(folder):
        if folder.parent.is_dir() and not folder.exists():
            make_folder(folder)
            _log.info("made an empty catalog, %s", folder)
    Catalog(folder).check_exists()


def _is_open_to_all(settings: Settings) -> bool:
    """Return whether other machines may ask without a key. Fail unless the settings allow it."""
    if Keys(settings).wanted or is_loopback(settings.host):
        return False
    try:
        socket.getaddrinfo(settings.host, None)
    except OSError as error:  # before advice that opens doors
        _fail(f"--host (HUBLESS_HOST): no machine is called {settings.host}: {error.strerror}", WRONG_USAGE)
    if not settings.insecure:
        keys = " or ".join(f"HUBLESS_{name.upper()}" for name in [*KEY_SETTINGS, "keys_file"])
        _fail(f"host {settings.host} lets other machines in: set {keys}, or HUBLESS_INSECURE=1", WRONG_USAGE)
    return True


def _announce(settings: Settings, listener: socket.socket, *, open_to_all: bool, as_json: bool) -> None:
    """Log where the server listens, and print it for the program that started it. Warn if anyone may ask."""
    if open_to_all:
        _log.warning("there are no API keys: anyone who reaches host %s may ask and administer", settings.host)
    host, port = listener.getsockname()[:2]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    _log.info("listening on %s, console at /console, documentation at /docs", url)
    if as_json:
        said = {"url": url, "host": host, "port": port, "pid": os.getpid(), "workers": settings.workers}
        typer.echo(json.dumps(said | {"catalog": settings.address or str(settings.catalog)}))


def _work(settings: Settings, listener: socket.socket, signals: Signals, shared: Shared, first: bool = True) -> None:
    """Serve the listener in this process until a signal ends it."""
    from hubless_service.app import create_app  # the supervisor needs none of it
    from hubless_service.processes.http_server import HttpServer, leave, share_python

    lines = configure(settings.log_level, settings.log_format)
    share_python()
    app = create_app(settings, first=first, shared=shared)
    lines.on_drop = app.state.hubless.engine.metrics.dropped.inc
    server = HttpServer(app, signals, on_stopped=leave)
    server.run([listener])
    raise SystemExit(FAILED)  # as it has not begun


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. One that was just killed may have left workers that still hold the port."""
    ends = monotonic() + _PORT_SECONDS
    told = False
    while True:
        try:
            return socket.create_server(  # at most so many connections wait to be taken
                (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2048
            )
        except OSError as error:
            if error.errno != EADDRINUSE or monotonic() > ends:
                reason = str(error.strerror).partition(" (while")[0]
                _fail(f"cannot listen on {host}, port {port}: {reason}", FAILED)
        if not told:
            _log.warning("port %d is in use; waiting up to %g s for it", port, _PORT_SECONDS)
            told = True
        sleep(_PORT_LOOK_SECONDS)


def _first_mistake(error: ValidationError, options: Container[str]) -> str:
    """Return the first wrong setting in a line: `--port (HUBLESS_PORT): Input should be ..., got 'x'`."""
    first = error.errors()[0]
    if not first["loc"]:
        return str(first["msg"])
    name = str(first["loc"][0])
    variable = f"HUBLESS_{name.upper()}"
    where = f"--{name.replace('_', '-')} ({variable})" if name in options else variable
    if first["type"] == "missing":
        return f"{where} is required"
    where += "".join(f", {part}" for part in first["loc"][1:])
    given = str(first["input"]) if isinstance(first["input"], Path) else first["input"]
    got = "" if name in SECRETS else f", got {given!r}"
    said = first["msg"].removeprefix("Value error, ")
    return f"{where}: {said}{got}"


def _fail(message: str, code: int) -> NoReturn:
    typer.echo(f"error: {message}", err=True)
    raise typer.Exit(code)
