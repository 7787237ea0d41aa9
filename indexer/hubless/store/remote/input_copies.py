"""Files in object storage that a build reads: copied to this machine, and again when they have changed."""

from pathlib import Path
from typing import TypeVar

from hubless.errors import InputError, StorageError, storage_errors
from hubless.store.address import address_of, copy_folder
from hubless.store.durable import make_folder, move, replace_text
from hubless.store.remote.objects import Objects

T = TypeVar("T")


def local(given: T, name: str) -> T | Path:
    """Return what was given, or the folder or file with a copy if it is an address in object storage.

    `name`: what errors call it. Raises `InputError` if the extra for the address is not installed, or the file changes
    while it is read; `StorageError` if there is no such file, or the store refuses.
    """
    address = address_of(given) if isinstance(given, str | Path) else None
    if address is None:
        return given
    if address.endswith(".lance"):
        raise InputError(name, "a Lance dataset on this machine", address)
    parent, _, key = address.rpartition("/")
    objects, folder = Objects(parent), copy_folder(parent, "files")
    with storage_errors(folder):
        make_folder(folder)
        if objects.size(key) is not None:
            return _copied(objects, key, folder / key, name)
        below = Objects(address)
        if not (found := [each for each in below.names() if Path(each).suffix]):
            raise StorageError(address, f"{name}: there is no such file")
        make_folder(folder / key)
        for gone in {path.name for path in (folder / key).iterdir()} - {*found, *(_tag_name(each) for each in found)}:
            (folder / key / gone).unlink()
        for each in found:
            _copied(below, each, folder / key / each, name)
        return folder / key


def _copied(objects: Objects, key: str, path: Path, name: str) -> Path:
    tag, size = objects.tag(key), objects.size(key)
    if tag is None or size is None:
        raise StorageError(f"{objects.address}/{key}", f"{name}: there is no such file")
    beside = path.with_name(_tag_name(path.name))
    if path.is_file() and path.stat().st_size == size and beside.is_file() and beside.read_text("utf-8") == tag:
        return path
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    objects.fetch(key, temporary, size)
    if objects.tag(key) != tag:
        temporary.unlink()
        raise InputError(f"{name} ({key})", "a file that stays as it is while it is read", "one that was changed")
    move(temporary, path)
    replace_text(beside, tag)
    return path


def _tag_name(name: str) -> str:
    return f".{name}.tag"
