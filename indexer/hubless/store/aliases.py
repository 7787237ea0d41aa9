"""Aliases, which are other names of collections: one file of a catalog, replaced atomically.

    <catalog>/.aliases.json              what each alias stands for
    <catalog>/.aliases.lock              held while that changes
    <catalog>/.deleted-*/.aliases.json   the same after a deletion, which a kill may have kept from replacing the first

The file with the highest revision holds.

No collection can have the name of these files, or of an alias.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.errors import AliasNotFound, CollectionAliased, PreconditionFailed, StorageError, storage_errors
from hubless.store.copies import open_plain
from hubless.store.durable import locked, make_folder, replace_text
from hubless.store.names import CollectionName

ALIASES, _LOCK = ".aliases.json", ".aliases.lock"
DELETED = ".deleted-"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Alias(_Record):
    """An alias and its collection. Each change of any alias of the catalog gives a new, higher `revision`."""

    collection: CollectionName
    revision: int


class Table(_Record):
    """All aliases, and the highest revision so far."""

    revision: int = 0
    aliases: dict[CollectionName, Alias] = {}

    @classmethod
    def parse(cls, content: bytes, name: str | Path) -> "Table":
        try:
            return cls.model_validate_json(content)
        except ValidationError as error:
            raise StorageError(name, "is not a file of aliases") from error

    @property
    def text(self) -> str:
        return self.model_dump_json(indent=2) + "\n"

    def with_alias(self, alias: str, collection: str, expected: int | None) -> tuple["Table", Alias]:
        """Set an alias of the `expected` revision: 0 if it must not exist, None for any. Return all, and it."""
        self._check_revision(alias, expected)
        changed = Alias(collection=collection, revision=self.revision + 1)
        return Table(revision=changed.revision, aliases={**self.aliases, alias: changed}), changed

    def without_alias(self, alias: str, expected: int | None = None) -> tuple["Table", Alias]:
        """Return these aliases without one, and that one. Raises `AliasNotFound`, and as `with_alias`."""
        if alias not in self.aliases:
            raise AliasNotFound(f"there is no alias {alias!r}")
        self._check_revision(alias, expected)
        return self.without([alias]), self.aliases[alias]

    def without(self, gone: Collection[str]) -> "Table":
        left = {alias: stands for alias, stands in self.aliases.items() if alias not in gone}
        return Table(revision=self.revision + 1, aliases=left)

    def standing_for(self, collection: str, *, allowed: bool) -> list[str]:
        standing = sorted(alias for alias, stands in self.aliases.items() if stands.collection == collection)
        if standing and not allowed:
            raise CollectionAliased(f"aliases stand for collection {collection!r}: {', '.join(standing)}")
        return standing

    def _check_revision(self, alias: str, expected: int | None) -> None:
        revision = self.aliases[alias].revision if alias in self.aliases else 0
        if expected is not None and revision != expected:
            raise PreconditionFailed(f"alias {alias!r} has revision {revision}, and not {expected}")


def read_aliases(catalog: Path) -> Table:
    """Return the aliases of a catalog. Raises `StorageError` if the file cannot be read or is damaged."""
    return _last(*_tables(catalog))


def _last(*tables: Table) -> Table:
    return max(tables, key=lambda table: table.revision)


@contextmanager
def changing_aliases(catalog: Path) -> Iterator[Table]:
    """Lock the aliases, and give them as they are, to change them."""
    with storage_errors(catalog):
        make_folder(catalog)
        with locked(catalog / _LOCK):
            own, *left = _tables(catalog)
            table = _last(own, *left)
            if table is not own:
                write_aliases(catalog, table)
            yield table


def write_aliases(catalog: Path, table: Table) -> None:
    """Replace the aliases. Call it inside `changing_aliases`."""
    replace_text(catalog / ALIASES, table.text)


def _tables(catalog: Path) -> list[Table]:
    """Return the aliases of a catalog, and those that killed deletions left."""
    found = []
    for path in (catalog / ALIASES, *catalog.glob(f"{DELETED}*/{ALIASES}")):
        with storage_errors(path):
            try:
                with open_plain(path) as file:
                    found.append(Table.parse(file.read(), path))
            except FileNotFoundError:
                found.append(Table())
    return found
