"""Addresses of databases: scheme://user@host:port/database/table?vector=column."""

from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from hubless.errors import InputError, how_to_install, without_secrets
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
}
"""How the addresses of each scheme look. A folder in place of the host is local."""


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
        database: Database = kind(parsed)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("hubless"):
            raise
        expected = f"the package {error.name} for {scheme}:// ({how_to_install(scheme, PACKAGE)})"
        raise InputError("address", expected, "none") from error
    try:
        database.find()
    except BaseException:
        database.close()
        raise
    return database


def _check_place(address: DatabaseAddress) -> None:
    if address.scheme != "pgvector" and address.place is not None and not address.place.exists():
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
