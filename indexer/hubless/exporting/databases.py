"""Databases that an export can be for: what each allows. The scripts that load and ask them are in `scripts/`."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hubless.exporting.exported_types import ExportedType

SCRIPTS = Path(__file__).parent / "scripts"


@dataclass(frozen=True)
class ColumnNames:
    """Rules for the names that a database allows: patterns for any character and the first, and bytes in UTF-8."""

    allowed: str = r"."
    first: str = r"."
    most: int = 255
    fewest: int = 1

    def fitted(self, name: str) -> str:
        """Return a name as it is if it is allowed, and otherwise one like it."""
        found = re.sub(rf"(?s)(?!{self.allowed}).", "_", name) or "_"
        if not re.match(self.first, found):
            found = "c" + found
        return _cut(found, self.most).ljust(self.fewest, "0")

    def mapped(self, names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
        """Return the new name of each name: all different, none of them taken."""
        used = {name.casefold() for name in taken}
        found: dict[str, str] = {}
        for name in names:
            wanted = new = self.fitted(name)
            number = 2
            while new.casefold() in used:
                suffix = f"_{number}"
                new, number = _cut(wanted, self.most - len(suffix)) + suffix, number + 1
            used.add(new.casefold())
            found[name] = new
        return found


def _cut(name: str, most: int) -> str:
    return name.encode()[:most].decode(errors="ignore")


ANY = ColumnNames(most=2**31)


@dataclass(frozen=True)
class Database:
    """A database that an export can be for.

    `most_width` limits the numbers of a vector, `types` names its types of payload where the script has to, and
    `keeps_types` says if it takes Arrow types as they are, but maps. Bytes of ids and texts are in UTF-8; None for any.
    """

    title: str
    most_width: int
    collection: ColumnNames
    columns: ColumnNames = ANY
    types: Mapping[ExportedType, str] | None = None
    keeps_types: bool = False
    most_id_bytes: int | None = None
    most_text_bytes: int | None = None


_WORD = ColumnNames(r"[A-Za-z0-9_]", r"[A-Za-z_]")
_TEXTS = (ExportedType.TEXT, ExportedType.DATE, ExportedType.TIME, ExportedType.INSTANT)

DATABASES: dict[str, Database] = {
    # ids of Qdrant are whole numbers from 0, or UUIDs, so the id is in the payload too
    "qdrant": Database("Qdrant", most_width=65_535, collection=ColumnNames(r"[A-Za-z0-9_-]")),
    "pgvector": Database(
        "PostgreSQL with pgvector",
        most_width=16_000,
        collection=ColumnNames(most=63),
        columns=ColumnNames(most=63),
        types={
            ExportedType.BOOL: "boolean",
            ExportedType.WHOLE: "bigint",
            ExportedType.NUMBER: "double precision",
            ExportedType.TEXT: "text",
            ExportedType.DATE: "date",
            ExportedType.TIME: "timestamp",
            ExportedType.INSTANT: "timestamptz",
            ExportedType.JSON: "jsonb",
        },
        most_id_bytes=2_000,  # an index of PostgreSQL holds a third of a page
    ),
    "milvus": Database(
        "Milvus",
        most_width=32_768,
        collection=_WORD,
        columns=_WORD,
        types={
            ExportedType.BOOL: "BOOL",
            ExportedType.WHOLE: "INT64",
            ExportedType.NUMBER: "DOUBLE",
            ExportedType.JSON: "JSON",
            **dict.fromkeys(_TEXTS, "VARCHAR"),
        },
        most_id_bytes=65_535,
        most_text_bytes=65_535,
    ),
    # ids of Chroma are strings, and metadata is flat and without nulls
    "chroma": Database(
        "Chroma",
        most_width=2**31 - 1,
        collection=ColumnNames(r"[A-Za-z0-9._-]", r"[A-Za-z0-9]", most=512, fewest=3),
    ),
    "lancedb": Database(
        "LanceDB",
        most_width=2**31 - 1,
        collection=ColumnNames(r"[A-Za-z0-9_.-]"),
        columns=ColumnNames(r"[^.]"),
        keeps_types=True,
    ),
}
