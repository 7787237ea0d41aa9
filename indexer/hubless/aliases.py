"""Other names of collections, for those who ask: one file of a catalog, replaced at once.

    <catalog>/.aliases.json      what each alias stands for
    <catalog>/.aliases.lock      held for the moments in which that changes

No collection can be named so, and none has a name that is an alias.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from hubless.errors import StorageError
from hubless.storage import locked, make_folder, replace_text, storage_errors

_FILE, _LOCK = ".aliases.json", ".aliases.lock"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Alias(_Record):
    """What an alias stands for. `revision` is a number that no earlier state of any alias of the catalog has borne."""

    collection: str
    revision: int


class Table(_Record):
    """All aliases, and the highest revision so far."""

    revision: int = 0
    aliases: dict[str, Alias] = {}


def read_aliases(catalog: Path) -> Table:
    """The aliases of a catalog.

    Raises
    ------
    StorageError
        if the file cannot be read, or is not what was written.
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
    """Hold the aliases as they are, to change them."""
    with storage_errors(catalog):
        make_folder(catalog)
        with locked(catalog / _LOCK):
            yield read_aliases(catalog)


def write_aliases(catalog: Path, table: Table) -> None:
    """Replace the aliases; with them held."""
    replace_text(catalog / _FILE, table.model_dump_json(indent=2) + "\n")
