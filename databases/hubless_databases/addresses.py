"""Addresses of databases: scheme://user@host:port/database/table?vector=column."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from hubless.errors import HublessError, InputError, how_to_install, one_line, without_secrets
from hubless.jobs.databases import is_database
from hubless_databases.base import Database

GROUP, PACKAGE = "hubless.databases", "hubless-databases"
"""Entry points named like schemes, each a class that takes a `DatabaseAddress`; and what brings those of the forms."""
FORMS = {
    "qdrant": "qdrant://HOST:6333/COLLECTION",
    "pgvector": "pgvector://USER@HOST:5432/DATABASE/TABLE",
    "chroma": "chroma://HOST:8000/COLLECTION",
    "lancedb": "lancedb:///FOLDER/TABLE",
    "milvus": "milvus://HOST:19530/COLLECTION",
    "redis": "redis://HOST:6379/INDEX",
}
"""How the addresses of each scheme look. A folder in place of the host is local."""
_LOCAL = ("qdrant", "chroma", "lancedb", "milvus")


@dataclass(frozen=True)
class DatabaseAddress:
    """The parts of an address. `path` is what stands before the table: a database, a folder or a file."""

    scheme: str
    host: str | None
    port: int | None
    user: str | None
    password: str | None = field(repr=False)
    path: str
    table: str
    options: dict[str, str]

    @property
    def url(self) -> str:
        scheme = "https" if self.options.get("tls") in ("1", "true") else "http"
        return f"{scheme}://{self.host}:{self.port}" if self.port else f"{scheme}://{self.host}"

    @property
    def place(self) -> Path | None:
        return None if self.host else Path(self.path)


def open_database(address: str) -> Database:
    """Connect to the table or collection of an address. Raises `InputError` if a package is missing: names it."""
    parsed = parse_address(address)
    scheme = parsed.scheme
    [entry] = entry_points(group=GROUP, name=scheme)
    try:
        kind = entry.load()
        _check_place(parsed)  # before the client, which would make the folder
        return _found(kind, parsed)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("hubless"):
            raise
        expected = f"the package {error.name} for {scheme}:// ({how_to_install(scheme, PACKAGE)})"
        raise InputError("address", expected, "none") from error


def _found(kind: Any, address: DatabaseAddress) -> Database:
    with ExitStack() as opened:
        try:
            database: Database = kind(address)
            opened.callback(database.close)
            database.find()
        except (HublessError, ModuleNotFoundError):
            raise
        except Exception as error:
            raise InputError("address", f"a {kind.title} that lets you in", one_line(error)) from error
        opened.pop_all()
    return database


def _check_place(address: DatabaseAddress) -> None:
    if address.place is None or address.scheme == "pgvector":
        return
    if address.scheme not in _LOCAL:
        raise InputError("address", FORMS[address.scheme], "a folder")
    if not address.place.exists():
        near = f"{address.scheme}://./FOLDER/NAME is in this folder"
        raise InputError("address", f"a database that is there ({near})", str(address.place))


def parse_address(address: str) -> DatabaseAddress:
    """Return the parts of an address. Raises `InputError` if it is none."""
    forms = ", ".join(FORMS.values())
    if not is_database(address):
        raise InputError("address", f"one of {forms}", without_secrets(str(address)))
    scheme, _, rest = address.partition("://")
    scheme, form = scheme.lower(), FORMS[scheme.lower()]
    try:
        parts = urlsplit(f"//{rest}")
        host = parts.hostname
        port = parts.port
    except ValueError as error:
        raise InputError("address", form, without_secrets(str(address))) from error
    if "@" in rest and ":" in parts.netloc and "@" not in parts.netloc:
        expected = f"{form}, where a password has / as %2F, ? as %3F and # as %23, and a name @ as %40"
        raise InputError("address", expected, without_secrets(str(address)))
    if host in (".", "..", "~"):  # a folder relative to this one
        rest, host = rest.partition("?")[0], None
        before, _, table = str(Path(rest).expanduser()).rpartition("/")
    else:
        before, _, table = unquote(parts.path).rstrip("/").rpartition("/")
        before = before if host is None else before.lstrip("/")
    if not table or (not before and (host is None or scheme == "pgvector")):
        expected = f"{form}, or {scheme}:///FOLDER/NAME on this machine"
        raise InputError("address", expected, without_secrets(str(address)))
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    password = parts.password and unquote(parts.password)
    return DatabaseAddress(scheme, host, port, parts.username, password, before, table, options)
