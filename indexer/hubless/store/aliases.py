"""Aliases, which are other names of collections: one file of a catalog, replaced atomically.

    <catalog>/.aliases.json      what each alias stands for
    <catalog>/.aliases.lock      held while that changes

No collection can have the name of these files, or of an alias.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.errors import StorageError, storage_errors
from hubless.store.durable import locked, make_folder, replace_text

_FILE, _LOCK = ".aliases.json", ".aliases.lock"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Alias(_Record):
    """What an alias stands for. Each change of any alias of the catalog gives a new, higher `revision`."""

    collection: str
    revision: int


class Table(_Record):
    """All aliases, and the highest revision so far."""

    revision: int = 0
    aliases: dict[str, Alias] = {}


def read_aliases(catalog: Path) -> Table:
    """Return the aliases of a catalog.

    Raises
    ------
    StorageError
        if the file cannot be read or is damaged.
    """
    path = catalog / _FILE
    with storage_errors(path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return Table()
    try:
        return Table.model_validate_json(content)
    except ValidationError as error:
        raise StorageError(path, "is not a file of aliases") from error


@contextmanager
def changing_aliases(catalog: Path) -> Iterator[Table]:
    """Lock the aliases, and give them as they are, to change them."""
    with storage_errors(catalog):
        make_folder(catalog)
        with locked(catalog / _LOCK):
            yield read_aliases(catalog)


def write_aliases(catalog: Path, table: Table) -> None:
    """Replace the aliases. Call it inside `changing_aliases`."""
    replace_text(catalog / _FILE, table.model_dump_json(indent=2) + "\n")
