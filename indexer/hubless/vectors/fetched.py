"""Files that are given, and what may stand in their place: pointers of Git LFS and the like, which were not fetched."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from hubless.errors import InputError, StorageError, one_line, storage_errors
from hubless.vectors.listing import is_folder, is_there

_STAND_INS = {
    b"version https://git-lfs.github.com/": "a pointer of Git LFS: fetch the file by `git lfs pull`",
    b"/annex/objects/": "a pointer of git-annex: fetch the file by `git annex get`",
    b"<!doctype html": "a web page: the address of the file answered with a page",
    b"<html": "a web page: the address of the file answered with a page",
}
"""Beginnings of what is no data, in small letters, and what it is."""
_LONGEST = max(map(len, _STAND_INS))


def fetched_file(path: Path, parameter: str) -> Path:
    """Return the path of a file if it is there, and is not what stands in for it until it is fetched.

    Raises `StorageError` if there is none or it cannot be looked at, `InputError` for a pointer. Errors call it
    `parameter`.
    """
    if not is_there(path):
        raise StorageError(path, f"{parameter}: there is no such file")
    if is_folder(path):
        raise StorageError(path, f"{parameter}: there is no such file, but a folder")
    with storage_errors(path), path.open("rb") as file:
        beginning = file.read(_LONGEST).lower()
    for each, what in _STAND_INS.items():
        if beginning.startswith(each):
            raise InputError(f"{parameter} ({path.name})", "the file itself", what)
    return path


@contextmanager
def reading_given(path: Path, name: str) -> Iterator[None]:
    """Turn what the readers raise for a damaged file into our errors. Some of them raise only at a later block."""
    try:
        yield
    except InputError:
        raise
    except PermissionError as error:
        raise StorageError(path, "no permission") from error
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, pa.ArrowException) as error:
        raise InputError(name, f"a readable {path.suffix} file", one_line(error)) from error
