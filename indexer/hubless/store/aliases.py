"""Aliases, which are other names of collections: one file of a catalog, replaced atomically.

    <catalog>/.aliases.json      what each alias stands for
    <catalog>/.aliases.lock      held while that changes

No collection can have the name of these files, or of an alias.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.errors import AliasNotFound, CollectionAliased, PreconditionFailed, StorageError, storage_errors
from hubless.store.durable import locked, make_folder, replace_text
from hubless.store.names import CollectionName

ALIASES, _LOCK = ".aliases.json", ".aliases.lock"


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
        left = {name: other for name, other in self.aliases.items() if name != alias}
        return Table(revision=self.revision + 1, aliases=left), self.aliases[alias]

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
    path = catalog / ALIASES
    with storage_errors(path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return Table()
    return Table.parse(content, path)


@contextmanager
def changing_aliases(catalog: Path) -> Iterator[Table]:
    """Lock the aliases, and give them as they are, to change them."""
    with storage_errors(catalog):
        make_folder(catalog)
        with locked(catalog / _LOCK):
            yield read_aliases(catalog)


def write_aliases(catalog: Path, table: Table) -> None:
    """Replace the aliases. Call it inside `changing_aliases`."""
    replace_text(catalog / ALIASES, table.text)
