"""The files that a job names, and their stamps, which tell whether they are those of the last time."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hubless.builder.reindex.job_file import TargetFiles
from hubless.databases.addresses import is_database, shown
from hubless.databases.spool import copied_rows
from hubless.errors import InputError, StorageError, storage_errors
from hubless.store.address import copy_folder
from hubless.store.bundle import FileStamp, record_of

ENDINGS = (".npy", ".npz", ".parquet")
_PATTERN = re.compile(r"[*?\[]")
_ADDRESS = re.compile(r"[a-z0-9+.-]+:(//|:)", re.IGNORECASE)


@dataclass(frozen=True)
class SourceFile:
    """A file of targets, and those with its ids and payload, if there are any."""

    path: Path
    ids: Path | None
    payload: Path | None

    @property
    def files(self) -> list[Path]:
        """All of them, the file of vectors first."""
        return [each for each in (self.path, self.ids, self.payload) if each is not None]


def found_sources(entries: Iterable[TargetFiles], folder: Path) -> list[SourceFile]:
    """Return the files of targets, in the order of the job file, and of their names."""
    found: dict[Path, SourceFile] = {}
    for number, entry in enumerate(entries):
        name = f"targets.{number}"
        paths = found_files(entry.path, folder, name)
        more = [None if each is None else folder / each for each in (entry.ids, entry.payload)]
        if missing := [path for path in more if path is not None and not path.is_file()]:
            raise StorageError(missing[0], f"{name}: there is no such file")
        if len(paths) > 1 and any(more):
            expected = "a single file, as it has a file with ids or payload"
            raise InputError(f"{name}.path", expected, f"{len(paths)} files")
        for path in paths:
            if path in found:
                raise InputError(f"{name}.path", "files that no other entry names", path.name)
            found[path] = SourceFile(path, *more)
    return list(found.values())


def found_files(given: str, folder: Path, name: str) -> list[Path]:
    """Return the files that a path stands for: itself, those of a folder, or those that a pattern matches."""
    if is_database(given):
        return [copied_rows(given, copy_folder(shown(given), "rows"))]
    if _ADDRESS.match(given):
        raise InputError(f"{name}.path", "a path: copy the files here first, or name a database", given)
    path = folder / given
    with storage_errors(path):
        if path.is_dir():
            found = sorted(each for each in path.iterdir() if each.suffix in ENDINGS)
        elif path.exists() or not _PATTERN.search(given):
            found = [path] if path.is_file() else []
        else:
            # an absolute pattern begins at the root, any other in the folder, whose own name is no pattern
            top, pattern = folder, given
            if Path(given).is_absolute():
                top, pattern = Path(path.anchor), str(path.relative_to(path.anchor))
            found = sorted(each for each in top.glob(pattern) if each.is_file())
    if not found:
        raise StorageError(path, f"{name}: there is no such file")
    return found


def stamps(paths: Iterable[Path], folder: Path) -> list[FileStamp]:
    """Return the stamps of files, whose paths are seen from `folder`. Raises `StorageError` if one cannot be read."""
    found = []
    for path in paths:
        with storage_errors(path):
            name = os.fsencode(os.path.relpath(path, folder)).decode("utf-8", "replace")
            found.append(FileStamp(path=name, **record_of(path).model_dump()))
    return found


def same(some: Iterable[FileStamp], others: Iterable[FileStamp]) -> bool:
    """Return whether the content of some files is that of others, whatever their names and times."""
    return [each.sha256 for each in some] == [each.sha256 for each in others]
