"""Where Milvus is, and how to log in: from the environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from hubless.errors import InputError, NoEngine, storage_errors

URI, TOKEN, TOKEN_FILE, DATABASE = (
    "HUBLESS_MILVUS_URI",
    "HUBLESS_MILVUS_TOKEN",
    "HUBLESS_MILVUS_TOKEN_FILE",
    "HUBLESS_MILVUS_DATABASE",
)
_SCHEMES = ("http", "https", "tcp")


@dataclass(frozen=True)
class Server:
    """A Milvus server.

    `uri`: such as http://localhost:19530. `token`: "user:password" or an API key; empty for none. `database`: of the
    server; empty for its default one. Raises `InputError`.
    """

    uri: str
    token: str = field(default="", repr=False)
    database: str = ""

    def __post_init__(self) -> None:
        expected = f"an address such as http://localhost:19530, in {URI}"
        try:
            parsed = urlsplit(self.uri)
            known = parsed.scheme.lower() in _SCHEMES and bool(parsed.hostname) and parsed.port != 0
        except ValueError:
            known = False
        if not known:
            raise InputError("Milvus URI", expected, repr(self.uri))
        if parsed.username is not None or parsed.password is not None:
            # a URI is logged and shown
            raise InputError("Milvus URI", f"an address without user and password; they go into {TOKEN}", "both")

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] | None = None) -> "Server":
        """The server that the environment names.

        Raises `NoEngine` if it names none; `InputError` if it names one that cannot be; `StorageError` if the file with
        the token cannot be read.
        """
        known = os.environ if environ is None else environ
        if not known.get(URI):
            raise NoEngine(URI, "the address of Milvus, such as http://localhost:19530", "none")
        return cls(known[URI], _token(known), known.get(DATABASE, ""))


def _token(environ: Mapping[str, str]) -> str:
    if not (named := environ.get(TOKEN_FILE)):
        return environ.get(TOKEN, "")
    if environ.get(TOKEN):
        raise InputError(TOKEN, f"none beside {TOKEN_FILE}", "one")
    path = Path(named)
    with storage_errors(path):
        return path.read_text("utf-8").strip()
