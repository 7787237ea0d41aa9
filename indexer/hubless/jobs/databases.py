"""Addresses of databases, whose rows another package reads and corrects where they are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from hubless.errors import brought

DATABASE_SCHEMES = ("qdrant", "pgvector", "chroma", "lancedb", "milvus", "redis")


@dataclass(frozen=True)
class Corrected:
    """Result of a correction in a database: rows written, rows without a vector or unknown, and how to ask.

    `answer` are lines that say by the hits whether to answer; empty without a query bank.
    """

    title: str
    into: str
    written: int
    left_out: int
    query: str
    answer: str = ""


class Databases(Protocol):
    """The work that builds and jobs ask of the package. All raise `InputError` for what is no address."""

    def parse_address(self, address: str) -> object:
        """Return its parts, or raise `InputError`."""

    def copied_rows(self, address: str, folder: Path) -> Path:
        """Return a file with the rows at an address, made anew in a folder: ids, vectors and payload."""

    def publish_changed(self, collection: Any, address: str) -> Corrected | None:
        """Write the offsets of a `Collection` beside the rows with its ids, unless they are there already."""


def is_database(given: object) -> bool:
    """Return True if it is the address of a database."""
    return str(given).lower().startswith(tuple(f"{scheme}://" for scheme in DATABASE_SCHEMES))


def databases(address: str) -> Databases:
    """Return the package for an address. Raises `HublessError` if it is not installed: names it."""
    found: Databases = brought("databases", "jobs", f"{address.partition(':')[0]}://…", "databases")
    return found
